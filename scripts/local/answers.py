"""What simulated nodes print when they are checked: captures, storage checks, runs of collectives.

Synthetic recordings in exact forms: no GPU, no EFA device and no NCCL stands behind them. Values
and texts live under ``recorded/``; ``target/faults.py`` has the kinds of faults and what each does.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from components.catalog import InstanceType, instance_type
from components.catalog.floors import GIB, floor
from scripts.gate.mpi import host_names
from scripts.local.node_answers import node_check_log
from scripts.local.recordings import SimulatedNode, accelerator, text, values
from scripts.local.storage_answers import storage_check_log
from scripts.nccl.bandwidth import factor
from scripts.node.profiles import profile

__all__ = [
    "SimulatedNode",
    "all_reduce_log",
    "answer",
    "node_check_log",
    "storage_check_log",
]

COLLECTIVES = "all-reduce"
"""The label of all runs of collectives, whichever."""


def answer(check: str, nodes: Sequence[SimulatedNode], env: Mapping[str, str]) -> str | None:
    """Return the log that speaks for a Job of the gate; None of a check that nobody knows.

    Parameters
    ----------
    check
        What its pods have as their label ``trainyard.dev/check``.
    nodes
        Where they run, in rank order.
    env
        The container's variables that stand in its specification.

    Raises
    ------
    KeyError
        If the container lacks a variable that the gate sets.
    """
    if check in {"node", "dcgm"}:
        only = env.get("CHECK_ONLY", "").split()
        return node_check_log(nodes[0], only, diagnostics=bool(env.get("CHECK_DCGM")))
    if check == "storage":
        return storage_check_log(nodes[0], env)
    return all_reduce_log(nodes, env) if check == COLLECTIVES else None


def all_reduce_log(nodes: Sequence[SimulatedNode], env: Mapping[str, str]) -> str:
    """Return what ``scripts/jobs/all_reduce.sh`` prints for ``nodes`` in rank order.

    ``env`` is the environment that ``scripts/gate/jobs.py`` gives the container; its GATE_BINARY
    says which collective that is, an all-reduce where it is not set.
    """
    instance = instance_type(nodes[0].instance_type)
    faults = frozenset(fault for node in nodes for fault in node.faults)
    hosts = host_names(env["GATE_JOB"], len(nodes))
    low, high = int(env["GATE_MIN_BYTES"]), int(env["GATE_MAX_BYTES"])
    program = PurePosixPath(env.get("GATE_BINARY", "all_reduce_perf")).name
    lines = list(_banner(instance, hosts, (low, high), program))
    if "gpu" in faults:
        count = accelerator(instance).count
        lines += [f"Invalid number of GPUs: {count} requested but only {count - 1} were found.", ""]
        return "\n".join(lines)
    lines += _messages(instance, nodes, hosts)
    collective = program.removesuffix("_perf")
    rows = list(_rows(instance, len(nodes), (low, high), faults, collective))
    lines += _HEADER
    if "dead" in faults:
        return "\n".join([*lines, rows[0][0], rows[1][0][:70]])
    if "hang" in faults and len(nodes) > 1:
        silence = f"gate: no output for {env.get('GATE_SILENT_SECONDS', SILENT_SECONDS)} s; stopped"
        return "\n".join([*lines, rows[0][0], silence, STOPPED, ""])
    average = sum(busbw for _, busbw in rows) / len(rows)
    lines += [text for text, _ in rows]
    bounds = f"{len(rows)} FAILED" if "wrong" in faults else "0 OK"
    lines += [
        f"# Out of bounds values : {bounds}",
        f"# Avg bus bandwidth    : {average:g} ",
        "#",
        f"# Collective test concluded: {program}",
        "#",
        "",
    ]
    return "\n".join(lines)


SILENT_SECONDS = "180"
STOPPED = "gate: mpirun ended with exit code 143"
"""What the script prints at its end when its watchdog has stopped a program that fell silent."""

WRONG = 3
"""Elements of each row that are not what they must be."""

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
    instance: InstanceType, hosts: Sequence[str], sizes: tuple[int, int], program: str
) -> Iterator[str]:
    known, gpu = values(), accelerator(instance)
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
        for device, bus in enumerate(known["buses"][: gpu.count]):
            yield (
                f"#  Rank {position * gpu.count + device:2d} Group  0 Pid {2310 + device:6d} on "
                f"{host:>10} device {device:2d} [0000:{bus}] {known['products'][gpu.name]}"
            )


def _messages(
    instance: InstanceType, nodes: Sequence[SimulatedNode], hosts: Sequence[str]
) -> Iterator[str]:
    gpu, count = profile(instance), accelerator(instance).count
    ranks = len(hosts) * count
    sockets = any("socket" in node.faults for node in nodes)
    net = "Socket/0" if sockets else "Libfabric/0/GDRDMA" if gpu.gdrdma else "Libfabric/0"
    for position, (node, host) in enumerate(zip(nodes, hosts, strict=True)):
        name = "nccl_sockets.txt" if sockets else "nccl_info.txt"
        nics = instance.efa_interfaces - ("nic" in node.faults)
        yield from text(name, {"host": host, "nics": nics})
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
    ranks = nodes * accelerator(instance).count
    ratio = factor(collective, ranks)
    # Sizes count the bytes of all ranks, but for all_reduce; what is gathered is not reduced.
    shares = 1 if collective == "all_reduce" else ranks
    redop = "sum" if collective in {"all_reduce", "reduce_scatter"} else "none"
    wrong = WRONG if "wrong" in faults else 0
    # An alltoall in place overwrites what it would be compared with.
    compared = "N/A" if collective == "alltoall" else str(wrong)
    share = _share(instance, nodes, faults)
    size, high = sizes
    while size <= high:
        busbw = _busbw(instance, nodes, size) * share
        if "socket" in faults:
            busbw = min(busbw, values()["sockets"])
        # One rank moves nothing: its bus bandwidth is 0 by definition.
        half = _half(size, busbw / ratio if ratio else busbw, ratio)
        start = f"{size:12d}  {size // shares // 4:12d}     float  {redop:>6}      -1"
        yield f"{start}{half}  {wrong:6d}{half}  {compared:>6}", busbw
        size *= 2


def _share(instance: InstanceType, nodes: int, faults: frozenset[str]) -> float:
    """Give what is left of the bandwidth between so many nodes."""
    known = values()
    if "nvlink-slow" in faults and nodes == 1 and profile(instance).nvlinks:
        return known["slow_nvlink"]
    slow = ("link" in faults and nodes > 1) or ("scale" in faults and nodes >= known["large_group"])
    return known["slow_link"] if slow else 1.0


def _half(size: int, algbw: float, ratio: float) -> str:
    time = size / algbw / 1e3
    return f"  {_number(time, 7)}  {_number(algbw, 6)}  {_number(algbw * ratio, 6)}"


def _number(value: float, width: int) -> str:
    """Print like ``getFloatStr`` of nccl-tests: fewer decimals as the width runs out."""
    digits = len(str(int(value)))
    decimals = max(0, min(2, width - 1 - digits))
    return f"{value:{width}.{decimals}f}"


def _busbw(instance: InstanceType, nodes: int, size: int) -> float:
    known = values()
    curves: dict[int, dict[int, float]] = known["curves"].get(instance.name, {})
    if reached := [least for least in curves if least <= nodes]:
        curve = curves[max(reached)]
        return curve[max((gib for gib in curve if gib * GIB <= size), default=min(curve))]
    least = floor(instance.name, nodes)
    return least.busbw * known["above_floor"] if least else known["default_gbps"]
