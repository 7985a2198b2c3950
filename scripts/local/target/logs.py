"""What a simulated container has written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from scripts.local import answers
from scripts.local.answers import SimulatedNode
from scripts.local.target import faults
from scripts.local.target.api import Api, Json
from scripts.local.target.faults import Fault, faults_at, spot
from scripts.local.target.node_objects import DEAD, LIFE_LABEL

__all__ = ["Logs", "NodeIsDeadError"]

CHECK_LABEL = "trainyard.dev/check"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
JOB_LABEL = "batch.kubernetes.io/job-name"
TYPE_LABEL = "node.kubernetes.io/instance-type"

FINISHED = ("Succeeded", "Failed")


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
            return f"simulated: container {container} of pod {namespace}/{name} runs no program\n"
        if pod["status"].get("phase") not in FINISHED:
            return None
        if check == "node":
            return answers.node_check_log(simulated(node, faults.load(self._faults_file)))
        return self._all_reduce(pod, namespace, container)

    def _all_reduce(self, pod: Json, namespace: str, container: str) -> str:
        """Let the pod of index 0 speak for the whole run, in the order of ranks."""
        rank = labels(pod).get(INDEX_LABEL, "0")
        if rank != "0":
            return f"simulated: rank {rank}; rank 0 prints the table\n"
        job = labels(pod)[JOB_LABEL]
        pods = sorted(self._api.pods(namespace, {JOB_LABEL: job}), key=_rank)
        placed = [name for each in pods if (name := each["spec"].get("nodeName"))]
        expected = self._api.job(namespace, job)["spec"]["completions"]
        if len(placed) < expected:
            return f"simulated: {len(placed)} of {expected} ranks have come; rank 0 waits\n"
        nodes = {node["metadata"]["name"]: node for node in self._api.nodes()}
        set_faults = faults.load(self._faults_file)
        ranks = [simulated(nodes[name], set_faults) for name in placed]
        try:
            return answers.all_reduce_log(ranks, environment(pod, container))
        except KeyError as error:  # not one of the gate's pods, for all its label says
            return f"simulated: the container has no variable {error}, which the gate sets\n"


def simulated(node: Json, set_faults: Sequence[Fault]) -> SimulatedNode:
    """Give what the recorded answers want to know of a Node."""
    name: str = node["metadata"]["name"]
    where = spot(name, labels(node), node["metadata"].get("annotations") or {})
    machine = str(node.get("spec", {}).get("providerID", ""))
    kind = labels(node)[TYPE_LABEL]
    return SimulatedNode(name, kind, faults_at(set_faults, where), machine)


def environment(pod: Json, container: str) -> dict[str, str]:
    """Give the container's variables that stand in its specification as plain values."""
    [found] = [each for each in pod["spec"]["containers"] if each["name"] == container]
    return {each["name"]: each.get("value", "") for each in found.get("env", [])}


def labels(item: Json) -> Mapping[str, str]:
    """Give an object's labels."""
    return cast("Mapping[str, str]", item["metadata"].get("labels") or {})


def _rank(pod: Json) -> int:
    return int(labels(pod).get(INDEX_LABEL, "0"))
