"""What a gate is asked to prove, and by which clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from components.catalog import InstanceType
from scripts.gate.sweep import FULL_SWEEP
from scripts.gate.verdict import Former

__all__ = ["Clock", "Request", "kept_name"]


def kept_name(pool: str, wave: str) -> str:
    """Return the name of the last verdict on a wave, in the cluster and of its report."""
    return f"gate-{pool}-{wave}"


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, so that tests need not wait for it."""

    now: Callable[[], datetime] = lambda: datetime.now(tz=UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be proved. ``timeout`` (seconds) bounds the whole run.

    Parameters
    ----------
    nodes
        How many nodes the wave was made with.
    floor_gbps
        The floor for all_reduce, instead of the catalog's.
    again
        Also prove nodes that passed before, as long as nothing runs on them.
    collectives
        What the wave must pass as a whole.
    dcgm
        Level of DCGM's diagnostics on every node, 1 to 4; 0 runs none.
    dcgm_image
        An image with ``dcgmi``, by digest, where the gate's has none.
    storage_claim
        Claim of the shared file system in the gate's namespace; empty checks no storage.
    storage_mbps
        What that file system sells to all its clients together, MB/s; None where nobody said.
    queue
        LocalQueue that the gate's Jobs wait in; None goes past Kueue.
    regression
        Whether it is a run of the schedule: idle nodes only, at the lowest priority.
    former
        What came of the wave before, when this run proves what replaces bad nodes of it.
    without
        Provider ids of machines that are about to go, and are not of the wave any more: others are
        to come in their place.
    ready_within
        Seconds that nodes may take to be Ready; None for the whole time.
    """

    run: str
    pool: str
    wave: str
    nodes: int
    instance: InstanceType
    image: str
    namespace: str
    timeout: float
    floor_gbps: float | None = None
    again: bool = False
    collectives: tuple[str, ...] = FULL_SWEEP
    dcgm: int = 0
    dcgm_image: str | None = None
    storage_claim: str = ""
    storage_mbps: float | None = None
    queue: str | None = None
    regression: bool = False
    former: Former | None = None
    without: frozenset[str] = frozenset()
    ready_within: float | None = None

    @property
    def name(self) -> str:
        """Name of what the gate of this wave keeps in the cluster."""
        return kept_name(self.pool, self.wave)

    @property
    def place(self) -> str:
        """Value of the label on all that belongs to the gate of this wave."""
        return f"{self.pool}-{self.wave}"

    def same(self, other: "Request") -> bool:
        """Tell whether another run was asked for the same, though perhaps in another time.

        A run that proves what replaces bad nodes belongs to the one that found them.
        """
        like = replace(
            self,
            run=other.run,
            timeout=other.timeout,
            former=other.former,
            without=other.without,
            ready_within=other.ready_within,
            again=self.again and not other.without,
        )
        return like == other
