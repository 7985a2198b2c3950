"""What ``scripts/jobs/node_check.sh`` prints on a simulated node."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from components.catalog import InstanceType, instance_type
from scripts.local.recordings import SimulatedNode, accelerator, text, values
from scripts.node.capture import BEGIN, DONE, END, FIRST, OUTPUT
from scripts.node.profiles import policy, profile

__all__ = ["node_check_log"]

GPU_IS_LOST = 15
"""Exit code of nvidia-smi (NVML_ERROR_GPU_IS_LOST)."""

HUGE_PAGES = 5128
"""Pages of 2 MiB that the EFA installer reserves."""

KIB_PER_GIB = 2**20
SECTORS_PER_GB = 10**9 // 512
LARGEST_DISK_GB = 3800
KERNELS_SHARE = 0.98
"""What is left of a machine's memory when firmware and kernel have taken theirs."""

Section = tuple[str, Sequence[str], int]


def node_check_log(node: SimulatedNode) -> str:
    """Return the stream of the node check on this node."""
    instance = instance_type(node.instance_type)
    buses: list[str] = values()["buses"][: accelerator(instance).count]
    lost = buses[0] if "gpu" in node.faults else None
    answering = [bus for bus in buses if bus != lost]
    sections = [
        *_gpu_sections(node, instance, answering, lost),
        *_bus_sections(instance, buses, lost),
        *_host_sections(instance, lost),
        *_efa_sections(instance),
        *_kernel_sections(node, instance),
    ]
    done = " ".join([DONE, *(f"{name}={len(lines)}" for name, lines, _ in sections)])
    return "\n".join([FIRST, *(line for each in sections for line in _stream(*each)), done, ""])


def _stream(name: str, lines: Sequence[str], code: int) -> list[str]:
    return [f"{BEGIN}{name}", *(f"{OUTPUT}{line}" for line in lines), f"{END}{name} rc={code}"]


def _gpu_sections(
    node: SimulatedNode, instance: InstanceType, buses: list[str], lost: str | None
) -> Iterator[Section]:
    known, links = values(), profile(instance)
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
    blocks = [
        {
            "bus": f"00000000:{bus.upper()}.0",
            "product": product,
            "uuid": uuid,
            "serial": serial,
            "vbios": known["vbios"],
            "state": "Completed" if links.fabric == "reported" else "N/A",
            "status": "Success" if links.fabric == "reported" else "N/A",
        }
        for _, bus, uuid, serial in ids
    ]
    yield "ecc", [*gone, *_blocks("gpu_ecc.txt", blocks)], code
    yield "remapped", [*gone, *(f"{each['bus']}, No, No, 0" for each in blocks)], code
    yield "retired", [*gone, *(f"{index}, [N/A], [N/A], [N/A]" for index, *_ in ids)], code
    one = f"Enabled, Disabled, {known['power_limit']}, {known['max_clock']}, 32"
    yield "settings", [*gone, *(f"{index}, {one}" for index, *_ in ids)], code
    masks = [f"{index}, 0x0000000000000001" for index, *_ in ids]
    yield "throttle", [*gone, "index, clocks_event_reasons.active", *masks], code
    yield "pcie", [*gone, *(f"{index}, 16, 16, 5, 5" for index, *_ in ids)], code
    speed = known["nvlinks"].get(int(links.nvlink_gbps))
    heads = [f"GPU {index}: {product} (UUID: {uuid})" for index, _, uuid, _ in ids]
    up = [f"\t Link {link}: {speed}" for link in range(links.nvlinks)]
    clean = [line for link in range(links.nvlinks) for line in _no_errors(link)]
    yield "nvlink", [*gone, *(line for head in heads for line in (head, *up))], code
    yield "nvlink-errors", [*gone, *(line for head in heads for line in (head, *clean))], code
    yield "topology", [*gone, *_matrix(len(ids), links.nvlinks)], code
    yield "fabric", [*gone, *_blocks("gpu_query.txt", blocks)], code


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


def _host_sections(instance: InstanceType, lost: str | None) -> Iterator[Section]:
    log = text("kernel_log.txt", {"driver": values()["driver"]})
    if lost:
        log.append(
            f"[  913.207764] NVRM: Xid (PCI:0000:{lost}): 79, pid='<unknown>', name=<unknown>, "
            "GPU has fallen off the bus."
        )
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
