"""The checks of the rest of the machine: memory, NUMA, PCI, disks, mounts, metadata service."""

import re
from collections.abc import Iterable

from scripts.node.capture import Section
from scripts.node.finding import UNKNOWN, NodeFinding, absent, at
from scripts.node.profiles import Severity, policy
from scripts.node.subject import Findings, Subject

__all__ = ["disks", "imds", "lustre", "machine", "meminfo", "mounts", "numa", "nvme", "pci"]

ISOLATE, REBOOT, MONITOR = Severity.ISOLATE, Severity.REBOOT, Severity.MONITOR

KIB_PER_MIB = 1024
KIB_PER_GIB = 1024 * 1024
SECTOR_BYTES = 512
GB = 10**9

GPU_CLASS = "0x0302"
GONE = "ffffffff"
"""What a device answers to any read that is no longer there."""

INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"
REAL = re.compile(r"/dev/(?:nvme|sd|xvd|md)")
"""Disks; an image that is read-only by design lies on a device of another kind."""

FOR_DATA = frozenset({"ext4", "xfs", "btrfs", "lustre"})
LUSTRE_STATES = frozenset({"FULL", "IDLE"})

_MEMORY = re.compile(
    r"(?P<name>HugePages_Total|Hugepagesize|MemTotal|SwapTotal):\s+(?P<value>\d{1,15})"
)
_PCI = re.compile(r"(?P<address>\S+) device=\S+ class=(?P<class>\S+) id=(?P<id>\S*) .*")
_CPUS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", re.ASCII)
_PERCENT = re.compile(r"(?P<used>\d{1,3})%")
_TYPE = re.compile(r"[a-z]\w*-?\w*\.(?:\d+xlarge|xlarge|large|metal\S*)")


def meminfo(section: Section, node: Subject) -> Findings:
    """Judge the huge pages, the memory and the swap of the node."""
    limits = policy().limits
    values = {
        found["name"]: int(found["value"])
        for line in section.output
        if (found := _MEMORY.match(line.strip()))
    }
    total = values.get("MemTotal")
    if total is None or "SwapTotal" not in values:
        yield at(section, UNKNOWN, "/proc/meminfo has no lines about memory and swap")
        return
    need = node.instance.memory_gib * limits.memory_share
    if total / KIB_PER_GIB < need:
        message = f"{total // KIB_PER_GIB} GiB of memory; {node.instance.name} has "
        yield _named(section, "memory", ISOLATE, f"{message}{node.instance.memory_gib} GiB")
    if values["SwapTotal"]:
        message = f"{values['SwapTotal'] // KIB_PER_MIB} MiB of swap are on; a rank must not wait"
        yield _named(section, "swap", REBOOT, message)
    if node.instance.efa_interfaces:
        yield from _huge_pages(section, values)


def _huge_pages(section: Section, values: dict[str, int]) -> Findings:
    need = policy().limits.hugepages_mib
    if not {"HugePages_Total", "Hugepagesize"} <= values.keys():
        yield at(section, UNKNOWN, "/proc/meminfo has no lines about huge pages")
        return
    have = values["HugePages_Total"] * values["Hugepagesize"] // KIB_PER_MIB
    if have < need:
        message = f"{have} MiB of huge pages; one NCCL pod asks for {need} MiB"
        yield at(section, REBOOT, message)


def _named(section: Section, check: str, severity: Severity, message: str) -> NodeFinding:
    return NodeFinding(check, severity, message, section.line)


def pci(section: Section, node: Subject) -> Findings:
    """Count the GPUs on the PCI bus, and find those that have fallen off it."""
    listed = [(index, found) for index, line in enumerate(section.output)
              if (found := _PCI.fullmatch(line.strip()))]  # fmt: skip
    if len(listed) != len([line for line in section.output if line.strip()]):
        yield at(section, UNKNOWN, "lines of the PCI bus could not be read")
        return
    boards = [(index, found) for index, found in listed if found["class"].startswith(GPU_CLASS)]
    for index, found in listed:
        if found["id"] == GONE:
            message = f"device {found['address']} has fallen off the bus: it answers ff to all"
            yield at(section, ISOLATE, message, index)
    if len(boards) != node.gpus:
        severity = ISOLATE if len(boards) < node.gpus else UNKNOWN
        message = f"{len(boards)} GPUs are on the PCI bus; there must be {node.gpus}"
        yield at(section, severity, message)


def numa(section: Section, node: Subject) -> Findings:
    """Compare which CPUs belong to which NUMA node, and how many there are."""
    lines = [line.split() for line in section.output if line.strip()]
    # A node of memory only, like that of a GPU, has no CPUs.
    places = {words[0]: words[1] for words in lines if len(words) > 1 and words[1] != "-"}
    nodes = [cpus for name, cpus in sorted(places.items()) if name.startswith("node")]
    if not nodes or not all(_CPUS.fullmatch(cpus) for cpus in places.values()):
        yield at(section, UNKNOWN, "the NUMA nodes could not be read")
        return
    count = sum(map(_count, nodes))
    if count != node.instance.vcpus:
        message = f"{count} CPUs are online; {node.instance.name} has {node.instance.vcpus}"
        yield at(section, MONITOR, message)
    wanted = policy().host.numa.get(node.instance.name)
    if wanted is not None and tuple(nodes) != wanted:
        message = f"the NUMA nodes have CPUs {' and '.join(nodes)}; {' and '.join(wanted)} is usual"
        yield at(section, MONITOR, message)


