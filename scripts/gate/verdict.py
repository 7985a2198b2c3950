"""The verdict on a wave, as it is kept in a report and in the cluster."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self

from components.catalog.floors import Floor
from scripts.gate.stages import Effort, Measurement
from scripts.records.shelf import LARGEST
from scripts.text import names, words
from scripts.verdicts import Verdict

__all__ = [
    "SCHEMA",
    "Former",
    "NodeVerdict",
    "Replacement",
    "WaveVerdict",
    "after_replacement",
    "for_cluster",
]

SCHEMA: Final = 1
"""Version of the report's shape; raised when a field is renamed or taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVerdict:
    """What came of one node.

    ``check`` is the judged capture, with versions and GPU identities. ``place``: the network nodes
    above it, from the widest on.
    """

    name: str
    provider_id: str
    verdict: Verdict
    reason: str
    check: dict[str, Any] | None = None
    place: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "provider_id": self.provider_id,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "place": list(self.place),
            "check": self.check,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """A bad node whose instance was ended so that another comes: by which run, and why."""

    name: str
    provider_id: str
    reason: str
    run: str

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


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
    baselines: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    warnings: list[str] = field(default_factory=list[str])
    replaced: list[Replacement] = field(default_factory=list[Replacement])

    @property
    def places(self) -> dict[str, tuple[str, ...]]:
        """The network nodes above each node."""
        return {node.name: node.place for node in self.nodes}

    @property
    def effort(self) -> Effort:
        """Rounds and tests that were used."""
        return Effort.of(self.measured, self.node_tests)

    @property
    def line(self) -> str:
        """The verdict on one line."""
        step = f"; next: {self.next_step}" if self.next_step else ""
        told = f" ({words(len(self.warnings), 'warning')} in the report)" if self.warnings else ""
        return f"{self.verdict}: pool {self.pool} wave {self.wave}: {self.message}{told}{step}"

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
            "replaced": [each.as_json() for each in self.replaced],
            "warnings": self.warnings,
            "baselines": [dict(each) for each in self.baselines],
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """What came of a wave before bad nodes of it were replaced; ``run`` found the last of them."""

    run: str
    verdict: Verdict
    message: str
    replaced: tuple[Replacement, ...]

    @classmethod
    def of(cls, verdict: WaveVerdict, ordered: Mapping[str, str]) -> Self:
        """Return what counts of a verdict; ``ordered``: name -> provider id of who left then."""
        reasons = {node.name: node.reason for node in verdict.nodes}
        gone = (
            Replacement(name=name, provider_id=provider_id, reason=reasons[name], run=verdict.run)
            for name, provider_id in ordered.items()
        )
        return cls(
            run=verdict.run,
            verdict=verdict.verdict,
            message=verdict.message,
            replaced=(*verdict.replaced, *gone),
        )

    @property
    def left(self) -> list[str]:
        """Names of the nodes whose replacements are to be proved now."""
        return [each.name for each in self.replaced if each.run == self.run]


def for_cluster(verdict: WaveVerdict) -> dict[str, Any]:
    """Return the verdict small enough for a ConfigMap: captures stay in the report.

    Of thousands of nodes only those that are not open are told, or how many there are.
    """
    full = verdict.as_json()
    for node in full["nodes"]:
        del node["check"], node["place"]
    for each in full["baselines"]:
        each.pop("deltas", None)
    full["measurements"] = words(len(full["measurements"]), "measurement")
    out = [node for node in full["nodes"] if node["verdict"] != str(Verdict.PASS)]
    for nodes in (full["nodes"], out, words(len(full["nodes"]), "node")):
        full["nodes"] = nodes
        if len(json.dumps(full, indent=1)) <= LARGEST:
            break
    return full


def after_replacement(
    former: Former, then: WaveVerdict, trouble: str, first: WaveVerdict | None = None
) -> WaveVerdict:
    """Return the verdict on a wave of which bad nodes were replaced.

    It is the newer one. Only where the new nodes could not be judged, and the wave was open without
    them, it stays open: a replacement that does not come makes nothing worse.

    Parameters
    ----------
    then
        The verdict on the wave with what came in their place.
    trouble
        Why no other instance came, where that is known.
    first
        The whole verdict before; None in a run that was stopped since and goes on.
    """
    late = then.verdict is Verdict.UNKNOWN and former.verdict is Verdict.PASS
    kept = first if late and first else then
    if late:
        why = f"{then.message}; {trouble}" if trouble else then.message
        kept.verdict = Verdict.PASS
        kept.message = (
            f"{former.message}; {names(former.left)} left for replacement, which is not proved: "
            f"{why}"
        )
        kept.next_step = then.next_step
        kept.ended = then.ended
    kept.replaced = list(former.replaced)
    return kept


def _floor(floor: Floor) -> dict[str, Any]:
    return {
        "busbw_gbps": floor.busbw,
        "from_bytes": floor.from_bytes,
        "source": floor.source,
        "date": None if floor.confidence == "given" else floor.date.isoformat(),
        "confidence": floor.confidence,
    }
