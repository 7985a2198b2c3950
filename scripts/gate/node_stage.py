"""A check of each node by itself: one Job a node, all of them side by side."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scripts.gate.jobs import GateJob, JobMaker
from scripts.node.judge import NodeJudgement

__all__ = ["NodeStage"]


@dataclass(frozen=True, slots=True)
class NodeStage:
    """How nodes are checked at one stage.

    Parameters
    ----------
    name
        ``static``, ``dcgm`` or ``storage``; reports and the live table say it.
    letters
        How the labels of Jobs begin, at the first and at the second try.
    seconds
        How long one Job may take.
    make
        Makes the Job from the maker, a label, a node and its seconds.
    read
        Judges the lines of its log.
    """

    name: str
    letters: tuple[str, str]
    seconds: float
    make: Callable[[JobMaker, str, str, float], GateJob]
    read: Callable[[GateJob, Iterable[str]], NodeJudgement]
