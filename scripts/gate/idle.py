"""Which nodes a test of the schedule takes: those that nobody uses, and only if they can be judged.

A gate shuts what it tests. So a node is not taken where the test could come to no verdict on it:
it would be lost to jobs, and nothing be known. Pure.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scripts.gate.ports import NodeState
from scripts.text import words

__all__ = ["Idle", "idle"]


@dataclass(frozen=True, slots=True)
class Idle:
    """What a test of the schedule takes.

    ``tested`` are the nodes to test, ``shut`` those of them that are open and must be shut first,
    both in order of name. ``message`` says why nothing is tested; it is empty otherwise.
    """

    tested: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()
    message: str = ""


def idle(members: Sequence[NodeState], busy: Collection[str], partners: int, asked: int) -> Idle:
    """Return what a test of the schedule takes of a wave; to take nothing is no fault.

    Parameters
    ----------
    members
        The nodes of the wave.
    busy
        Those on which a job runs.
    partners
        How many open nodes of other waves could be borrowed.
    asked
        How many nodes the wave was made with.

    Nodes that are not Ready are left out: the schedule waits for nobody. Nodes that are Ready and
    not open, such as one that EC2 has put in the place of another, are taken as well.
    """
    ready = sorted((node for node in members if node.ready), key=lambda node: node.name)
    free = [node for node in ready if not (node.passed and node.name in busy)]
    if not free:
        return Idle(message=f"nothing to test: {_taken(ready, busy, asked)}")
    if len(free) == 1 < asked and not partners:
        return Idle(
            message=(
                f"nothing to test: only {free[0].name} is idle, and it has no other node to meet; "
                f"{_taken(ready, busy, asked)}"
            )
        )
    return Idle(
        tested=tuple(node.name for node in free),
        shut=tuple(node.name for node in free if node.passed),
    )


def _taken(ready: Sequence[NodeState], busy: Collection[str], asked: int) -> str:
    used = sum(node.name in busy for node in ready)
    text = f"jobs run on {used} of {words(asked, 'node')}"
    absent = asked - len(ready)
    return (
        f"{text}, and {absent} {'is' if absent == 1 else 'are'} not Ready" if absent > 0 else text
    )
