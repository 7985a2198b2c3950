"""What ``scripts/jobs/node_check.sh`` prints on a simulated node."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from components.catalog import InstanceType, instance_type
from scripts.local.recordings import SimulatedNode, accelerator, text, values
from scripts.node.capture import BEGIN, DONE, END, FIRST, OUTPUT
from scripts.node.profiles import policy, profile

__all__ = ["node_check_log"]

GPU_IS_LOST = 15
"""Exit code of nvidia-smi (NVML_ERROR_GPU_IS_LOST)."""

HUGE_PAGES = 5128
"""Pages of 2 MiB that the EFA installer reserves."""

IDLE = 0x1
"""The throttle mask of a GPU that has nothing to do."""

XIDS = {"gpu": "xid_79.txt", "xid": "xid_64.txt"}
"""Faults that the driver writes an Xid about, and what it writes."""

KIB_PER_GIB = 2**20
SECTORS_PER_GB = 10**9 // 512
LARGEST_DISK_GB = 3800
KERNELS_SHARE = 0.98
"""What is left of a machine's memory when firmware and kernel have taken theirs."""

Section = tuple[str, Sequence[str], int]


def node_check_log(
    node: SimulatedNode, only: Collection[str] = (), *, diagnostics: bool = False
) -> str:
    """Return the stream of the node check on this node.

    Parameters
    ----------
    node
        The node, with what is wrong with it.
    only
        The sections that were asked for; all when none is named.
    diagnostics
        Whether DCGM's diagnostics were asked for (CHECK_DCGM).
    """
    instance = instance_type(node.instance_type)
    buses: list[str] = values()["buses"][: accelerator(instance).count]
    lost = buses[0] if "gpu" in node.faults else None
    answering = [bus for bus in buses if bus != lost]
    every = [
        *_gpu_sections(node, instance, answering, lost),
        *_bus_sections(instance, buses, lost),
        *_host_sections(node, instance, buses),
        *_efa_sections(instance),
        *_kernel_sections(node, instance),
        *(_diagnostics(node, answering) if diagnostics else ()),
    ]
    sections = [each for each in every if not only or each[0] in only]
    done = " ".join([DONE, *(f"{name}={len(lines)}" for name, lines, _ in sections)])
    return "\n".join([FIRST, *(line for each in sections for line in _stream(*each)), done, ""])


def _stream(name: str, lines: Sequence[str], code: int) -> list[str]:
    return [f"{BEGIN}{name}", *(f"{OUTPUT}{line}" for line in lines), f"{END}{name} rc={code}"]


