"""The checks of the GPUs themselves, each over the output of one section."""

from scripts.node.capture import Section
from scripts.node.finding import UNKNOWN, absent, at
from scripts.node.profiles import Severity, policy
from scripts.node.smi import flag, number, parts, rows, table, unread
from scripts.node.subject import Findings, Subject

__all__ = [
    "IDENTITY",
    "SETTINGS",
    "ecc",
    "gpus",
    "pcie",
    "remapped",
    "retired",
    "settings",
    "throttle",
]

ISOLATE, RESET, MONITOR = Severity.ISOLATE, Severity.RESET, Severity.MONITOR

IDENTITY = ("index", "name", "uuid", "serial", "bus", "driver", "vbios")
"""Columns of the section ``gpus``."""

SETTINGS = ("index", "persistence", "mig", "power_limit", "max_clock", "temperature")

REMAPPED_COLUMNS = 4
RETIRED_COLUMNS = 4
PCIE_COLUMNS = 5

EVENT_REASONS = ("clocks_event_reasons.", "clocks_throttle_reasons.")
"""Both names of the throttle columns: drivers from 535 on print the first."""

REPAIRS = ("Channel Repair Pending", "TPC Repair Pending")


def gpus(section: Section, node: Subject) -> Findings:
    """Count the GPUs and compare their name with the catalog's; all must have one driver."""
    listed: list[tuple[int, dict[str, str]]] = [
        (index, dict(zip(IDENTITY, words, strict=True)))
        for index, words in rows(section, len(IDENTITY))
    ]
    strange_lines = unread(section, len(IDENTITY))
    if strange_lines:
        yield at(section, UNKNOWN, f"{strange_lines} lines of nvidia-smi could not be read")
    elif len(listed) != node.gpus:
        severity = ISOLATE if len(listed) < node.gpus else UNKNOWN
        yield at(section, severity, f"{len(listed)} GPUs answer; there must be {node.gpus}")
    uuids = [gpu["uuid"] for _, gpu in listed]
    if len(set(uuids)) != len(uuids) or any(map(absent, uuids)):
        yield at(section, UNKNOWN, "the GPUs do not each have a UUID of their own")
    name = node.accelerator.name
    strange = sorted({gpu["name"] for _, gpu in listed if not _is(gpu["name"], name)})
    if strange:
        yield at(section, UNKNOWN, f"the GPUs are {', '.join(strange)}; {name} was expected")
    for what, severity in (("driver", Severity.REBOOT), ("vbios", MONITOR)):
        seen = sorted({gpu[what] for _, gpu in listed})
        if any(map(absent, seen)):
            yield at(section, UNKNOWN, f"a GPU does not say its {what}")
        elif len(seen) > 1:
            yield at(section, severity, f"two versions of {what} answer: {', '.join(seen)}")


def ecc(section: Section, node: Subject) -> Findings:
    """Judge memory errors: the parts of a total (parity, SEC-DED) are added before comparing."""
    boards = parts(section)
    yield from _all_there(section, len(boards), node, "ECC counters")
    for bus, fields in boards.items():
        index, mode = fields.get("ECC Mode/Current", (None, ""))
        pending = fields.get("ECC Mode/Pending", (index, ""))[1]
        if absent(mode):
            yield at(section, UNKNOWN, f"GPU {bus} does not say whether ECC is on", index)
        elif mode != "Enabled":
            yield at(section, RESET, f"ECC of GPU {bus} is {mode}; it must be Enabled", index)
        else:
            if not absent(pending) and pending != "Enabled":
                message = f"ECC of GPU {bus} will be {pending} after its next reset"
                yield at(section, RESET, f"{message}; it must be Enabled", index)
            yield from _errors(section, bus, fields)


