"""The checks of the GPUs, each over the output of one section."""

import re
from collections.abc import Iterator

from scripts.node.capture import Section
from scripts.node.finding import NodeFinding, absent
from scripts.node.profiles import Profile, Severity, policy

__all__ = ["ecc", "fabric", "gpus", "nvlink", "remapped", "throttle"]

ISOLATE = Severity.ISOLATE
UNKNOWN = None

DRIVER = 5
"""Column of the driver's version in the section ``gpus``."""

REMAPPED_COLUMNS = 4
"""Bus, pending, failure, uncorrectable."""

_GPU = re.compile(r"GPU (?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)\s*$")
_FIELD = re.compile(r"\s*(?P<name>[^:]+?)\s+:\s+(?P<value>.*?)\s*$")
_LINK = re.compile(r"\s*Link (?P<link>\d+): (?P<speed>.+?)\s*$")
_NVLINK_GPU = re.compile(r"GPU (?P<index>\d+): ")


def gpus(section: Section, name: str, count: int) -> Iterator[NodeFinding]:
    """Count the GPUs and compare their name with ``name`` of the catalog."""
    rows = [row for row in _csv(section) if row[0].isdecimal()]
    if len(rows) != count:
        yield _at(section, ISOLATE, f"{len(rows)} GPUs answer; there must be {count}")
    strange = sorted({row[1] for row in rows if not _is(row[1], name)})
    if strange:
        yield _at(section, UNKNOWN, f"the GPUs are {', '.join(strange)}; {name} was expected")
    drivers = sorted({row[DRIVER] for row in rows if len(row) > DRIVER})
    if len(drivers) > 1:
        yield _at(section, Severity.REBOOT, f"two drivers answer: {', '.join(drivers)}")


def ecc(section: Section, count: int) -> Iterator[NodeFinding]:
    """Judge memory errors: the parts of a total (parity, SEC-DED) are added before comparing."""
    limits = policy().limits
    boards = _boards(section)
    yield from _all_there(section, len(boards), count, "ECC counters")
    for bus, fields in boards.items():
        mode = fields.get("ECC Mode/Current", "")
        if absent(mode):
            yield _at(section, UNKNOWN, f"GPU {bus} does not say whether ECC is on")
            continue
        if mode != "Enabled":
            yield _at(section, Severity.RESET, f"ECC of GPU {bus} is {mode}; it must be Enabled")
            continue
        volatile = _sum(fields, "ECC Errors/Volatile/", "Uncorrectable")
        sram = _sum(fields, "ECC Errors/Aggregate/", "SRAM Uncorrectable")
        if volatile is None or sram is None:
            yield _at(section, UNKNOWN, f"GPU {bus} does not say how many errors it had")
            continue
        if volatile > limits.uncorrectable_volatile:
            yield _at(
                section, Severity.RESET, f"GPU {bus} had {volatile} uncorrectable errors since boot"
            )
        if sram > limits.uncorrectable_sram_aggregate:
            yield _at(
                section,
                ISOLATE,
                f"GPU {bus} had {sram} uncorrectable SRAM errors in its life; "
                f"{limits.uncorrectable_sram_aggregate} are allowed",
            )
        if fields.get("ECC Errors/Aggregate/SRAM Threshold Exceeded") == "Yes":
            yield _at(section, ISOLATE, f"GPU {bus} exceeded its SRAM error threshold")


def remapped(section: Section, count: int) -> Iterator[NodeFinding]:
    """Judge row remapping: pending, failed, and how many uncorrectable."""
    limit = policy().limits.remapped_uncorrectable
    rows = [row for row in _csv(section) if len(row) == REMAPPED_COLUMNS]
    yield from _all_there(section, len(rows), count, "remapped rows")
    for bus, *words in rows:
        values = [_flag(word) for word in words]
        if None in values:
            yield _at(section, UNKNOWN, f"GPU {bus} does not say what it remapped: {words}")
            continue
        pending, failure, uncorrectable = (value or 0 for value in values)
        if failure:
            yield _at(section, ISOLATE, f"GPU {bus} failed to remap a row")
        if uncorrectable > limit:
            yield _at(
                section, ISOLATE, f"GPU {bus} remapped {uncorrectable} rows; {limit} are allowed"
            )
        if pending:
            yield _at(section, Severity.RESET, f"GPU {bus} has a row to remap at its next reset")