def _gpu_sections(
    node: SimulatedNode, instance: InstanceType, buses: list[str], lost: str | None
) -> Iterator[Section]:
    known, links, faults = values(), profile(instance), node.faults
    product = known["products"][accelerator(instance).name]
    code = GPU_IS_LOST if lost else 0
    gone = (
        [f"Unable to determine the device handle for GPU0: 0000:{lost}.0: Unknown Error"]
        if lost
        else []
    )
    machine = node.machine or node.name
    ids = [(index, bus, *_identity(machine, bus)) for index, bus in enumerate(buses)]
    version = f"{known['driver']}, {known['vbios']}"
    named = [
        f"{index}, {product}, {uuid}, {serial}, 00000000:{bus.upper()}.0, {version}"
        for index, bus, uuid, serial in ids
    ]
    yield "gpus", [*gone, *named], code
    # What is wrong is wrong with the first GPU that answers.
    blocks = [
        {
            "dram": int("ecc" in faults and index == 0),
            "slowdown": "Active" if "throttle" in faults and index == 0 else "Not Active",
            "bus": f"00000000:{bus.upper()}.0",
            "product": product,
            "uuid": uuid,
            "serial": serial,
            "vbios": known["vbios"],
            "state": "Completed" if links.fabric == "reported" else "N/A",
            "status": "Success" if links.fabric == "reported" else "N/A",
        }
        for index, bus, uuid, serial in ids
    ]
    yield "ecc", [*gone, *_blocks("gpu_ecc.txt", blocks)], code
    failures = ["Yes" if each["dram"] else "No" for each in blocks]
    rows = [
        f"{each['bus']}, No, {failed}, {each['dram']}"
        for each, failed in zip(blocks, failures, strict=True)
    ]
    yield "remapped", [*gone, *rows], code
    yield "retired", [*gone, *(f"{index}, [N/A], [N/A], [N/A]" for index, *_ in ids)], code
    one = f"Enabled, Disabled, {known['power_limit']}, {known['max_clock']}, 32"
    yield "settings", [*gone, *(f"{index}, {one}" for index, *_ in ids)], code
    mask = [known["throttled"] if "throttle" in faults else IDLE, *[IDLE] * (len(ids) - 1)]
    masks = [f"{index}, {mask[index]:#018x}" for index, *_ in ids]
    yield "throttle", [*gone, "index, clocks_event_reasons.active", *masks], code
    lanes = [8 if "pcie" in faults else 16, *[16] * (len(ids) - 1)]
    yield "pcie", [*gone, *(f"{index}, {lanes[index]}, 16, 5, 5" for index, *_ in ids)], code
    speed = known["nvlinks"].get(int(links.nvlink_gbps))
    heads = [f"GPU {index}: {product} (UUID: {uuid})" for index, _, uuid, _ in ids]
    up = [f"\t Link {link}: {speed}" for link in range(links.nvlinks)]
    clean = [line for link in range(links.nvlinks) for line in _no_errors(link)]
    states = [line for head in heads for line in (head, *up)]
    if "nvlink" in faults and up:
        states[len(up)] = f"\t Link {links.nvlinks - 1}: <inactive>"
    yield "nvlink", [*gone, *states], code
    yield "nvlink-errors", [*gone, *(line for head in heads for line in (head, *clean))], code
    yield "topology", [*gone, *_matrix(len(ids), links.nvlinks)], code
    yield "fabric", [*gone, *_blocks("gpu_query.txt", blocks)], code


def _diagnostics(node: SimulatedNode, answering: Sequence[str]) -> Iterator[Section]:
    """Print like ``dcgmi diag -j`` of DCGM 4: a result for each GPU of each test."""
    known = values()["dcgm"]
    fault: dict[str, Any] = known["fault"] if "dcgm" in node.faults else {}
    categories = [
        {
            "category": category,
            "tests": [_test(name, len(answering), fault) for name in tests],
        }
        for category, tests in known["tests"].items()
    ]
    document = {
        "DCGM Diagnostic": {"test_categories": categories},
        "metadata": {
            "Driver Version Detected": values()["driver"],
            "version": known["version"],
        },
    }
    yield "dcgm", json.dumps(document, indent=2).splitlines(), fault.get("code", 0)