def _errors(section: Section, bus: str, fields: dict[str, tuple[int, str]]) -> Findings:
    limits = policy().limits
    volatile = _sum(fields, "ECC Errors/Volatile/", "Uncorrectable")
    sram = _sum(fields, "ECC Errors/Aggregate/", "SRAM Uncorrectable")
    if volatile is None or sram is None:
        yield at(section, UNKNOWN, f"GPU {bus} does not say how many errors it had")
    else:
        if volatile > limits.uncorrectable_volatile:
            yield at(section, RESET, f"GPU {bus} had {volatile} uncorrectable errors since boot")
        if sram > limits.uncorrectable_sram_aggregate:
            yield at(
                section,
                ISOLATE,
                f"GPU {bus} had {sram} uncorrectable SRAM errors in its life; "
                f"{limits.uncorrectable_sram_aggregate} are allowed",
            )
    if _says(fields, "SRAM Threshold Exceeded"):
        yield at(section, ISOLATE, f"GPU {bus} exceeded its SRAM error threshold")
    if _says(fields, "Unrepairable Memory"):
        yield at(section, ISOLATE, f"GPU {bus} has memory that cannot be repaired")
    for name in REPAIRS:
        if _says(fields, name):
            yield at(section, RESET, f"GPU {bus} waits for a reset: {name}")


def _says(fields: dict[str, tuple[int, str]], name: str) -> bool:
    return any(key.endswith(name) and value == "Yes" for key, (_, value) in fields.items())


def remapped(section: Section, node: Subject) -> Findings:
    """Judge row remapping: pending, failed, and how many uncorrectable."""
    limit = policy().limits.remapped_uncorrectable
    listed = list(rows(section, REMAPPED_COLUMNS))
    yield from _all_there(section, len({words[0] for _, words in listed}), node, "remapped rows")
    for index, (bus, *words) in listed:
        values = [flag(word) for word in words]
        if None in values:
            message = f"GPU {bus} does not say what it remapped: {words}"
            yield at(section, UNKNOWN, message, index)
            continue
        pending, failure, uncorrectable = (value or 0 for value in values)
        if failure:
            yield at(section, ISOLATE, f"GPU {bus} failed to remap a row", index)
        if uncorrectable > limit:
            message = f"GPU {bus} remapped {uncorrectable} rows; {limit} are allowed"
            yield at(section, ISOLATE, message, index)
        if pending:
            message = f"GPU {bus} has a row to remap at its next reset"
            yield at(section, RESET, message, index)


def retired(section: Section, _node: Subject) -> Findings:
    """Judge retired pages where a GPU still counts them: from Ampere on it remaps rows instead."""
    if not section.ran:
        return
    for index, (gpu, *words) in rows(section, RETIRED_COLUMNS):
        pending, single, double = (flag(word) for word in words)
        if double:
            message = f"GPU {gpu} retired {double} pages for double-bit errors"
            yield at(section, ISOLATE, message, index)
        if pending:
            message = f"GPU {gpu} has a page to retire at its next reboot"
            yield at(section, Severity.REBOOT, message, index)
        if single and single > policy().limits.retired_single_bit:
            message = f"GPU {gpu} retired {single} pages for single-bit errors"
            yield at(section, MONITOR, message, index)


def settings(section: Section, node: Subject) -> Findings:
    """Judge how the GPUs are set: persistence mode on, and not cut into parts."""
    listed = list(rows(section, len(SETTINGS)))
    yield from _all_there(section, len({words[0] for _, words in listed}), node, "settings")
    for index, words in listed:
        gpu = dict(zip(SETTINGS, words, strict=True))
        persistence, mig = gpu["persistence"], gpu["mig"]
        if persistence not in {"Enabled", "Disabled"}:
            message = f"GPU {gpu['index']} prints {persistence!r} as its persistence mode"
            yield at(section, UNKNOWN, message, index)
        elif persistence == "Disabled":
            message = f"persistence mode of GPU {gpu['index']} is off: the driver unloads when idle"
            yield at(section, MONITOR, message, index)
        if mig == "Enabled":
            message = f"GPU {gpu['index']} is cut into instances (MIG); a rank needs all of it"
            yield at(section, Severity.REBOOT, message, index)


