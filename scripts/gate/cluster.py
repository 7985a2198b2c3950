"""The gate's cluster on a real Kubernetes API."""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from scripts.gate.absence import is_ready
from scripts.gate.api import Api
from scripts.gate.jobs import POOL_LABEL, TAINT, WAVE_LABEL, GateJob
from scripts.gate.lending import NOBODY, lend, lent_to_other, take_back
from scripts.gate.objects import Manifest, items, labels, mapping
from scripts.gate.pods import holds_gpus
from scripts.gate.ports import SHUT_AGAIN, Condition, JobResult, Mark, NodeState, Progress, ignore
from scripts.gate.runner import JOB_KINDS, Runner

__all__ = ["GATE_LABEL", "REASON", "KubeCluster", "node_change", "node_state"]

T = TypeVar("T")

GATE_LABEL: Final = "trainyard.dev/gate"
REASON: Final = "trainyard.dev/gate-reason"
TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
PLACE_LABELS: Final = tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3))
"""Network nodes above an instance, from the widest on; EC2 tells them for P and Trn only."""

DOMAIN: Final = "/"
"""Extended resources have a domain before their name, the built-in ones have none."""

REASON_LENGTH: Final = 1000


class KubeCluster:
    """Speaks to the API; every call outlives a restart of the API server."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        progress: Progress,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._progress = progress
        self._runner = Runner(api, progress, monotonic, sleep)
        self._ran = False

    def nodes(self, pool: str) -> list[NodeState]:
        """Return the nodes of a pool, in order of name."""
        found = [node_state(node) for node in self._api.list("Node", {POOL_LABEL: pool})]
        return sorted(found, key=lambda node: node.name)

    def busy(self, names: Collection[str]) -> set[str]:
        """Return those with a pod that holds GPUs and is no gate's, or that a gate has borrowed."""
        pods, now = self._api.list("Pod", everywhere=True), datetime.now(tz=UTC)
        used = {mapping(pod, "spec").get("nodeName", "") for pod in pods if holds_gpus(pod)}
        lent = {
            node["metadata"]["name"]
            for node in self._api.list("Node")
            if lent_to_other(node, NOBODY, now)
        }
        return (used | lent).intersection(names)

    def create(self, manifests: Sequence[Manifest]) -> None:
        """Create objects; what exists already is left as it is."""
        self._runner.create(manifests)

    def run(
        self,
        jobs: Sequence[GateJob],
        seconds: float,
        read: Callable[[GateJob, Iterable[str]], T],
        seen: Callable[[GateJob, JobResult[T]], None] = ignore,
    ) -> dict[str, JobResult[T]]:
        """Run Jobs side by side, read the log that speaks for each, and delete them.

        Before the first of them go those that a gate has left which was stopped between two rounds.
        """
        if not self._ran:
            self._runner.forget_other_rounds(jobs)
            self._ran = True
        return self._runner.run(jobs, seconds, read, seen)

    def borrow(self, names: Sequence[str], most: int, run: str, seconds: float) -> set[str]:
        """Borrow open nodes for a run by a note on each; who was quicker keeps it."""
        borrowed: set[str] = set()
        for name in names:
            if len(borrowed) >= most:
                break
            if self._api.change_node(name, lambda node: _loan(node, run, seconds)):
                borrowed.add(name)
        return borrowed

    def give_back(self, names: Collection[str], run: str) -> None:
        """Take the notes of a run off these nodes."""
        for name in names:
            self._api.change_node(name, lambda node: take_back(node, run))

    def mark(self, name: str, mark: Mark, reason: str) -> None:
        """Write the mark on a node, and open or shut it."""
        if not self._api.change_node(name, lambda node: node_change(node, mark, reason)):
            self._progress(f"{name} is gone, so it was not marked")

    def store(self, name: str, verdict: Mapping[str, Any]) -> None:
        """Keep a verdict as a ConfigMap of this name."""
        data = {"verdict": verdict["verdict"], "verdict.json": json.dumps(verdict, indent=1)}
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self._namespace},
            "data": data,
        }
        if not self._api.create(manifest):
            self._api.merge("ConfigMap", name, {"data": data})

    def clean(self, selector: Mapping[str, str]) -> None:
        """Delete all Jobs and MPIJobs with these labels, and what they own.

        Raises
        ------
        UsageError
            If the cluster knows no MPIJobs.
        """
        for kind in JOB_KINDS:
            self._api.delete_all(kind, selector)


def node_state(node: Manifest) -> NodeState:
    """Read what the gate needs to know of a Node object."""
    known = labels(node)
    conditions = items(node, "status", "conditions")
    tainted = any(taint["key"] == TAINT for taint in items(node, "spec", "taints"))
    reason: str = mapping(node, "metadata", "annotations").get(REASON, "")
    return NodeState(
        name=node["metadata"]["name"],
        instance_type=known.get(TYPE_LABEL, "unknown"),
        provider_id=mapping(node, "spec").get("providerID", ""),
        wave=known.get(WAVE_LABEL, ""),
        ready=is_ready(node),
        passed=known.get(GATE_LABEL) == Mark.OPEN.value and not tainted,
        was_open=tainted and reason.startswith(f"{Mark.HOLD.value}: {SHUT_AGAIN}"),
        devices=_devices(mapping(node, "status").get("allocatable", {})),
        place=tuple(known[label] for label in PLACE_LABELS if label in known),
        conditions={
            each["type"]: Condition(each["status"], each.get("reason", ""), each.get("message", ""))
            for each in conditions
        },
    )


def _devices(offered: Mapping[str, str]) -> dict[str, int]:
    """Return the extended resources among what a node offers; these are whole numbers."""
    return {name: int(count) for name, count in offered.items() if DOMAIN in name}


def node_change(node: Manifest, mark: Mark, reason: str) -> Manifest:
    """Return the merge patch that writes ``mark``; its resource version lets no change get lost.

    Only the gate's own taint is touched. A cordon is taken back only where an earlier gate had
    failed the node: a person's cordon stays.
    """
    others = [taint for taint in items(node, "spec", "taints") if taint["key"] != TAINT]
    ours = {"key": TAINT, "value": "true", "effect": "NoSchedule"}
    failed_before = labels(node).get(GATE_LABEL) == Mark.REFUSE.value
    change: Manifest = {
        "metadata": {
            "resourceVersion": node["metadata"]["resourceVersion"],
            "labels": {GATE_LABEL: None if mark is Mark.HOLD else mark.value},
            "annotations": {REASON: f"{mark.value}: {reason}"[:REASON_LENGTH]},
        },
        "spec": {"taints": others if mark is Mark.OPEN else [*others, ours]},
    }
    if mark is Mark.REFUSE:
        change["spec"]["unschedulable"] = True
    elif failed_before:
        change["spec"]["unschedulable"] = False
    return change


def _loan(node: Manifest, run: str, seconds: float) -> Manifest | None:
    """Lend a node that no other run has, and that no gate has shut to test it."""
    now = datetime.now(tz=UTC)
    if lent_to_other(node, run, now) or not node_state(node).passed:
        return None
    return lend(node, run, now, seconds)
