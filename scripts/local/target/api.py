"""The API server, spoken to in plain JSON: the one place that knows lightkube's types."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import httpx2
from lightkube import ApiError, Client, KubeConfig
from lightkube.codecs import from_dict
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import Node, Pod
from lightkube.types import PatchType

from scripts.local.home import Home

__all__ = ["Api", "ApiError", "Json", "UnreachableError", "code"]

FIELD_MANAGER = "trainyard-embedded-target"
TIMEOUT_SECONDS = 30
AT_ONCE = 16
"""Calls under way at a time."""

NOT_FOUND = 404

Json = dict[str, Any]
UnreachableError = httpx2.HTTPError
"""No answer; ``ApiError``, an answer that refuses, is one of these too."""


class Api:
    """Objects of the API server as JSON; for several threads, and to be closed with ``with``."""

    def __init__(self, home: Home) -> None:
        # lightkube's methods are generic over its own classes; here all is JSON.
        self._client: Any = Client(
            config=KubeConfig.from_file(home.kubeconfig),
            timeout=httpx2.Timeout(TIMEOUT_SECONDS),
            field_manager=FIELD_MANAGER,
            trust_env=False,
        )
        self._pool = ThreadPoolExecutor(AT_ONCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self._client.close()

    def each(self, work: Iterable[Callable[[], object]]) -> None:
        """Do all of it, several at a time; the first error is raised when all are done."""
        running = [self._pool.submit(job) for job in work]
        for error in [future.exception() for future in running]:
            if error:
                raise error

    def apply(self, item: Json) -> None:
        """Apply an object of any kind on the server's side."""
        self._client.apply(from_dict(item), force=True)

    def create(self, item: Json) -> None:
        """Create an object of any kind."""
        self._client.create(from_dict(item))

    def node(self, name: str) -> Json:
        """Give a Node; 404 is an ``ApiError``."""
        return self._client.get(Node, name).to_dict()

    def nodes(self) -> list[Json]:
        """Give all Nodes."""
        return [node.to_dict() for node in self._client.list(Node)]

    def release_nodes(self) -> None:
        """Take away all leases of nodes, so that another process may play them at once."""
        self._client.deletecollection(Lease, namespace="kube-node-lease")

    def pod(self, namespace: str, name: str) -> Json:
        """Give a Pod; 404 is an ``ApiError``."""
        return self._client.get(Pod, name, namespace=namespace).to_dict()

    def pods(self, namespace: str, labels: Mapping[str, str]) -> list[Json]:
        """Give the Pods of a namespace that carry these labels."""
        found = self._client.list(Pod, namespace=namespace, labels=dict(labels))
        return [pod.to_dict() for pod in found]

    def patch_node(self, name: str, patch: Json) -> None:
        """Change a Node: what is given replaces what is there, null removes it."""
        self._client.patch(Node, name, patch, patch_type=PatchType.MERGE)

    def patch_node_status(self, name: str, patch: Json) -> None:
        """Change a Node's status; conditions are merged by their type."""
        self._client.patch(Node.Status, name, patch, patch_type=PatchType.STRATEGIC)

    def delete_nodes(self, names: Iterable[str]) -> None:
        """Delete Nodes, also those that are gone already."""
        self.each([lambda name=name: self.delete_node(name) for name in names])

    def delete_node(self, name: str) -> None:
        """Delete a Node, also one that is gone already, and the pods that were on its machine.

        Kubernetes would take these pods for running as soon as another machine has the name.
        """
        self._delete(Node, name)
        for pod in self._client.list(Pod, namespace="*", fields={"spec.nodeName": name}):
            self._delete(Pod, pod.metadata.name, namespace=pod.metadata.namespace, grace_period=0)

    def _delete(self, kind: Any, name: str, **how: Any) -> None:  # noqa: ANN401 - a kind of object, and how lightkube deletes
        try:
            self._client.delete(kind, name, **how)
        except ApiError as error:
            if code(error) != NOT_FOUND:
                raise


def code(error: ApiError) -> int:
    """Give the HTTP status of a refusal."""
    return error.response.status_code
