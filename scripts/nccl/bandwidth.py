"""Judges bandwidth, size by size: never by the average, which mixes latency-bound sizes in."""

from collections.abc import Iterator
from itertools import pairwise

from components.catalog.floors import GIB
from scripts.nccl.expectation import GIVEN_FROM_BYTES, Expectation
from scripts.nccl.fabric import NO_NVLS
from scripts.nccl.record import Log
from scripts.nccl.table import Columns, Row, Side
from scripts.text import size, sizes, words
from scripts.verdicts import Finding, Verdict

__all__ = ["DIP", "DIP_FROM_BYTES", "curve", "factor", "findings", "lowest"]

DIP = 0.8
"""Every published curve rises with the size; falling to less than this share is a fault."""

DIP_FROM_BYTES = GIB
"""Below, algorithms change with the size, and curves may step."""

ROUNDING = 0.015
COARSE_ROUNDING = 0.06
COARSE_FROM_US = 1e7
"""Times from here on are printed with two digits."""

LAST_DIGIT = 0.011

HALF_A_STEP_US = 0.6
"""The first releases print three digits of a millisecond."""

AVERAGE_ROUNDING = 0.005

FULL = frozenset({"all_gather", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter"})


def factor(collective: str, ranks: int) -> float:
    """Return bus bandwidth over algorithm bandwidth, as nccl-tests computes it."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if collective in FULL else 1.0


def lowest(log: Log, expected: Expectation) -> float | None:
    """Return the lowest bus bandwidth in the window of the floor, GB/s."""
    return min((row.busbw for row in _window(log, expected)), default=None)


def curve(log: Log) -> tuple[tuple[int, float], ...]:
    """Return the lowest bus bandwidth (GB/s) of each message size (bytes), rising in size."""
    slowest: dict[int, float] = {}
    for table in log.tables:
        for row in table.rows:
            slowest[row.size] = min(row.busbw, slowest.get(row.size, row.busbw))
    return tuple(sorted(slowest.items()))


def findings(log: Log, expected: Expectation) -> Iterator[Finding]:
    """Judge every row in the window, if the table can be trusted at all."""
    if len(log.tables) != 1 or log.misread:
        return
    table = log.tables[0]
    if expected.ranks_together == 1:
        yield Finding(
            "bandwidth",
            Verdict.UNKNOWN,
            "one rank has nobody to talk to: bus bandwidth is 0 by definition",
            "judge a run of two GPUs or more",
        )
        return
    if table.columns.cputime:
        yield Finding(
            "bandwidth",
            Verdict.UNKNOWN,
            "the times are of the CPU (-C 1), and no bandwidth follows from them",
            "run without -C",
            (table.line,),
        )
        return
    if odd := [row for row in table.rows if not _adds_up(row, expected, table.columns)]:
        yield Finding(
            "bandwidth",
            Verdict.UNKNOWN,
            f"size, time and bandwidth do not belong together at {sizes(r.size for r in odd)}",
            f"check that this is {expected.collective} of {expected.ranks} ranks, unedited",
            tuple(row.line for row in odd[:8]),
        )
        return
    yield from _average(log)
    yield from _against_floor(log, expected)
    yield from _dips(log)


def _window(log: Log, expected: Expectation) -> list[Row]:
    start = expected.floor.from_bytes if expected.floor else GIVEN_FROM_BYTES
    return [row for table in log.tables for row in table.rows if row.size >= start]


def _against_floor(log: Log, expected: Expectation) -> Iterator[Finding]:
    floor = expected.floor
    shape = f"{expected.collective} on {words(expected.nodes, 'node')} of {expected.instance_type}"
    if floor is None:
        yield Finding(
            "bandwidth",
            Verdict.UNKNOWN,
            f"no floor is known for {shape}: bandwidth was not judged",
            "give one with --floor, from a run that you trust",
        )
        return
    window = _window(log, expected)
    start = size(floor.from_bytes)
    if not window:
        yield Finding(
            "bandwidth",
            Verdict.UNKNOWN,
            f"no size from {start} on was run, and {shape} is judged from there",
            f"run with -e {floor.from_bytes // GIB}G or more",
        )
        return
    slow = [row for row in window if row.busbw < floor.busbw]
    if slow:
        rows = ", ".join(f"{row.busbw:g} GB/s at {size(row.size)}" for row in slow[:4])
        cause = f"; {NO_NVLS}" if log.transport.no_nvls and expected.nvls else ""
        yield Finding(
            "bandwidth",
            Verdict.FAIL,
            f"{rows}: below the floor of {floor.busbw:g} GB/s for {shape} from {start} on "
            f"({floor.source}; confidence {floor.confidence}){cause}",
            "test the nodes in pairs to find the slow one",
            tuple(row.line for row in slow),
        )


def _average(log: Log) -> Iterator[Finding]:
    """Hold the footer's average against the rows; it says nothing else that is worth judging."""
    measured = [side.busbw for row in log.tables[0].rows for side in row.sides]
    for footer in log.averages if measured else ():
        mean = sum(measured) / len(measured)
        if not abs(footer.value - mean) <= AVERAGE_ROUNDING * mean + LAST_DIGIT:
            yield Finding(
                "bandwidth",
                Verdict.UNKNOWN,
                f"the footer's average is {footer.value:g} GB/s and that of the rows {mean:g}: "
                "rows were lost or changed",
                "give the output as it was written",
                (footer.line,),
            )


def _dips(log: Log) -> Iterator[Finding]:
    rows = [row for row in log.tables[0].rows if row.size >= DIP_FROM_BYTES]
    for smaller, row in pairwise(rows):
        if row.kind == smaller.kind and row.busbw < smaller.busbw * DIP:
            yield Finding(
                "bandwidth",
                Verdict.FAIL,
                f"{row.busbw:g} GB/s at {size(row.size)} after {smaller.busbw:g} at "
                f"{size(smaller.size)}: a larger message may lose {1 - DIP:.0%} at most",
                "run it again; if it stays, test the nodes in pairs",
                (smaller.line, row.line),
            )


def _adds_up(row: Row, expected: Expectation, columns: Columns) -> bool:
    ratio = factor(expected.collective, expected.ranks_together)
    step = HALF_A_STEP_US if columns.milliseconds else 0
    return all(_side_adds_up(row.size, side, ratio, step) for side in row.sides)


def _side_adds_up(size: int, side: Side, ratio: float, step: float) -> bool:
    if side.time_us == 0:
        return False
    rounding = COARSE_ROUNDING if side.time_us >= COARSE_FROM_US else ROUNDING
    rounding += step / side.time_us
    algbw = size / side.time_us / 1e3
    return _near(side.algbw, algbw, rounding) and _near(side.busbw, algbw * ratio, rounding)


def _near(printed: float, computed: float, rounding: float) -> bool:
    return abs(printed - computed) <= rounding * computed + LAST_DIGIT
