"""Kubeconfigs of the target: the administrator's, one per part, and the token review's."""

import base64
from pathlib import Path
from typing import Any

from scripts.local.target.files import dump_yaml
from scripts.local.target.pki import Pki

__all__ = ["client_kubeconfig", "webhook_kubeconfig"]


def _document(cluster: dict[str, str], user: dict[str, str], user_name: str) -> bytes:
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "trainyard-embedded", "cluster": cluster}],
        "users": [{"name": user_name, "user": user}],
        "contexts": [
            {
                "name": "trainyard-embedded",
                "context": {"cluster": "trainyard-embedded", "user": user_name},
            }
        ],
        "current-context": "trainyard-embedded",
    }
    return dump_yaml(document)


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def client_kubeconfig(server: str, pki: Pki, name: str) -> bytes:
    """Log in at ``server`` with the certificate ``name``; holds the key, so keep it private."""
    return _document(
        {"server": server, "certificate-authority-data": _inline(pki.ca)},
        {
            "client-certificate-data": _inline(pki.certificate(name)),
            "client-key-data": _inline(pki.key(name)),
        },
        name,
    )


def webhook_kubeconfig(url: str) -> bytes:
    """Tell the API server where tokens are reviewed; the simulator wants no credentials."""
    return _document({"server": url}, {}, "kube-apiserver")
