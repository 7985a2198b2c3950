"""What a simulated container has written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from scripts.local import answers
from scripts.local.answers import SimulatedNode
from scripts.local.target import faults
from scripts.local.target.api import Api, Json
from scripts.local.target.faults import Fault, faults_at, spot
from scripts.local.target.node_objects import DEAD, LIFE_LABEL
from scripts.local.train_answers import train_log

__all__ = ["Logs", "NodeIsDeadError"]

CHECK_LABEL = "trainyard.dev/check"
TRAIN: Final = "train"
ATTEMPT_LABEL = "trainyard.dev/attempt"
TYPE_LABEL = "node.kubernetes.io/instance-type"

JOBS: Final = (
    ("training.kubeflow.org/job-name", "training.kubeflow.org/replica-index"),
    ("batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index"),
)
"""Labels by which the pods of an MPIJob and of a Job know it, and the rank of their host in it. The
launcher of an MPIJob belongs to a Job of its own as well, so the MPIJob comes first."""

ROLE_LABEL = "training.kubeflow.org/job-role"
LAUNCHER = "launcher"

FINISHED = ("Succeeded", "Failed")

RETURNS: Final = "returns"
"""The fault by which GPUs belong to a place in a node group, and not to the instance there."""

FEW = 16
"""Up to so many nodes are asked for one by one; for more, all are listed at once."""


class NodeIsDeadError(Exception):
    """The node of a pod is down, so nobody has its log."""

    def __init__(self, node: str) -> None:
        super().__init__(f"node {node} does not answer: a fault of the target has killed it")


class Logs:
    """Makes logs from pods, their nodes and the faults that are set."""

    def __init__(self, api: Api, faults_file: Path) -> None:
        self._api = api
        self._faults_file = faults_file

    def read(self, namespace: str, name: str, container: str) -> str | None:
        """Give what the container has written; None while a check still runs.

        Raises
        ------
        NodeIsDeadError
            If the pod's node is down.
        ApiError
            If there is no such pod, or its node is gone.
        """
        pod = self._api.pod(namespace, name)
        node = self._api.node(pod["spec"]["nodeName"])
        if labels(node).get(LIFE_LABEL) == DEAD:
            raise NodeIsDeadError(node["metadata"]["name"])
        check = labels(pod).get(CHECK_LABEL)
        if check is None:
            return _no_program(pod, container)
        if pod["status"].get("phase") not in FINISHED:
            return None
        if not _speaks(pod):
            return f"simulated: rank {_rank(pod)}; rank 0 prints the table\n"
        return self._answer(check, pod, container)

    def _answer(self, check: str, pod: Json, container: str) -> str:
        """Let a pod speak for its whole Job, in the order of ranks."""
        env = environment(pod, container)
        ranks = self._ranks(pod)
        expected = int(env.get("GATE_NODES") or env.get("NODES") or "1")
        if len(ranks) < expected:
            return f"simulated: {len(ranks)} of {expected} ranks have come; rank 0 waits\n"
        set_faults = faults.load(self._faults_file)
        found = self._nodes([each["spec"]["nodeName"] for each in ranks])
        nodes = [simulated(each, set_faults) for each in found]
        try:
            if check == TRAIN:
                attempt = labels(pod)[ATTEMPT_LABEL]
                return train_log(nodes, attempt, _container(pod, container)["args"])
            log = answers.answer(check, nodes, env)
        except KeyError as error:  # not one of the gate's pods, for all its label says
            return f"simulated: the container has no variable {error}, which the gate sets\n"
        return _no_program(pod, container) if log is None else log

    def _ranks(self, pod: Json) -> list[Json]:
        """Give the pods of a pod's Job that have a node and ranks on it, in order of these."""
        known = labels(pod)
        job_label = next((job for job, _ in JOBS if job in known), None)
        if job_label is None:
            return [pod]
        found = self._api.pods(pod["metadata"]["namespace"], {job_label: known[job_label]})
        ranked = [
            each for each in found if _rank(each) is not None and each["spec"].get("nodeName")
        ]
        return sorted(ranked, key=lambda each: _rank(each) or 0)

    def _nodes(self, names: Sequence[str]) -> list[Json]:
        if len(names) <= FEW:
            return [self._api.node(name) for name in names]
        every = {node["metadata"]["name"]: node for node in self._api.nodes()}
        return [every[name] for name in names]


def _no_program(pod: Json, container: str) -> str:
    where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    return f"simulated: container {container} of pod {where} runs no program\n"


def _speaks(pod: Json) -> bool:
    """Tell whether a pod prints what its Job has found: the launcher, or whoever is rank 0."""
    role = labels(pod).get(ROLE_LABEL)
    return role == LAUNCHER if role else not _rank(pod)


def _rank(pod: Json) -> int | None:
    """Give the rank of a pod's host; None of a launcher that only launches."""
    known = labels(pod)
    index = next((index for job, index in JOBS if job in known), "")
    if index not in known and known.get(ROLE_LABEL) == LAUNCHER:
        return None
    return int(known.get(index, "0"))


def simulated(node: Json, set_faults: Sequence[Fault]) -> SimulatedNode:
    """Give what the recorded answers want to know of a Node."""
    name: str = node["metadata"]["name"]
    where = spot(name, labels(node), node["metadata"].get("annotations") or {})
    found = faults_at(set_faults, where)
    machine = str(node.get("spec", {}).get("providerID", ""))
    if RETURNS in found:
        machine = f"{where.pool}/{where.wave}/{where.index}"
    return SimulatedNode(name, labels(node)[TYPE_LABEL], found, machine)


def environment(pod: Json, container: str) -> dict[str, str]:
    """Give the container's variables that stand in its specification as plain values."""
    variables = _container(pod, container).get("env", [])
    return {each["name"]: each.get("value", "") for each in variables}


def _container(pod: Json, name: str) -> Json:
    [found] = [each for each in pod["spec"]["containers"] if each["name"] == name]
    return found


def labels(item: Json) -> Mapping[str, str]:
    """Give an object's labels."""
    return cast("Mapping[str, str]", item["metadata"].get("labels") or {})
