"""What simulated nodes print when they are checked: node captures and all-reduce logs.

Synthetic recordings in exact forms: no GPU, no EFA device and no NCCL stands behind them. Values
and texts live under ``recorded/``. Faults: ``gpu`` (one has fallen off the bus), ``link`` (an EFA
link is slow), ``socket`` (NCCL finds no EFA plugin, so the whole run uses sockets), ``dead`` (the
log breaks off).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from string import Template
from typing import Any

import yaml

from components.catalog import Accelerator, InstanceType, instance_type
from components.catalog.floors import GIB, floor
from scripts.nccl.bandwidth import factor
from scripts.node.capture import BEGIN, DONE, END, FIRST, OUTPUT
from scripts.node.profiles import profile

__all__ = ["SimulatedNode", "all_reduce_log", "node_check_log"]

RECORDED = Path(__file__).parent / "recorded"

GPU_IS_LOST = 15
"""Exit code of nvidia-smi (NVML_ERROR_GPU_IS_LOST)."""

HUGE_PAGES = 5128
"""Pages of 2 MiB that the EFA installer reserves."""

KIB_PER_GIB = 2**20


@dataclass(frozen=True)
class SimulatedNode:
    """A node of the embedded target, by what its answers depend on."""

    name: str
    instance_type: str
    faults: frozenset[str]
    machine: str = ""
    """The instance behind the name, by which its GPUs are known; the name itself when left out."""


def node_check_log(node: SimulatedNode) -> str:
    """Return what ``scripts/jobs/node_check.sh`` prints on this node."""
    instance = instance_type(node.instance_type)
    gpu = _accelerator(instance)
    buses: list[str] = _values()["buses"][: gpu.count]
    lost = buses[0] if "gpu" in node.faults else None
    answering = [bus for bus in buses if bus != lost]
    return "\n".join(
        [
            FIRST,
            *_gpu_sections(node, instance, answering, lost),
            *_host_sections(instance, lost),
            DONE,
            "",
        ]
    )


def _gpu_sections(
    node: SimulatedNode, instance: InstanceType, buses: list[str], lost: str | None
) -> Iterator[str]:
    values, links = _values(), profile(instance)
    product = values["products"][_accelerator(instance).name]
    code = GPU_IS_LOST if lost else 0
    gone = (
        [f"Unable to determine the device handle for GPU0: 0000:{lost}.0: Unknown Error"]
        if lost
        else []
    )
    machine = node.machine or node.name
    ids = [(index, bus, *_identity(machine, bus)) for index, bus in enumerate(buses)]
    version = f"{values['driver']}, {values['vbios']}"
    yield from _section(
        "gpus",
        [
            *gone,
            *(
                f"{index}, {product}, {uuid}, {serial}, 00000000:{bus.upper()}.0, {version}"
                for index, bus, uuid, serial in ids
            ),
        ],
        code,
    )
    blocks = [
        {
            "bus": f"00000000:{bus.upper()}.0",
            "product": product,
            "uuid": uuid,
            "serial": serial,
            "vbios": values["vbios"],
            "state": "Completed" if links.fabric == "reported" else "N/A",
            "status": "Success" if links.fabric == "reported" else "N/A",
        }
        for _, bus, uuid, serial in ids
    ]
    yield from _section("ecc", [*gone, *_blocks("gpu_ecc.txt", blocks)], code)
    yield from _section(
        "remapped", [*gone, *(f"{each['bus']}, No, No, 0" for each in blocks)], code
    )
    masks = [f"{index}, 0x0000000000000001" for index, *_ in ids]
    yield from _section("throttle", [*gone, "index, clocks_event_reasons.active", *masks], code)
    speed = values["nvlinks"].get(int(links.nvlink_gbps))
    lines = list(gone)
    for index, _, uuid, _ in ids:
        lines.append(f"GPU {index}: {product} (UUID: {uuid})")
        lines += [f"\t Link {link}: {speed}" for link in range(links.nvlinks)]
    yield from _section("nvlink", lines, code)
    yield from _section("fabric", [*gone, *_blocks("gpu_query.txt", blocks)], code)


def _host_sections(instance: InstanceType, lost: str | None) -> Iterator[str]:
    values = _values()
    log = _text("kernel_log.txt", {"driver": values["driver"]})
    if lost:
        log.append(
            f"[  913.207764] NVRM: Xid (PCI:0000:{lost}): 79, pid='<unknown>', name=<unknown>, "
            "GPU has fallen off the bus."
        )
    yield from _section("kernel-log", [*log, "lines read: 2146"])
    devices = [f"0000:{16 + index:02x}:00.0 0xefa3" for index in range(instance.efa_interfaces)]
    yield from _section("efa", devices)
    yield from _section("memlock", ["unlimited"])
    memory = {"memory": instance.memory_gib * KIB_PER_GIB, "pages": HUGE_PAGES}
    yield from _section("meminfo", _text("meminfo.txt", memory))
    yield from _section("kernel", [values["kernel"]])
    yield from _section("efa-driver", [values["efa_driver"]])


def all_reduce_log(nodes: Sequence[SimulatedNode], env: Mapping[str, str]) -> str:
    """Return what ``scripts/jobs/all_reduce.sh`` prints for ``nodes`` in rank order.

    ``env`` is the environment that ``scripts/gate/jobs.py`` gives the container; its GATE_BINARY
    says which collective that is, an all-reduce where it is not set.
    """
    instance = instance_type(nodes[0].instance_type)
    faults = frozenset(fault for node in nodes for fault in node.faults)
    hosts = [f"{env['GATE_JOB']}-{index}" for index in range(len(nodes))]
    low, high = int(env["GATE_MIN_BYTES"]), int(env["GATE_MAX_BYTES"])
    program = PurePosixPath(env.get("GATE_BINARY", "all_reduce_perf")).name
    lines = list(_banner(instance, hosts, (low, high), program))
    if "gpu" in faults:
        count = _accelerator(instance).count
        lines += [f"Invalid number of GPUs: {count} requested but only {count - 1} were found.", ""]
        return "\n".join(lines)
    lines += _messages(instance, hosts, sockets="socket" in faults)
    collective = program.removesuffix("_perf")
    rows = list(_rows(instance, len(nodes), (low, high), faults, collective))
    lines += _HEADER
    if "dead" in faults:
        return "\n".join([*lines, rows[0][0], rows[1][0][:70]])
    average = sum(busbw for _, busbw in rows) / len(rows)
    lines += [text for text, _ in rows]
    lines += [
        "# Out of bounds values : 0 OK",
        f"# Avg bus bandwidth    : {average:g} ",
        "#",
        f"# Collective test concluded: {program}",
        "#",
        "",
    ]
    return "\n".join(lines)


_HEADER = (
    "#",
    "#" + " " * 62 + "out-of-place                       in-place          ",
    "#       size         count      type   redop    root"
    + "     time   algbw   busbw  #wrong" * 2
    + " ",
    "#        (B)    (elements)                          "
    + "     (us)  (GB/s)  (GB/s)        " * 2
    + " ",
)


def _banner(
    instance: InstanceType, hosts: list[str], sizes: tuple[int, int], program: str
) -> Iterator[str]:
    values, gpu = _values(), _accelerator(instance)
    yield "# nccl-tests version 2.18.3 nccl-headers=23004 nccl-library=23004"
    yield f"# Collective test starting: {program}"
    low, high = sizes
    yield (
        f"# nThread 1 nGpus 1 minBytes {low} maxBytes {high} step: 2(factor) warmup iters: 5 "
        "iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0"
    )
    yield "#"
    yield "# Using devices"
    for position, host in enumerate(hosts):
        for device, bus in enumerate(values["buses"][: gpu.count]):
            yield (
                f"#  Rank {position * gpu.count + device:2d} Group  0 Pid {2310 + device:6d} on "
                f"{host:>10} device {device:2d} [0000:{bus}] {values['products'][gpu.name]}"
            )


def _messages(instance: InstanceType, hosts: list[str], *, sockets: bool) -> Iterator[str]:
    gpu, count = profile(instance), _accelerator(instance).count
    ranks = len(hosts) * count
    net = "Socket/0" if sockets else "Libfabric/0/GDRDMA" if gpu.gdrdma else "Libfabric/0"
    for position, host in enumerate(hosts):
        name = "nccl_sockets.txt" if sockets else "nccl_info.txt"
        yield from _text(name, {"host": host, "nics": instance.efa_interfaces})
        here = f"{host}:2310:2391 [0] NCCL INFO"
        if gpu.nvls:
            yield f"{here} NVLS multicast support is available on dev 0"
        if len(hosts) > 1:
            last = position * count + count - 1
            following = (last + 1) % ranks
            ends = f"{last}[{count - 1}] -> {following}[0]"
            yield f"{here} Channel 00/0 : {ends} [send] via NET/{net}"
            on = int(gpu.gdrdma and not sockets)
            yield f"{here} Connected all rings, use ring PXN 0 GDR {on}"


def _rows(
    instance: InstanceType,
    nodes: int,
    sizes: tuple[int, int],
    faults: frozenset[str],
    collective: str,
) -> Iterator[tuple[str, float]]:
    """Give the rows of a table; every collective answers with the curve of all_reduce."""
    ranks = nodes * _accelerator(instance).count
    ratio = factor(collective, ranks)
    # Sizes count the bytes of all ranks, but for all_reduce; what is gathered is not reduced.
    shares = 1 if collective == "all_reduce" else ranks
    redop = "sum" if collective in {"all_reduce", "reduce_scatter"} else "none"
    # An alltoall in place overwrites what it would be compared with.
    compared = "N/A" if collective == "alltoall" else "0"
    size, high = sizes
    while size <= high:
        busbw = _busbw(instance, nodes, size)
        if "socket" in faults:
            busbw = min(busbw, _values()["sockets"])
        if "link" in faults and nodes > 1:
            busbw *= _values()["slow_link"]
        # One rank moves nothing: its bus bandwidth is 0 by definition.
        half = _half(size, busbw / ratio if ratio else busbw, ratio)
        start = f"{size:12d}  {size // shares // 4:12d}     float  {redop:>6}      -1"
        yield f"{start}{half}  {0:6d}{half}  {compared:>6}", busbw
        size *= 2


def _half(size: int, algbw: float, ratio: float) -> str:
    time = size / algbw / 1e3
    return f"  {_number(time, 7)}  {_number(algbw, 6)}  {_number(algbw * ratio, 6)}"


def _number(value: float, width: int) -> str:
    """Print like ``getFloatStr`` of nccl-tests: fewer decimals as the width runs out."""
    digits = len(str(int(value)))
    decimals = max(0, min(2, width - 1 - digits))
    return f"{value:{width}.{decimals}f}"


def _busbw(instance: InstanceType, nodes: int, size: int) -> float:
    values = _values()
    curves: dict[int, dict[int, float]] = values["curves"].get(instance.name, {})
    if reached := [least for least in curves if least <= nodes]:
        curve = curves[max(reached)]
        return curve[max((gib for gib in curve if gib * GIB <= size), default=min(curve))]
    known = floor(instance.name, nodes)
    return known.busbw * values["above_floor"] if known else values["default_gbps"]


def _accelerator(instance: InstanceType) -> Accelerator:
    if instance.accelerator is None:
        raise ValueError(f"{instance.name} has no accelerator, so it has no answers")
    return instance.accelerator


def _identity(node: str, bus: str) -> tuple[str, str]:
    """Name a GPU by its place, the same at each run: UUID and serial number."""
    digest = hashlib.sha256(f"{node}/{bus}".encode()).hexdigest()
    parts = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])
    return f"GPU-{'-'.join(parts)}", str(int(digest[32:42], 16) + 10**12)


def _section(name: str, lines: Sequence[str], code: int = 0) -> list[str]:
    return [f"{BEGIN}{name}", *(f"{OUTPUT}{line}" for line in lines), f"{END}{name} rc={code}"]


def _blocks(name: str, blocks: Sequence[Mapping[str, object]]) -> Iterator[str]:
    for block in blocks:
        yield from _text(name, block)


def _text(name: str, values: Mapping[str, object]) -> list[str]:
    return Template(_read(name)).substitute(values).splitlines()


@cache
def _read(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@cache
def _values() -> dict[str, Any]:
    return yaml.safe_load(_read("platforms.yaml"))