def throttle(section: Section, count: int) -> Iterator[NodeFinding]:
    """Judge the bits of the throttle mask, by either name of its column."""
    known = policy().throttle
    rows = _csv(section)
    heads = [row for row in rows if row[-1].endswith("_reasons.active")]
    names = {"clocks_event_reasons.active", "clocks_throttle_reasons.active"}
    if not heads or heads[-1][-1] not in names:
        yield _at(section, UNKNOWN, "no column of clock event reasons was printed")
        return
    masks = [row for row in rows if row[0].isdecimal()]
    yield from _all_there(section, len(masks), count, "throttle masks")
    for row in masks:
        index, word = row[0], row[-1]
        try:
            mask = int(word, 16)
        except ValueError:
            yield _at(section, UNKNOWN, f"GPU {index} prints {word!r} as its throttle mask")
            continue
        bad = [text for bit, text in known.isolate.items() if mask & bit]
        rest = mask & ~sum({**known.isolate, **known.allowed})
        if bad:
            yield _at(section, ISOLATE, f"GPU {index} is throttled: {', '.join(bad)} ({mask:#x})")
        if rest:
            yield _at(
                section, UNKNOWN, f"GPU {index} has throttle bits of no known meaning {rest:#x}"
            )


def nvlink(section: Section, count: int, gpu: Profile) -> Iterator[NodeFinding]:
    """Count the NVLinks of each GPU that are up at full speed."""
    links: dict[str, list[str]] = {}
    current: list[str] = []
    for line in section.output:
        if found := _NVLINK_GPU.match(line):
            current = links.setdefault(found["index"], [])
        elif found := _LINK.match(line):
            current.append(found["speed"])
    yield from _all_there(section, len(links), count, "NVLinks")
    for index, speeds in links.items():
        good = sum(_speed(word) >= gpu.nvlink_gbps for word in speeds)
        if good != gpu.nvlinks:
            yield _at(
                section,
                Severity.RESET,
                f"GPU {index} has {good} of {gpu.nvlinks} NVLinks at {gpu.nvlink_gbps:g} GB/s "
                "or more",
            )


def fabric(section: Section, count: int) -> Iterator[NodeFinding]:
    """Judge the fabric manager's work where the driver reports it."""
    boards = _boards(section)
    yield from _all_there(section, len(boards), count, "fabric states")
    for bus, fields in boards.items():
        state, status = fields.get("Fabric/State"), fields.get("Fabric/Status")
        if state is None:
            yield _at(section, UNKNOWN, f"GPU {bus} prints no Fabric block")
        elif state != "Completed" or status != "Success":
            yield _at(
                section,
                Severity.RESET,
                f"the fabric of GPU {bus} is {state} / {status}; it must be Completed / Success "
                "(nvidia-fabricmanager; CUDA fails with error 802 until then)",
            )


def _at(section: Section, severity: Severity | None, message: str) -> NodeFinding:
    return NodeFinding(section.name, severity, message, section.line)


def _all_there(section: Section, seen: int, count: int, what: str) -> Iterator[NodeFinding]:
    if seen != count:
        yield _at(section, UNKNOWN, f"{what} of {seen} GPUs were printed; there must be {count}")


def _csv(section: Section) -> list[list[str]]:
    return [[word.strip() for word in line.split(",")] for line in section.output if line.strip()]


def _is(printed: str, name: str) -> bool:
    return f" {name} " in f" {printed.replace('-', ' ')} "


def _flag(word: str) -> int | None:
    """Read a number, or the Yes and No that other driver releases print."""
    known = {"yes": 1, "no": 0}
    if word.lower() in known:
        return known[word.lower()]
    return int(word) if word.isdecimal() else None


def _speed(word: str) -> float:
    """Read "26.562 GB/s"; what is no number, like <inactive>, has no speed."""
    try:
        return float(word.split(maxsplit=1)[0])
    except ValueError:
        return 0.0


def _sum(fields: dict[str, str], prefix: str, name: str) -> int | None:
    """Add the parts of a total; None where a part is missing or there is none."""
    parts = [
        value
        for key, value in fields.items()
        if key.startswith(prefix) and name in key.removeprefix(prefix)
    ]
    if not parts or not all(part.isdecimal() for part in parts):
        return None
    return sum(map(int, parts))


def _boards(section: Section) -> dict[str, dict[str, str]]:
    """Read the indented text of ``nvidia-smi -q``: fields by path, for each GPU."""
    boards: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in section.output:
        if found := _GPU.match(line):
            fields = boards.setdefault(found["bus"], {})
            path = []
            continue
        indent = len(line) - len(line.lstrip())
        path = [step for step in path if step[0] < indent]
        if found := _FIELD.match(line):
            fields["/".join([*(name for _, name in path), found["name"]])] = found["value"]
        elif line.strip():
            path.append((indent, line.strip()))
    return boards
