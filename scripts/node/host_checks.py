"""The checks of a node outside its GPUs: kernel log, EFA devices, limits."""

import re
from collections.abc import Iterator

from scripts.node.capture import Section
from scripts.node.finding import NodeFinding
from scripts.node.profiles import Severity, policy

__all__ = ["efa", "hugepages", "kernel_log", "memlock"]

_XID = re.compile(r"NVRM.*?\bXid[^)]*\):\s*(?P<code>\d{1,9})(?P<text>.*)")
_SXID = re.compile(
    r"SXid[^)]*\):\s*(?P<code>\d{1,9}),?\s*(?P<kind>Non-fatal|Fatal)?", re.IGNORECASE
)
_READ = re.compile(r"lines read: (?P<count>\d+)")
_BOOT = "-- Boot"
_EMPTY = "-- No entries --"
_HUGE = re.compile(r"(?P<name>HugePages_Total|Hugepagesize):\s+(?P<value>\d{1,12})")
_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f] 0xefa")

KIB_PER_MIB = 1024


def kernel_log(section: Section, accelerator: str) -> Iterator[NodeFinding]:
    """Judge the driver's error codes since the last boot; older ones are history."""
    lines = section.output
    boots = [index for index, line in enumerate(lines) if line.startswith(_BOOT)]
    lines = lines[boots[-1] + 1 :] if boots else lines
    counts = [found for line in lines if (found := _READ.fullmatch(line))]
    if not lines or (counts and int(counts[-1]["count"]) <= 1):
        yield _at(section, None, "the kernel log is empty: it could not be read")
        return
    if lines == [_EMPTY]:
        return
    seen: set[tuple[int, Severity | None]] = set()
    for line in lines:
        for finding, key in _codes(section, line, accelerator):
            if key not in seen:
                seen.add(key)
                yield finding


def _codes(
    section: Section, line: str, accelerator: str
) -> Iterator[tuple[NodeFinding, tuple[int, Severity | None]]]:
    if found := _SXID.search(line):
        fatal = (found["kind"] or "").lower() == "fatal"
        severity = Severity.ISOLATE if fatal else Severity.MONITOR
        message = f"NVSwitch error (SXid) {found['code']}: {line.strip()}"
        yield _at(section, severity, message), (-int(found["code"]), severity)
    elif found := _XID.search(line):
        code = int(found["code"])
        known = policy().xid_severity(code, found["text"], accelerator)
        severity = Severity.MONITOR if known is None else known
        hint = "" if known is not None else ", which is in no list of ours"
        yield _at(section, severity, f"Xid {code}{hint}: {line.strip()}"), (code, severity)


def efa(section: Section, count: int) -> Iterator[NodeFinding]:
    """Count the EFA devices on the PCI bus."""
    devices = sum(_PCI.match(line) is not None for line in section.output)
    if devices != count:
        yield _at(section, Severity.ISOLATE, f"{devices} EFA devices; there must be {count}")


def memlock(section: Section) -> Iterator[NodeFinding]:
    """Judge how much memory a process may pin; EFA registers all its buffers."""
    need = policy().limits.memlock_kib
    word = section.output[0].strip() if section.output else ""
    if word == "unlimited":
        return
    if not word.isdecimal():
        yield _at(section, None, f"ulimit -l printed {word!r}")
    elif int(word) < need:
        yield _at(
            section, Severity.REBOOT, f"memlock is {word} KiB; EFA needs unlimited or {need} KiB"
        )


def hugepages(section: Section) -> Iterator[NodeFinding]:
    """Judge the huge pages that the node has, MiB."""
    need = policy().limits.hugepages_mib
    values = {
        found["name"]: int(found["value"])
        for line in section.output
        if (found := _HUGE.match(line.strip()))
    }
    if len(values) != len(("HugePages_Total", "Hugepagesize")):
        yield _at(section, None, "/proc/meminfo has no lines about huge pages")
        return
    have = values["HugePages_Total"] * values["Hugepagesize"] // KIB_PER_MIB
    if have < need:
        yield _at(
            section, Severity.REBOOT, f"{have} MiB of huge pages; one NCCL pod asks for {need} MiB"
        )


def _at(section: Section, severity: Severity | None, message: str) -> NodeFinding:
    return NodeFinding(section.name, severity, message[:300], section.line)
