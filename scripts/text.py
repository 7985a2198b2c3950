"""Words for numbers, as they stand in messages."""

from collections.abc import Collection, Iterable

__all__ = ["clock", "names", "size", "sizes", "words"]

SHOWN = 6
"""Names or sizes listed before the rest is only counted."""

UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


MINUTE = 60


def clock(seconds: float) -> str:
    """Write a duration as ``m:ss``, or ``h:mm:ss`` from an hour on."""
    whole = int(max(0.0, seconds))
    hours, minutes = divmod(whole // MINUTE, MINUTE)
    start = f"{hours}:{minutes:02}" if hours else str(minutes)
    return f"{start}:{whole % MINUTE:02}"


def words(count: int, noun: str) -> str:
    """Return "1 row" or "3 rows"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size(count: int) -> str:
    """Return a message size (bytes) as nccl-tests users write it: 8 GiB."""
    for unit, step in UNITS:
        if count >= step and count % step == 0:
            return f"{count // step} {unit}"
    return f"{count} B"


def sizes(counts: Iterable[int]) -> str:
    """Return message sizes, the first few of many."""
    return _some([size(count) for count in counts])


def names(of: Collection[str]) -> str:
    """Return names in order, the first few of many."""
    return _some(sorted(of))


def _some(items: list[str]) -> str:
    rest = len(items) - SHOWN
    return ", ".join(items[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