def _test(name: str, gpus: int, fault: Mapping[str, Any]) -> Mapping[str, object]:
    results: list[dict[str, object]] = [
        {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": "Pass"}
        for gpu in range(gpus)
    ]
    if name == fault.get("test"):
        results[0] |= {"status": "Fail", "warnings": [fault["warning"]]}
    summary = "Fail" if name == fault.get("test") else "Pass"
    return {"name": name, "results": results, "test_summary": {"status": summary}}


def _no_errors(link: int) -> Iterator[str]:
    for kind in ("Replay", "Recovery", "CRC"):
        yield f"\t Link {link}: {kind} Errors: 0"


def _matrix(count: int, links: int) -> Iterator[str]:
    """Print like ``nvidia-smi topo -m``."""
    names = [f"GPU{index}" for index in range(count)]
    yield "\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
    for row, name in enumerate(names):
        cells = [
            " X " if row == other else f"NV{links}" if links else "SYS" for other in range(count)
        ]
        yield "\t".join([name, *cells, "0-47,96-143", "0", "N/A"])


def _bus_sections(instance: InstanceType, buses: list[str], lost: str | None) -> Iterator[Section]:
    yield "scope", ["pod"], 0
    ids = {bus: "ffffffff" if bus == lost else "de103023" for bus in buses}
    gpus = [
        f"0000:{bus}.0 device=0x2330 class=0x030200 id={answer} numa=0"
        for bus, answer in ids.items()
    ]
    yield "pci", gpus, 0
    devices = [f"0000:{16 + index:02x}:00.0 0xefa3" for index in range(instance.efa_interfaces)]
    yield "efa", devices, 0


def _host_sections(
    node: SimulatedNode, instance: InstanceType, buses: Sequence[str]
) -> Iterator[Section]:
    log = text("kernel_log.txt", {"driver": values()["driver"]})
    for kind in sorted(node.faults & XIDS.keys()):
        log += text(XIDS[kind], {"bus": buses[0]})
    yield "kernel-log", [*log, "lines read: 2146"], 0
    yield "memlock", ["unlimited"], 0
    usable = int(instance.memory_gib * KIB_PER_GIB * KERNELS_SHARE)
    yield "meminfo", text("meminfo.txt", {"memory": usable, "pages": HUGE_PAGES}), 0
    yield "nvme", list(_nvme(instance.local_nvme_gb)), 0
    yield "disks", text("disks.txt", {}), 0
    yield "mounts", text("mounts.txt", {}), 0
    yield "lustre", [], 0
    yield "imds", ["401"], 0


def _nvme(total_gb: int) -> Iterator[str]:
    yield f"nvme0n1 {100 * SECTORS_PER_GB} Amazon Elastic Block Store"
    count = -(-total_gb // LARGEST_DISK_GB)
    for disk in range(count):
        size = total_gb // count * SECTORS_PER_GB
        yield f"nvme{disk + 1}n1 {size} Amazon EC2 NVMe Instance Storage"


def _efa_sections(instance: InstanceType) -> Iterator[Section]:
    names = [f"rdmap{16 + index}s0" for index in range(instance.efa_interfaces)]
    offered = [
        line
        for name in names
        for kind in ("rdm", "dgrm")
        for line in text("fi_info.txt", {"name": name, "kind": kind})
    ]
    # Without a device libfabric ends with the number of its error, and says which it is.
    nothing = ["fi_getinfo: -61 (No data available)"]
    yield "provider", offered or nothing, 0 if offered else 61
    counters = [
        f"{name}/ports/1/hw_counters/{counter} 0"
        for counter in policy().host.efa_counters
        for name in names
    ]
    yield "efa-counters", counters, 0
    verbs = [f"device uverbs{index}" for index in range(instance.efa_interfaces)]
    modules = text("modules.txt", {})
    yield "modules", [*modules, *verbs], 0
    yield "mtu", text("mtu.txt", {}), 0


def _kernel_sections(node: SimulatedNode, instance: InstanceType) -> Iterator[Section]:
    known = values()
    yield "kernel", [known["kernel"]], 0
    yield "efa-driver", [known["efa_driver"]], 0
    source = "tsc" if instance.architecture == "x86_64" else "arch_sys_counter"
    yield "sysctl", text("sysctl.txt", {"clock": source}), 0
    versions = {key: known[key] for key in ("efa_installer", "libfabric", "image_os")}
    yield "versions", text("versions.txt", versions), 0
    yield "numa", list(_numa(instance)), 0
    digest = hashlib.sha256(node.name.encode()).hexdigest()[:17]
    facts = [f"product_name: {instance.name}", f"board_asset_tag: i-{digest}"]
    yield "machine", facts, 0


def _numa(instance: InstanceType) -> Iterator[str]:
    """Print the CPUs of two NUMA nodes: cores in halves, their second threads after all cores."""
    usual = policy().host.numa.get(instance.name)
    half, quarter = instance.vcpus // 2, instance.vcpus // 4
    made = (
        f"0-{quarter - 1},{half}-{half + quarter - 1}",
        f"{quarter}-{half - 1},{half + quarter}-{instance.vcpus - 1}",
    )
    for number, cpus in enumerate(usual or made):
        yield f"node{number} {cpus} {'10 32' if number == 0 else '32 10'}"
    yield f"online 0-{instance.vcpus - 1}"


def _identity(node: str, bus: str) -> tuple[str, str]:
    """Name a GPU by its place, the same at each run: UUID and serial number."""
    digest = hashlib.sha256(f"{node}/{bus}".encode()).hexdigest()
    parts = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])
    return f"GPU-{'-'.join(parts)}", str(int(digest[32:42], 16) + 10**12)


def _blocks(name: str, blocks: Sequence[Mapping[str, object]]) -> Iterator[str]:
    for block in blocks:
        yield from text(name, block)
