"""The Nodes of the target: registered and changed as their kubelets and EKS would."""

import datetime as dt
from collections.abc import Collection, Iterable
from functools import partial
from http import HTTPStatus

from components.catalog import instance_type
from scripts.local.target import symptoms
from scripts.local.target.api import Api, ApiError, Json, code
from scripts.local.target.hardware import hardware
from scripts.local.target.node_objects import (
    DEAD,
    LIFE_LABEL,
    Group,
    Instance,
    Start,
    node_object,
    ready_unknown,
    relabelled,
)

__all__ = ["Registry"]


class Registry:
    """Writes Nodes."""

    def __init__(self, api: Api, kubelet_port: int) -> None:
        self.api = api
        self._kubelet_port = kubelet_port

    def lives(self) -> dict[str, str]:
        """Give what each registered Node of the target says about its life."""
        labels = {
            str(node["metadata"]["name"]): node["metadata"].get("labels", {})
            for node in self.api.nodes()
        }
        return {name: mine[LIFE_LABEL] for name, mine in labels.items() if LIFE_LABEL in mine}

    def symptoms(self) -> dict[str, frozenset[str]]:
        """Give the faults that each Node shows."""
        return {str(node["metadata"]["name"]): symptoms.noted(node) for node in self.api.nodes()}

    def create(
        self, group: Group, instance: Instance, life: str, shown: Collection[str] = ()
    ) -> None:
        """Register the Node of an instance, with the faults that it shows."""
        capacity = hardware(instance_type(group.instance_type), group.image_type, group.launch)
        start = Start(life, self._kubelet_port, _now())
        node = node_object(group, instance, capacity, start)
        symptoms.afflict(node, shown, start.now)
        try:
            self.api.create(node)
        except ApiError as error:
            if code(error) != HTTPStatus.CONFLICT:
                raise
            present = self.api.node(instance.dns_name)
            if present["spec"].get("providerID") == node["spec"]["providerID"]:
                return  # an earlier try got through
            # Of an instance that had the address before, and with it the name.
            self.api.delete_node(instance.dns_name)
            self.api.create(node)

    def set_life(self, name: str, life: str) -> None:
        """Let a Node fall silent, or come back: kwok plays it only while it is running."""
        labels: Json = {"metadata": {"labels": {LIFE_LABEL: life}}}
        self.api.patch_node(name, labels)
        if life == DEAD:
            self.api.patch_node_status(name, ready_unknown(_now()))

    def show(self, name: str, shown: Collection[str]) -> None:
        """Let a Node show these faults and no others."""
        capacity = self.api.node(name)["status"]["capacity"]
        metadata, status = symptoms.change(shown, capacity, _now())
        self.api.patch_node(name, {"metadata": metadata})
        self.api.patch_node_status(name, {"status": status})

    def relabel(self, names: Iterable[str], before: Group, after: Group) -> None:
        """Bring changed labels and taints of a node group to its Nodes."""
        self.api.each(partial(self._relabel, name, before, after) for name in names)

    def _relabel(self, name: str, before: Group, after: Group) -> None:
        present = self.api.node(name)["spec"].get("taints", [])
        self.api.patch_node(name, relabelled(present, before, after))


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
