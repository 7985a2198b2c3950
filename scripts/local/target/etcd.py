"""Empty the control plane as a new EKS cluster is empty: back to what a fresh one holds.

Done in etcd itself, not object by object: whatever a program put into the cluster is gone in one
step, finalizers or not, and everyone who watches sees the deletions as usual.
"""

import base64
import itertools
import json
import ssl
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from scripts.local.target.files import read_json, write_json
from scripts.local.target.pki import Pki

__all__ = ["Etcd", "add_to_baseline", "restore_baseline", "save_baseline"]

PREFIX = "/registry/"

VOLATILE = ("/registry/events/", "/registry/leases/", "/registry/masterleases/")
"""Keys that live for a while only: never part of a baseline, and deleted with the rest."""


class Etcd:
    """The few calls of etcd's JSON gateway that are needed."""

    def __init__(self, url: str, pki: Pki) -> None:
        self._url = url
        self._context = ssl.create_default_context(cafile=str(pki.ca))
        self._context.load_cert_chain(pki.certificate("apiserver-etcd"), pki.key("apiserver-etcd"))

    def _call(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - https to 127.0.0.1
            f"{self._url}/v3/kv/{method}", data=json.dumps(body).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=60, context=self._context) as answer:  # noqa: S310 - as above
            content: dict[str, Any] = json.load(answer)
        return content

    def values(self) -> dict[str, str]:
        """Give the stored bytes of all objects by key, in base64."""
        found = self._call("range", _range(PREFIX)).get("kvs", [])
        return {_text(entry["key"]): entry["value"] for entry in found}

    def delete(self, first: str, last: str) -> None:
        """Delete the keys from ``first`` to ``last``, both included."""
        # The smallest key behind the last one is the last one and a zero byte.
        self._call("deleterange", {"key": _base64(first), "range_end": _base64(f"{last}\0")})

    def put(self, key: str, value: str) -> None:
        """Store bytes given in base64."""
        self._call("put", {"key": _base64(key), "value": value})


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _text(encoded: str) -> str:
    return base64.b64decode(encoded).decode()


def _range(prefix: str) -> dict[str, Any]:
    # etcd's way to say "with this prefix": up to the prefix with its last byte raised by one.
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return {"key": _base64(prefix), "range_end": _base64(end)}


def save_baseline(etcd: Etcd, path: Path) -> None:
    """Remember what the control plane holds now, before any program has used it."""
    kept = {key: value for key, value in etcd.values().items() if not key.startswith(VOLATILE)}
    write_json(path, kept)


def add_to_baseline(etcd: Etcd, path: Path, items: Iterable[dict[str, Any]]) -> None:
    """Remember some objects as they are stored now, in a baseline that was saved before."""
    ends = tuple(_end_of_key(item) for item in items)
    current = etcd.values()
    baseline: dict[str, str] = read_json(path)
    write_json(path, baseline | {key: current[key] for key in current if key.endswith(ends)})


def _end_of_key(item: dict[str, Any]) -> str:
    """Give how an object's key ends: ``/KINDs/NAMESPACE/NAME``, or ``/KINDs/NAME`` without one.

    True for the kinds that controllers are installed with, whose plural has an s more.
    """
    metadata = item["metadata"]
    place = [metadata["namespace"]] if "namespace" in metadata else []
    return "/".join(["", f"{item['kind'].lower()}s", *place, metadata["name"]])


def restore_baseline(etcd: Etcd, path: Path) -> int:
    """Delete what is not of the baseline, mend what was changed; gives the number of both.

    Raises
    ------
    FileNotFoundError
        If no baseline was saved: then nothing is deleted.
    """
    baseline: dict[str, str] | None = read_json(path)
    if baseline is None:
        raise FileNotFoundError(path)
    current = etcd.values()
    strangers = [
        run
        for kept, run in runs(sorted(current), lambda key: key in baseline or _is_held(key))
        if not kept
    ]
    changed = [key for key, value in baseline.items() if current.get(key) != value]
    for run in strangers:
        etcd.delete(run[0], run[-1])
    for key in changed:
        etcd.put(key, baseline[key])
    return sum(map(len, strangers)) + len(changed)


def runs(keys: Sequence[str], kept: Callable[[str], bool]) -> list[tuple[bool, list[str]]]:
    """Cut sorted keys into runs that are kept or not, so that a run goes in one call."""
    return [(flag, list(run)) for flag, run in itertools.groupby(keys, key=kept)]


def _is_held(key: str) -> bool:
    """Leases of the control plane itself; those of nodes lie in kube-node-lease."""
    return key.startswith("/registry/leases/kube-system/")
