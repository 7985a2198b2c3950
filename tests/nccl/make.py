"""Logs of nccl-tests as every release prints them, made to order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from scripts.nccl.bandwidth import factor

__all__ = ["GIB", "Layout", "Run"]

GIB = 2**30

Layout = Literal["2.0", "2.9", "2.13", "2.18", "timestamps", "per_iteration"]

BYTES = {"float": 4, "half": 2, "bfloat16": 2, "f8e4m3": 1, "f8e5m2": 1, "int8": 1, "double": 8}
OF_ALL_RANKS = frozenset({"all_gather", "reduce_scatter", "alltoall"})
REDUCE = frozenset({"all_reduce", "reduce_scatter", "reduce"})


def p5_curve(size: int) -> float:
    """Return a bus bandwidth (GB/s) like that of two p5 nodes."""
    return 486.0 * size / (size + 0.12 * GIB)


@dataclass(kw_only=True)
class Run:
    """One run. ``wrong`` and ``busbw`` are by size; ``checked`` False is ``-c 0``."""

    hosts: Sequence[str] = ("p5-a", "p5-b")
    gpus: int = 8
    gpu: str = "NVIDIA H100 80GB HBM3"
    collective: str = "all_reduce"
    low: int = GIB
    high: int = 16 * GIB
    types: Sequence[str] = ("float",)
    layout: Layout = "2.18"
    busbw: Callable[[int], float] = p5_curve
    wrong: Mapping[int, str] = field(default_factory=dict)
    checked: bool = True
    nics: int = 32
    group_of: Callable[[int], int] = lambda _rank: 0
    first_pid: int = 2310

    @property
    def ranks(self) -> int:
        return len(self.hosts) * self.gpus

    @property
    def program(self) -> str:
        return f"{self.collective}_perf"

    @property
    def sizes(self) -> list[int]:
        sizes, size = list[int](), self.low
        while size <= self.high:
            sizes.append(size)
            size *= 2
        return sizes

    def text(self) -> str:
        """Return the whole log."""
        return "\n".join(self.lines()) + "\n"

    def lines(self) -> list[str]:
        rows = list(self.rows())
        return [*self.opening(), *self.messages(), *self.header(), *rows, *self.footer()]

    @property
    def modern(self) -> bool:
        return self.layout not in {"2.0", "2.9", "2.13"}

    def opening(self) -> Iterator[str]:
        if self.modern:
            yield "# nccl-tests version 2.18.3 nccl-headers=23004 nccl-library=23004"
            yield f"# Collective test starting: {self.program}"
        checks = f"validation: {int(self.checked)}"
        graph = "" if self.layout == "2.0" else "agg iters: 1 "
        banner = (
            f"nThread 1 nGpus 1 minBytes {self.low} maxBytes {self.high} step: 2(factor) "
            f"warmup iters: 5 iters: 20 {graph}{checks}"
        )
        yield banner if self.layout == "2.0" else f"# {banner} graph: 0"
        yield "# NCCL Tests compiled with NCCL 2.2" if self.layout == "2.0" else "#"
        yield "# Using devices"
        for rank in range(self.ranks):
            host, device = self.hosts[rank // self.gpus], rank % self.gpus
            yield self.device(rank, host, device)

    def device(self, rank: int, host: str, device: int) -> str:
        pid = f"Pid {self.first_pid + 7 * rank:6d} on {host:>10}"
        if self.modern:
            group = f"Group {self.group_of(rank):2d} "
            bus = f"[0000:{80 + device:02x}:00]"
            return f"#  Rank {rank:2d} {group}{pid} device {device:2d} {bus} {self.gpu}"
        if self.layout == "2.0":
            pid = f"on {host:>10}"
        return f"#   Rank {rank:2d} {pid} device {device:2d} [0x{80 + device:02x}] {self.gpu}"

    def messages(self) -> Iterator[str]:
        """Return what NCCL says on each host, enough to prove EFA."""
        for number, host in enumerate(self.hosts):
            here = f"{host}:2310:2391 [0] NCCL INFO"
            yield f"{here} NET/OFI Initializing aws-ofi-nccl 1.20.0"
            yield f"{here} NET/OFI Selected provider is efa, fabric is efa (found {self.nics} nics)"
            yield f"{here} Using network Libfabric"
            last = self.gpus * (number + 1) - 1
            ends = f"{last}[{self.gpus - 1}] -> {(last + 1) % self.ranks}[0]"
            yield f"{here} Channel 00/0 : {ends} [send] via NET/Libfabric/0/GDRDMA"

    def columns(self) -> list[str]:
        if self.layout == "2.0":
            return ["bytes", "N", "type", *(["op"] if self.collective in REDUCE else [])]
        extra = ["redop", "root"]
        if self.layout == "2.9":
            extra = extra[:1] if self.collective in REDUCE else []
        return ["size", "count", "type", *extra]

    def header(self) -> Iterator[str]:
        check = {"2.0": "res", "2.9": "error"}.get(self.layout, "#wrong")
        side = ["time", "algbw", "busbw", check]
        if self.layout == "per_iteration":
            side += ["i_min", "i_max", "i_p99", "i_cv%"]
        stamp = ["timestamp"] if self.layout == "timestamps" else []
        yield "#"
        yield "#" + " " * 60 + "out-of-place                       in-place"
        yield "# " + "  ".join(f"{word:>7}" for word in [*self.columns(), *side, *side, *stamp])
        yield "#        (B)    (elements)"

    def rows(self) -> Iterator[str]:
        for kind in self.types:
            for size in self.sizes:
                yield self.row(size, kind)

    def row(self, size: int, kind: str = "float") -> str:
        ranks = self.ranks if self.collective in OF_ALL_RANKS else 1
        count = size // BYTES[kind] // ranks
        names = {"redop": "sum" if self.collective in REDUCE else "none", "root": "-1", "op": "sum"}
        extra = "".join(f"  {names[word]:>6}" for word in self.columns()[3:])
        wrong = self.wrong.get(size, "0e+00" if self.layout in {"2.0", "2.9"} else "0")
        out = self.side(size, wrong if self.checked else "N/A")
        never = self.collective == "alltoall" and self.layout not in {"2.0", "2.9"}
        inside = self.side(size, "N/A" if never or not self.checked else wrong)
        stamp = "  2026-12-01 08:00:01" if self.layout == "timestamps" else ""
        return f"{size:12d}  {count:12d}  {kind:>8}{extra}{out}{inside}{stamp}"

    def side(self, size: int, wrong: str) -> str:
        ratio = factor(self.collective, self.ranks)
        busbw = self.busbw(size)
        algbw = busbw / ratio if ratio else busbw
        us = size / algbw / 1e3
        time = f"{us / 1e3:7.3f}" if self.layout == "2.0" else f"{us:7.2f}"
        more = "  4600.10  4700.20  4690.00     0.80" if self.layout == "per_iteration" else ""
        return f"  {time}  {algbw:6.2f}  {algbw * ratio:6.2f}  {wrong:>6}{more}"

    def footer(self) -> Iterator[str]:
        ratio = factor(self.collective, self.ranks)
        speeds = [self.busbw(size) if ratio else 0.0 for size in self.sizes]
        bad = len([size for size in self.sizes if self.wrong.get(size, "0") != "0"])
        start = "" if self.layout == "2.0" else "#"
        yield f"{start} Out of bounds values : {bad} {'FAILED' if bad else 'OK'}"
        yield f"{start} Avg bus bandwidth    : {sum(speeds) / len(speeds):g} "
        yield "#"
        if self.modern:
            yield f"# Collective test concluded: {self.program}"
            yield "#"
