"""Logs of the test data, and how to hold them against what was asked."""

from collections.abc import Iterable
from pathlib import Path

from components.catalog import instance_type
from scripts.nccl.expectation import Expectation, expect
from scripts.nccl.judge import Judgement, judge
from scripts.nccl.log import parse

DATA = Path(__file__).parents[1] / "data" / "nccl"

GOOD = "good_p5_2n_all_reduce.txt"


def text(name: str = GOOD) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def expected(
    nodes: int = 2,
    kind: str = "p5.48xlarge",
    collective: str = "all_reduce",
    floor: float | None = None,
    communicators: int = 1,
) -> Expectation:
    return expect(
        instance_type(kind),
        nodes,
        collective=collective,
        floor_gbps=floor,
        communicators=communicators,
    )


def judged(
    lines: str | Iterable[str],
    nodes: int = 2,
    kind: str = "p5.48xlarge",
    collective: str = "all_reduce",
    floor: float | None = None,
    communicators: int = 1,
) -> Judgement:
    """Judge a log, given as text or lines."""
    log = parse(lines.splitlines() if isinstance(lines, str) else lines)
    return judge(log, expected(nodes, kind, collective, floor, communicators))


def reasons(judgement: Judgement) -> list[str]:
    """All that speaks against a log, as shown to people."""
    return [str(found) for found in judgement.reasons]
