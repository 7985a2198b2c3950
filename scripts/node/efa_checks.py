"""The checks of EFA: its devices, its provider, its counters, and what it needs of the system."""

import re

from scripts.node.capture import Section
from scripts.node.finding import UNKNOWN, at
from scripts.node.profiles import Severity, policy
from scripts.node.subject import Findings, Subject

__all__ = ["counters", "efa", "memlock", "mtu", "provider"]

MONITOR, REBOOT = Severity.MONITOR, Severity.REBOOT

LINK_WORDS = 4
"""Interface, MTU, state, driver."""

PHYSICAL = frozenset({"ena", "efa"})
IN_A_POD = "eth0"

_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f] 0xefa\w*")
_DOMAIN = re.compile(r"\s*domain: (?P<name>\S+)")
_COUNTER = re.compile(r"(?P<device>[\w.-]+)/ports/\d+/hw_counters/(?P<name>\w+) (?P<value>\S+)")


def efa(section: Section, node: Subject) -> Findings:
    """Count the EFA devices on the PCI bus: other lists name some twice, or some not to be used."""
    count = node.instance.efa_interfaces
    lines = [line for line in section.output if line.strip()]
    devices = {line for line in lines if _PCI.fullmatch(line.strip())}
    if len(devices) != len(lines):
        odd = len(lines) - len(devices)
        yield at(section, UNKNOWN, f"{odd} lines of the PCI bus could not be read")
    elif len(devices) != count:
        message = f"{len(devices)} EFA devices; there must be {count}"
        yield at(section, Severity.ISOLATE if len(devices) < count else UNKNOWN, message)


def provider(section: Section, node: Subject) -> Findings:
    """Judge whether libfabric offers EFA, by device: each has two endpoints."""
    text = "\n".join(section.output)
    domains = {
        found["name"].removesuffix("-rdm").removesuffix("-dgrm")
        for line in section.output
        if (found := _DOMAIN.match(line))
    }
    if section.code != 0 and "No data available" not in text:
        first = next((line.strip() for line in section.output if line.strip()), "no output")
        yield at(section, UNKNOWN, f"fi_info ended with exit code {section.code}: {first}")
    elif "provider: efa" not in text:
        message = "libfabric offers no provider efa; NCCL would use sockets"
        yield at(section, REBOOT, message)
    elif len(domains) < node.instance.efa_interfaces:
        message = (
            f"libfabric offers {len(domains)} EFA devices; there must be "
            f"{node.instance.efa_interfaces}"
        )
        yield at(section, REBOOT, message)


def counters(section: Section, node: Subject) -> Findings:
    """Judge the error counters of EFA: by their growth, if there is an earlier capture."""
    limits = policy().host.efa_counters
    earlier = node.before.sections.get(section.name) if node.before else None
    old = _counters(earlier) if earlier is not None and earlier.ran else {}
    now = _counters(section)
    if not now or None in now.values():
        message = "a counter of EFA could not be read" if now else "no counter of EFA was printed"
        yield at(section, UNKNOWN, message)
        return
    since = "since the earlier capture" if old else "since boot"
    for name, limit in limits.items():
        grown = {
            device: (value or 0) - (old.get((device, kind)) or 0)
            for (device, kind), value in now.items()
            if kind == name
        }
        worst = max(grown, key=lambda device: grown[device], default="")
        if worst and grown[worst] > limit:
            message = f"{name} of {worst} is {grown[worst]} {since}; {limit} are no accident"
            yield at(section, MONITOR, message)


def _counters(section: Section) -> dict[tuple[str, str], int | None]:
    """Return counters by device and name; None for a value that is none."""
    return {
        (found["device"], found["name"]): int(found["value"])
        if found["value"].isdecimal()
        else None
        for line in section.output
        if (found := _COUNTER.fullmatch(line.strip()))
    }


def mtu(section: Section, _node: Subject) -> Findings:
    """Judge the size of packets on what carries TCP: EFA does not depend on it."""
    want = policy().limits.mtu
    links = [words for line in section.output if len(words := line.split()) == LINK_WORDS]
    ours = [words for words in links if words[3] in PHYSICAL or words[0] == IN_A_POD]
    if not ours:
        yield at(section, UNKNOWN, "no interface of the node was listed")
    for name, size, *_ in ours:
        if not size.isdecimal():
            yield at(section, UNKNOWN, f"{name} prints {size!r} as its MTU")
        elif int(size) < want:
            yield at(section, MONITOR, f"the MTU of {name} is {size}; {want} is possible")


def memlock(section: Section, _node: Subject) -> Findings:
    """Judge how much memory a process may pin; EFA registers all its buffers."""
    need = policy().limits.memlock_kib
    word = section.output[0].strip() if section.output else ""
    if word == "unlimited":
        return
    if not word.isdecimal():
        yield at(section, UNKNOWN, f"ulimit -l printed {word!r}")
    elif int(word) < need:
        message = f"memlock is {word} KiB; EFA needs unlimited or {need} KiB"
        yield at(section, REBOOT, message)
