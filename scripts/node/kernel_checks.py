"""The checks of the kernel: its log, its modules, its version and settings, its clock."""

import re

from scripts.node.capture import Section
from scripts.node.finding import UNKNOWN, NodeFinding, absent, at
from scripts.node.profiles import Severity, policy
from scripts.node.subject import Findings, Subject

__all__ = ["clock", "kernel", "kernel_log", "modules", "sysctl"]

MONITOR = Severity.MONITOR

_XID = re.compile(r"NVRM.*?\bXid[^)]*\):\s*(?P<code>\d{1,9})(?P<text>.*)")
_SXID = re.compile(
    r"SXid[^)]*\):\s*(?P<code>\d{1,9}),?\s*(?P<word>Non-fatal|Fatal)?", re.IGNORECASE
)
_NARROW = re.compile(r"limited by .* PCIe x\d+ link")
_READ = re.compile(r"lines read: (?P<count>\d{1,12})")
_BOOT = "-- Boot"
_EMPTY = "-- No entries --"
_VERSION = re.compile(r"(?P<major>\d{1,3})\.(?P<minor>\d{1,3})")
_OFFSET = re.compile(r"System time\s*:\s*(?P<seconds>\d+\.\d+) seconds (?:fast|slow) of NTP time")
_LEAP = re.compile(r"^Leap status\s*:\s*(?P<status>.+?)\s*$", re.MULTILINE)

Key = tuple[int, Severity | None]


def kernel_log(section: Section, node: Subject) -> Findings:
    """Judge the driver's error codes since the last boot; older ones are history."""
    lines = list(enumerate(section.output))
    boots = [index for index, line in lines if line.startswith(_BOOT)]
    lines = lines[boots[-1] + 1 :] if boots else lines
    counts = [found for _, line in lines if (found := _READ.fullmatch(line))]
    if not lines or (counts and int(counts[-1]["count"]) <= 1):
        yield at(section, UNKNOWN, "the kernel log is empty: it could not be read")
        return
    if [line for _, line in lines] == [_EMPTY]:
        return
    seen: set[Key] = set()
    for index, line in lines:
        for finding, key in _codes(section, index, line, node.accelerator.name):
            if key not in seen:
                seen.add(key)
                yield finding


def _codes(
    section: Section, index: int, line: str, accelerator: str
) -> list[tuple[NodeFinding, Key]]:
    text = line.strip()
    if found := _SXID.search(line):
        code = int(found["code"])
        severity = policy().sxid_severity(code, found["word"])
        message = f"NVSwitch error (SXid) {code}: {text}"
        return [(at(section, severity, message, index), (-code, severity))]
    if found := _XID.search(line):
        code = int(found["code"])
        known = policy().xid_severity(code, found["text"], accelerator)
        severity = MONITOR if known is None else known
        hint = "" if known is not None else ", which is in no list of ours"
        return [(at(section, severity, f"Xid {code}{hint}: {text}", index), (code, severity))]
    if _NARROW.search(line):
        return [(at(section, MONITOR, f"a PCIe link is narrow: {text}", index), (0, MONITOR))]
    return []


def modules(section: Section, node: Subject) -> Findings:
    """Look for the kernel modules of GPUs and EFA, and for the devices that processes open."""
    host = policy().host
    loaded = {line.strip() for line in section.output}
    wanted = [*host.modules, *(host.efa_modules if node.instance.efa_interfaces else ())]
    if not loaded - {""} or not any(_is_module(word) for word in loaded):
        yield at(section, UNKNOWN, "the list of kernel modules is empty")
        return
    if missing := [name for name in wanted if name not in loaded]:
        message = f"kernel modules are not loaded: {', '.join(missing)}"
        yield at(section, Severity.REBOOT, message)
    verbs = [word for word in loaded if word.startswith("device uverbs")]
    if node.instance.efa_interfaces and not verbs:
        yield at(section, Severity.REBOOT, "there is no /dev/infiniband/uverbs device to open")


def _is_module(word: str) -> bool:
    return bool(word) and not word.startswith("device ") and re.fullmatch(r"\w+", word) is not None


def kernel(section: Section, _node: Subject) -> Findings:
    """Judge the version of the kernel."""
    first = policy().limits.first_kernel
    word = section.output[0].strip() if section.output else ""
    found, least = _VERSION.match(word), _VERSION.match(first)
    if found is None or least is None:
        yield at(section, UNKNOWN, f"uname -r printed {word!r}")
    elif _pair(found) < _pair(least):
        message = f"the kernel is {word}; before {first} a fork breaks EFA"
        yield at(section, MONITOR, message)


def _pair(found: re.Match[str]) -> tuple[int, int]:
    return int(found["major"]), int(found["minor"])


def sysctl(section: Section, _node: Subject) -> Findings:
    """Judge settings of the kernel that slow collectives down; the others are only recorded."""
    values = dict(line.split(maxsplit=1) for line in section.output if len(line.split()) > 1)
    if not values:
        yield at(section, UNKNOWN, "no setting of the kernel was printed")
        return
    if values.get("kernel/numa_balancing", "-").strip() not in {"0", "-"}:
        message = "kernel.numa_balancing is on: it moves memory while a job uses it"
        yield at(section, MONITOR, message)
    source = values.get("clocksource", "-").strip()
    good = policy().host.clock_sources
    if not absent(source) and source not in good:
        message = f"the clock source is {source}; {', '.join(sorted(good))} are fast"
        yield at(section, MONITOR, message)
    governor = values.get("governor", "-").strip()
    if not absent(governor) and governor != "performance":
        message = f"the CPU governor is {governor}; performance is best"
        yield at(section, MONITOR, message)


def clock(section: Section, _node: Subject) -> Findings:
    """Judge whether the clock follows the time service."""
    limit = policy().limits.clock_offset_ms
    text = "\n".join(section.output)
    leap, offset = _LEAP.search(text), _OFFSET.search(text)
    if leap is None or offset is None:
        yield at(section, UNKNOWN, "chronyc does not say how the clock is")
        return
    if leap["status"] != "Normal":
        message = f"the clock follows no time service: {leap['status']}"
        yield at(section, MONITOR, message)
    off = float(offset["seconds"]) * 1e3
    if off > limit:
        message = f"the clock is {off:.1f} ms off; {limit:g} ms are allowed"
        yield at(section, MONITOR, message)
