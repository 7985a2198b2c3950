"""Amounts as Kubernetes writes them, so that what it stores equals what was asked for."""

__all__ = ["count", "mebibytes"]

DECIMAL = ("", "k", "M", "G", "T", "P")
BINARY = ("Mi", "Gi", "Ti", "Pi")


def count(amount: int) -> str:
    """Return the canonical form of a plain number: 2000 is ``2k``."""
    return _shortest(amount, 1000, DECIMAL)


def mebibytes(amount: int) -> str:
    """Return the canonical form of an amount in MiB: 2048 is ``2Gi``."""
    return _shortest(amount, 1024, BINARY)


def _shortest(amount: int, step: int, suffixes: tuple[str, ...]) -> str:
    """Use the largest suffix that leaves a whole number (apimachinery, resource.Quantity)."""
    if not amount:
        return "0"
    place = 0
    while amount % step == 0 and place < len(suffixes) - 1:
        amount, place = amount // step, place + 1
    return f"{amount}{suffixes[place]}"
