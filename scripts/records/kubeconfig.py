"""Reads a kubeconfig, and opens the cluster's shelves by it."""

import os
import sys
from pathlib import Path
from typing import Any, Final, cast

import click
import yaml
from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ConfigError

from scripts.errors import UsageError
from scripts.gate.api import Api
from scripts.gate.patience import Patience
from scripts.records.config_maps import ConfigMapShelf

__all__ = ["IN_CLUSTER", "kubeconfig_option", "namespace_option", "open_shelf", "read_kubeconfig"]

IN_CLUSTER: Final = "in-cluster"
"""Given in place of a file by a pod that speaks to its own cluster."""

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds the token, the authority and the namespace of its service account."""

ADDRESS: Final = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""Where a pod finds the API server."""

PATIENCE_SECONDS = 20
"""A person waits; a gate has more patience."""


kubeconfig_option = click.option(
    "--kubeconfig",
    required=True,
    envvar="KUBECONFIG",
    show_envvar=True,
    help=f"Kubeconfig file; - for standard input, {IN_CLUSTER} for a pod's service account.",
)
namespace_option = click.option(
    "--namespace", default="trainyard-gate", show_default=True, help="Where the gate runs."
)
"""What every command asks for that reads a cluster's shelves."""


def open_shelf(kind: str, kubeconfig: str, namespace: str) -> ConfigMapShelf:
    """Return the shelf of a kind in the cluster that :func:`read_kubeconfig` finds."""
    client = Client(config=read_kubeconfig(kubeconfig), namespace=namespace)
    return ConfigMapShelf(Api(client, namespace, Patience(PATIENCE_SECONDS)), namespace, kind)


def read_kubeconfig(source: str) -> KubeConfig:
    """Read a kubeconfig, YAML or JSON. It may hold credentials, so no message quotes it.

    ``source`` is a file, ``-`` for standard input, or ``in-cluster`` for the service account of the
    pod in which this runs. A file of that name is reached as ``./in-cluster``.

    Raises
    ------
    UsageError
        If it cannot be read or is none, or if this is no pod.
    """
    if source == IN_CLUSTER:
        return _service_account(ACCOUNT)
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        content: Any = yaml.safe_load(text)
        # lightkube types the content as an open dict.
        config: KubeConfig = cast("Any", KubeConfig).from_dict(content)
        chosen = config.get()
        if chosen is None or chosen.user is None:
            raise UsageError(
                f"kubeconfig {source!r} has no current context with a user; set current-context"
            )
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"kubeconfig {source!r} cannot be read: {error}") from None
    except (yaml.YAMLError, ConfigError, AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(
            f"kubeconfig {source!r} is not one; give a file in YAML or JSON with clusters, users "
            "and a current context"
        ) from None
    return config


def _service_account(folder: Path) -> KubeConfig:
    """Return the pod's own way to its cluster; the token is read again when it has expired."""
    missing = [name for name in ADDRESS if not os.environ.get(name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(
            f"kubeconfig {IN_CLUSTER!r} is for a pod, and this is none: {' and '.join(missing)} "
            f"{verb} not set; give a kubeconfig file, or - for standard input"
        )
    try:
        return KubeConfig.from_service_account(folder)
    except (ConfigError, OSError) as error:
        raise UsageError(
            f"kubeconfig {IN_CLUSTER!r}: the pod has no token of a service account in {folder} "
            f"({type(error).__name__}); set automountServiceAccountToken, and serviceAccountName"
        ) from None
