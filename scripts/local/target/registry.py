"""Nodes in the API server: registered, changed and removed many at a time."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
from lightkube import ApiError, Client, KubeConfig
from lightkube.resources.core_v1 import Node, NodeStatus
from lightkube.types import PatchType

from components.catalog import instance_type
from scripts.local.home import Home
from scripts.local.target.hardware import hardware
from scripts.local.target.node_objects import (
    DEAD,
    LIFE_LABEL,
    RUNNING,
    Group,
    Instance,
    node_object,
    ready_unknown,
    taint_objects,
)

__all__ = ["Registry"]

AT_ONCE = 16
"""Calls under way at a time."""

NOT_FOUND, CONFLICT = 404, 409


class Registry:
    """Writes Nodes; calls of one kind go out together and are awaited by ``flush``."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._calls: list[Future[None]] = []

    @classmethod
    def of(cls, home: Home) -> "Registry":
        """Log in with the home's administrator kubeconfig."""
        config = KubeConfig.from_file(home.kubeconfig)
        return cls(Client(config=config, timeout=httpx.Timeout(30)))

    def forget(self) -> None:
        """Let go of connections; called when the control plane was emptied."""

    def lives(self) -> dict[str, str]:
        """Give what each registered Node of the target says about its life."""
        return {
            str(node.metadata.name): node.metadata.labels[LIFE_LABEL]
            for node in self._client.list(Node)
            if node.metadata and node.metadata.labels and LIFE_LABEL in node.metadata.labels
        }
