"""Manifests of a Go module: read, and bound to the certificate of a process beside the cluster."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from scripts.local.target.api import Json

__all__ = ["bound_to", "code", "load"]


def load(paths: Iterable[Path]) -> Iterator[Json]:
    """Read all documents of YAML files."""
    for path in paths:
        with path.open("rb") as file:
            # The C loader: the largest CRD has 1.4 MB, which the Python one reads in seconds.
            yield from yaml.load_all(file, Loader=yaml.CSafeLoader)


def bound_to(user: str, item: Json) -> Json:
    """Bind a binding to ``user``, a certificate's common name; other objects stay as they are."""
    if "roleRef" not in item:
        return item
    group = "rbac.authorization.k8s.io"
    return item | {"subjects": [{"kind": "User", "apiGroup": group, "name": user}]}


def code(module: str) -> bytes:
    """Give the source of a module that makes objects, and of this one, which it uses."""
    return Path(module).read_bytes() + Path(__file__).read_bytes()