def _count(cpus: str) -> int:
    total = 0
    for part in cpus.split(","):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total


def nvme(section: Section, node: Subject) -> Findings:
    """Add up the local disks."""
    want = node.instance.local_nvme_gb
    listed = [line.split(maxsplit=2) for line in section.output if line.strip()]
    if not listed or any(len(words) < 2 or not words[1].isdecimal() for words in listed):  # noqa: PLR2004 - name and sectors
        yield at(section, UNKNOWN, "the NVMe devices could not be read")
        return
    local = [int(words[1]) for words in listed if INSTANCE_STORE in " ".join(words[2:])]
    have = sum(local) * SECTOR_BYTES / GB
    if have < want * policy().limits.nvme_share:
        message = (
            f"{len(local)} local disks of {have:.0f} GB in all; {node.instance.name} has {want} GB"
        )
        yield at(section, ISOLATE, message)


def disks(section: Section, _node: Subject) -> Findings:
    """Judge how full the disks are."""
    limit = policy().limits.disk_percent
    told: set[str] = set()
    for index, words in [(index, line.split()) for index, line in enumerate(section.output)]:
        found = _PERCENT.fullmatch(words[-2]) if len(words) > 1 else None
        real = bool(words) and (words[0] == "overlay" or REAL.match(words[0]) is not None)
        if not real or words[0] in told:
            continue
        told.add(words[0])
        if found is None:
            yield at(section, UNKNOWN, f"df does not say how full {words[-1]} is", index)
        elif int(found["used"]) >= limit:
            message = f"{words[-1]} is {found['used']} % full; below {limit} % is good"
            yield at(section, REBOOT, message, index)
    if not told:
        yield at(section, UNKNOWN, "df lists no disk")


def mounts(section: Section, node: Subject) -> Findings:
    """Find file systems that turned read-only, and those that are not mounted."""
    read = [(index, found) for index, line in enumerate(section.output)
            if (found := _mount(line)) is not None]  # fmt: skip
    if not read:
        yield at(section, UNKNOWN, "the list of mounts is empty")
        return
    told: set[str] = set()
    for index, (place, kind, device, options) in read:
        real = REAL.match(device) is not None or kind == "lustre"
        if real and kind in FOR_DATA and "ro" in options.split(",") and device not in told:
            told.add(device)
            message = f"{device} ({kind}) on {place} has become read-only"
            yield at(section, REBOOT, message, index)
    mounted = {place for _, (place, kind, _, _) in read if kind == "lustre"}
    for place in node.mounts:
        if place not in mounted:
            yield at(section, REBOOT, f"no Lustre file system is mounted on {place}")


def _mount(line: str) -> tuple[str, str, str, str] | None:
    """Read a line of mountinfo: place, kind, device, and the options of the file system itself.

    A read-only mount of a writable file system is nothing to say: pods have many.
    """
    before, mark, after = line.partition(" - ")
    words, rest = before.split(), after.split()
    if not mark or len(words) < 6 or len(rest) < 3:  # noqa: PLR2004 - proc(5), mountinfo
        return None
    return words[4], rest[0], rest[1], rest[-1]


def lustre(section: Section, node: Subject) -> Findings:
    """Judge the connections to the servers of Lustre."""
    states = [(index, line.split()) for index, line in enumerate(section.output) if line.strip()]
    for index, words in states:
        if len(words) < 3:  # noqa: PLR2004 - file, server, state
            yield at(section, UNKNOWN, "a connection to Lustre could not be read", index)
        elif words[2] not in LUSTRE_STATES:
            message = f"the connection to {words[1].removesuffix('_UUID')} is {words[2]}"
            yield at(section, REBOOT, f"{message}; it must be FULL or IDLE", index)
    if node.mounts and not states:
        yield at(section, UNKNOWN, "no connection to Lustre is listed")


def imds(section: Section, node: Subject) -> Findings:
    """Judge whether the metadata service asks for a token."""
    word = section.output[0].strip() if section.output else ""
    if word == "200":
        message = "the metadata service answers without a token; set http_tokens = required"
        yield at(section, REBOOT, message)
    elif word in {"000", ""} and not node.on_host:
        return  # a hop limit of 1 keeps pods from it, as it should be
    elif word not in {"401", "403"}:
        yield at(section, UNKNOWN, f"the metadata service answers {word!r}")


def machine(section: Section, node: Subject) -> Findings:
    """Compare what the firmware calls the machine with the type that was named."""
    facts = _facts(section.output)
    product = facts.get("product_name", "")
    if not absent(product) and _TYPE.fullmatch(product) and product != node.instance.name:
        message = f"the machine is a {product}; {node.instance.name} was expected"
        yield at(section, UNKNOWN, message)


def _facts(lines: Iterable[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}
