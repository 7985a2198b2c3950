"""The verdict on a wave, as it is kept in a report and in the cluster."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from components.catalog.floors import Floor
from scripts.gate.stages import Effort, Measurement
from scripts.nccl.text import words
from scripts.verdicts import Verdict

__all__ = ["SCHEMA", "NodeVerdict", "WaveVerdict", "for_cluster"]

SCHEMA: Final = 1
"""Version of the report's shape; raised when a field is renamed or taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVerdict:
    """What came of one node. ``check`` is the judged capture, with versions and GPU identities."""

    name: str
    provider_id: str
    verdict: Verdict
    reason: str
    check: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "provider_id": self.provider_id,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "check": self.check,
        }


@dataclass(slots=True, kw_only=True)
class WaveVerdict:
    """What came of a wave. Its nodes have verdicts of their own: a good wave may leave some out."""

    run: str
    pool: str
    wave: str
    instance_type: str
    image: str
    asked: int
    started: datetime
    ended: datetime | None = None
    verdict: Verdict = Verdict.UNKNOWN
    message: str = "the gate did not come to an end"
    next_step: str = ""
    nodes: list[NodeVerdict] = field(default_factory=list[NodeVerdict])
    measured: list[Measurement] = field(default_factory=list[Measurement])
    floors: dict[str, Floor] = field(default_factory=dict[str, Floor])
    node_tests: int = 0

    @property
    def effort(self) -> Effort:
        """Rounds and tests that were used."""
        return Effort.of(self.measured, self.node_tests)

    @property
    def line(self) -> str:
        """The verdict on one line."""
        step = f"; next: {self.next_step}" if self.next_step else ""
        return f"{self.verdict}: pool {self.pool} wave {self.wave}: {self.message}{step}"

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "schema": SCHEMA,
            "run": self.run,
            "pool": self.pool,
            "wave": self.wave,
            "instance_type": self.instance_type,
            "image": self.image,
            "nodes_asked": self.asked,
            "started": self.started.isoformat(),
            "ended": self.ended.isoformat() if self.ended else None,
            "verdict": str(self.verdict),
            "message": self.message,
            "next_step": self.next_step,
            "effort": self.effort.as_json(),
            "nodes": [node.as_json() for node in self.nodes],
            "measurements": [
                {
                    "round": each.round,
                    "stage": str(each.stage),
                    "collective": each.collective,
                    "nodes": list(each.nodes),
                    **each.judgement.as_json(),
                }
                for each in self.measured
            ],
            "floors": {shape: _floor(floor) for shape, floor in self.floors.items()},
        }


def for_cluster(verdict: WaveVerdict) -> dict[str, Any]:
    """Return the verdict small enough for a ConfigMap (1 MiB): captures stay in the report."""
    full = verdict.as_json()
    for node in full["nodes"]:
        del node["check"]
    full["measurements"] = words(len(full["measurements"]), "measurement")
    return full


def _floor(floor: Floor) -> dict[str, Any]:
    return {
        "busbw_gbps": floor.busbw,
        "from_bytes": floor.from_bytes,
        "source": floor.source,
        "date": None if floor.confidence == "given" else floor.date.isoformat(),
        "confidence": floor.confidence,
    }
