"""The few calls to a Kubernetes API that the gate makes: plain objects in and out, patiently."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeVar

import httpx2
from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.core.resource import Resource
from lightkube.generic_resource import (
    create_namespaced_resource,  # pyright: ignore[reportUnknownVariableType] - a default has no type
)
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import ConfigMap, Node, Pod, Service
from lightkube.types import CascadeType, PatchType

from scripts.errors import UnknownError, UsageError
from scripts.gate.objects import Manifest
from scripts.gate.patience import Patience

__all__ = ["Api", "Kind"]

T = TypeVar("T")

Kind = Literal["ConfigMap", "Job", "MPIJob", "Node", "Pod", "Service", "Workload"]

KINDS: Final[dict[str, type[Resource]]] = {
    **{kind.__name__: kind for kind in (ConfigMap, Job, Node, Pod, Service)},
    "MPIJob": create_namespaced_resource("kubeflow.org", "v2beta1", "MPIJob", "mpijobs"),
    "Workload": create_namespaced_resource("kueue.x-k8s.io", "v1beta2", "Workload", "workloads"),
}

SERVED_BY: Final = {"MPIJob": "the MPI operator", "Workload": "Kueue"}
"""Kinds that a cluster need not have, and what brings them."""

EVERYWHERE: Final = "*"
CONFLICT, NOT_FOUND = 409, 404
TRIES: Final = 50
"""Changes of one node that may come in between: a kubelet makes one every ten seconds."""

CHUNK: Final = 500
"""Objects a page of a list; a page of a thousand pods would be some ten megabytes."""

DELETE_SECONDS: Final = 600
"""How long objects are deleted: the API takes one after the other, a thousand in half a minute or,
when it is busy, in minutes. A call that ends too early is repeated, and goes on."""

LOG_SECONDS: Final = 20
"""How long one log is asked for; a node that is gone never answers."""


class Api:
    """Kubernetes by way of lightkube, whose types are left here."""

    def __init__(self, client: Client, namespace: str, patience: Patience) -> None:
        self._client: Any = client
        self._namespace = namespace
        self._patience = patience

    def list(
        self, kind: Kind, labels: Mapping[str, str] | None = None, *, everywhere: bool = False
    ) -> list[Manifest]:
        """Return the objects of a kind, of the gate's namespace or of all."""
        where = (
            {} if kind == "Node" else {"namespace": EVERYWHERE if everywhere else self._namespace}
        )

        def action() -> list[Manifest]:
            found = self._client.list(
                KINDS[kind], labels=dict(labels or {}), chunk_size=CHUNK, **where
            )
            # The items of a list do not say what they are.
            return [{**item.to_dict(), "kind": kind} for item in found]

        return self._patience.call(f"list {kind}s", lambda: _served(kind, action))

    def create(self, manifest: Manifest) -> bool:
        """Create one object; False if there was one of this name already.

        That is also what a first try leaves behind whose answer was lost.

        Raises
        ------
        UsageError
            If its namespace does not exist.
        """
        kind, name = manifest["kind"], manifest["metadata"]["name"]

        def action() -> None:
            self._client.create(from_dict(manifest), namespace=self._namespace)

        try:
            self._patience.call(f"create {kind} {name}", lambda: _served(kind, action))
        except ApiError as error:
            if error.status.code == CONFLICT:
                return False
            raise UsageError(
                f"create {kind} {name}: {error}; give the gate's namespace with --namespace, which "
                "`pulumi up` makes"
            ) from error
        return True

    def merge(self, kind: Kind, name: str, patch: Manifest) -> None:
        """Apply a merge patch to an object of the gate's namespace."""
        self._patience.call(
            f"change {kind} {name}",
            lambda: self._client.patch(
                KINDS[kind], name, patch, namespace=self._namespace, patch_type=PatchType.MERGE
            ),
        )

    def change_node(self, name: str, change: Callable[[Manifest], Manifest | None]) -> bool:
        """Patch a node by what ``change`` makes of it; a change in between is read again.

        False if the node is gone, or ``change`` made nothing of it.

        Raises
        ------
        UnknownError
            If others come in between again and again.
        """

        def action() -> bool:
            node = self._client.get(Node, name).to_dict()
            patch = change(node)
            if patch is not None:
                self._client.patch(Node, name, patch, patch_type=PatchType.MERGE)
            return patch is not None

        for _ in range(TRIES):
            try:
                return self._patience.call(f"change Node {name}", action)
            except ApiError as error:
                if error.status.code == NOT_FOUND:
                    return False
        raise UnknownError(f"change Node {name}: others changed it {TRIES} times in between")

    def delete_all(self, kind: Kind, labels: Mapping[str, str]) -> None:
        """Delete all objects of a kind with these labels, and what they own."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())

        def action() -> None:
            # The client's own deletecollection takes no labels: it would delete what is not ours.
            self._client._client.request(  # noqa: SLF001 - see above
                "deletecollection",
                KINDS[kind],
                namespace=self._namespace,
                params={
                    "labelSelector": selector,
                    "propagationPolicy": CascadeType.BACKGROUND.value,
                },
            )

        self._patience.call(
            f"delete {kind}s", lambda: _served(kind, action), seconds=DELETE_SECONDS
        )

    def delete(self, kind: Kind, name: str) -> None:
        """Delete one object; one that is gone is no mistake."""
        try:
            self._patience.call(
                f"delete {kind} {name}",
                lambda: self._client.delete(KINDS[kind], name, namespace=self._namespace),
            )
        except ApiError as error:
            if error.status.code != NOT_FOUND:
                raise

    def read_log(self, pod: str, container: str, read: Callable[[Iterable[str]], T]) -> T:
        """Return what ``read`` makes of the lines of a log; a broken stream is read from its start.

        Raises
        ------
        UnknownError
            If it cannot be had in time.
        ApiError
            If the API says why not.
        """
        return self._patience.call(
            f"read the log of {pod}",
            lambda: read(
                self._client.log(
                    pod, namespace=self._namespace, container=container, newlines=False
                )
            ),
            seconds=LOG_SECONDS,
        )


def _served(kind: str, action: Callable[[], T]) -> T:
    """Do what needs a kind that somebody else must have brought to the cluster.

    Raises
    ------
    UsageError
        If nobody has.
    """
    try:
        return action()
    except httpx2.HTTPStatusError as error:
        # A namespace that is missing has the same status, and its name in the API's answer.
        namespace = isinstance(error, ApiError) and 'namespaces "' in str(error)
        if error.response.status_code != NOT_FOUND or kind not in SERVED_BY or namespace:
            raise
        raise UsageError(
            f"the cluster has no {kind}s, which {SERVED_BY[kind]} brings; `pulumi up` installs it "
            "with the scheduler layer"
        ) from error
