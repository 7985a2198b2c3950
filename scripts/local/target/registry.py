"""The Nodes of the target: registered and changed as their kubelets and EKS would."""

import datetime as dt
from collections.abc import Iterable
from functools import partial
from http import HTTPStatus

from components.catalog import instance_type
from scripts.local.target.api import Api, ApiError, Json, code
from scripts.local.target.hardware import hardware
from scripts.local.target.node_objects import (
    DEAD,
    LIFE_LABEL,
    Group,
    Instance,
    node_object,
    ready_unknown,
    relabelled,
)

__all__ = ["Registry"]


class Registry:
    """Writes Nodes."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def lives(self) -> dict[str, str]:
        """Give what each registered Node of the target says about its life."""
        labels = {
            str(node["metadata"]["name"]): node["metadata"].get("labels", {})
            for node in self.api.nodes()
        }
        return {name: mine[LIFE_LABEL] for name, mine in labels.items() if LIFE_LABEL in mine}

    def create(self, group: Group, instance: Instance, life: str) -> None:
        """Register the Node of an instance."""
        capacity = hardware(instance_type(group.instance_type), group.launch)
        try:
            self.api.create(node_object(group, instance, capacity, life=life))
        except ApiError as error:
            if code(error) != HTTPStatus.CONFLICT:  # an earlier try got through
                raise
        if life == DEAD:
            self._fall_silent(instance.dns_name)

    def set_life(self, name: str, life: str) -> None:
        """Let a Node fall silent, or come back: kwok plays it only while it is running."""
        labels: Json = {"metadata": {"labels": {LIFE_LABEL: life}}}
        self.api.patch_node(name, labels)
        if life == DEAD:
            self._fall_silent(name)

    def _fall_silent(self, name: str) -> None:
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.api.patch_node_status(name, ready_unknown(now))

    def relabel(self, names: Iterable[str], before: Group, after: Group) -> None:
        """Bring changed labels and taints of a node group to its Nodes."""
        self.api.each(partial(self._relabel, name, before, after) for name in names)

    def _relabel(self, name: str, before: Group, after: Group) -> None:
        present = self.api.node(name)["spec"].get("taints", [])
        self.api.patch_node(name, relabelled(present, before, after))
