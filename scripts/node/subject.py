"""What a capture is held against: the type, what was asked beside it, and an earlier capture."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from components.catalog import Accelerator, InstanceType
from scripts.node.capture import Capture, Section
from scripts.node.finding import NodeFinding
from scripts.node.profiles import Profile

__all__ = ["Check", "Findings", "Subject"]

Findings = Iterator[NodeFinding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A node of a type. ``mounts`` are where Lustre must be mounted.

    ``before`` is an earlier capture of the same node: counters are then judged by their growth.
    """

    instance: InstanceType
    accelerator: Accelerator
    gpu: Profile
    on_host: bool = False
    mounts: tuple[str, ...] = ()
    before: Capture | None = None

    @property
    def gpus(self) -> int:
        """How many GPUs it has."""
        return self.accelerator.count


@dataclass(frozen=True, slots=True)
class Check:
    """A check of one section.

    ``any_code``: the command says by its exit code what it found, so that another code than 0 is no
    error. ``host_only``: it can only be made on the node itself. ``optional``: the section may be
    absent, and then nothing was checked.
    """

    section: str
    look: Callable[[Section, Subject], Findings]
    applies: Callable[[Subject], bool] = lambda _node: True
    any_code: bool = False
    host_only: bool = False
    optional: bool = False