def pcie(section: Section, node: Subject) -> Findings:
    """Judge the width of each GPU's link; its generation drops when idle and says nothing."""
    listed = list(rows(section, PCIE_COLUMNS))
    yield from _all_there(section, len({words[0] for _, words in listed}), node, "PCIe links")
    lanes = node.gpu.pcie_lanes
    for index, (gpu, now, *_) in listed:
        width = number(now)
        if width is None:
            yield at(section, UNKNOWN, f"GPU {gpu} prints {now!r} as the width of its link", index)
        elif width < lanes:
            message = f"GPU {gpu} is linked by {width:g} of {lanes} PCIe lanes"
            yield at(section, Severity.REBOOT, message, index)


def throttle(section: Section, node: Subject) -> Findings:
    """Judge why clocks are held down: by the mask, or by a column for each reason."""
    heads = [(place, words) for place, (_, words) in enumerate(table(section)) if _is_head(words)]
    if not heads:
        yield at(section, UNKNOWN, "no column of clock event reasons was printed")
        return
    place, head = heads[-1]
    names = [_reason(word) for word in head[1:]]
    below = [(index, words) for index, words in table(section)[place + 1 :]
             if len(words) == len(head) and words[0].isdecimal()]  # fmt: skip
    yield from _all_there(section, len({words[0] for _, words in below}), node, "throttle masks")
    for index, (gpu, *values) in below:
        yield from _held_down(section, index, gpu, dict(zip(names, values, strict=True)))


def _held_down(section: Section, index: int, gpu: str, values: dict[str, str]) -> Findings:
    known = policy().throttle
    mask, unclear = 0, list[str]()
    for name, word in values.items():
        bits = _bits(name, word)
        if bits is None:
            unclear.append(word)
        else:
            mask |= bits
    bad = [text for bit, text in known.isolate.items() if mask & bit]
    rest = mask & ~sum({**known.isolate, **known.allowed})
    if unclear:
        message = f"GPU {gpu} prints {unclear[0]!r} as its throttle mask"
        yield at(section, UNKNOWN, message, index)
    if bad:
        message = f"GPU {gpu} is throttled: {', '.join(bad)} ({mask:#x})"
        yield at(section, ISOLATE, message, index)
    if rest:
        message = f"GPU {gpu} has throttle bits of no known meaning {rest:#x}"
        yield at(section, UNKNOWN, message, index)


def _is_head(words: list[str]) -> bool:
    """Tell a header of columns that are all known from an error message that names them."""
    known = {"active", *policy().throttle.columns}
    return words[0] == "index" and len(words) > 1 and all(_reason(w) in known for w in words[1:])


def _reason(word: str) -> str:
    """Return the name of a reason, whichever driver names the column."""
    for start in EVENT_REASONS:
        if word.startswith(start):
            return word.removeprefix(start)
    return ""


def _bits(name: str, word: str) -> int | None:
    """Return the bits that a column stands for; None where it says nothing."""
    if name == "active":
        try:
            return int(word, 16) if word.startswith("0x") else None
        except ValueError:
            return None
    words = {"Active": policy().throttle.columns[name], "Not Active": 0}
    return words.get(word)


def _all_there(section: Section, seen: int, node: Subject, what: str) -> Findings:
    if seen != node.gpus:
        message = f"{what} of {seen} GPUs were printed; there must be {node.gpus}"
        yield at(section, UNKNOWN, message)


def _is(printed: str, name: str) -> bool:
    return f" {name} " in f" {printed.replace('-', ' ')} "


def _sum(fields: dict[str, tuple[int, str]], prefix: str, name: str) -> int | None:
    """Add the parts of a total; None where a part is missing or there is none."""
    found = [
        flag(value)
        for key, (_, value) in fields.items()
        if key.startswith(prefix) and name in key.removeprefix(prefix)
    ]
    if not found or None in found:
        return None
    return sum(part or 0 for part in found)
