"""Reads a kubeconfig, and opens the cluster's shelves by it."""

import sys
from pathlib import Path
from typing import Any, cast

import click
import yaml
from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ConfigError

from scripts.errors import UsageError
from scripts.gate.api import Api
from scripts.gate.patience import Patience
from scripts.records.config_maps import ConfigMapShelf

__all__ = ["kubeconfig_option", "namespace_option", "open_shelf", "read_kubeconfig"]

PATIENCE_SECONDS = 20
"""A person waits; a gate has more patience."""


kubeconfig_option = click.option(
    "--kubeconfig",
    required=True,
    envvar="KUBECONFIG",
    show_envvar=True,
    help="Kubeconfig file; - for standard input.",
)
namespace_option = click.option(
    "--namespace", default="trainyard-gate", show_default=True, help="Where the gate runs."
)
"""What every command asks for that reads a cluster's shelves."""


def open_shelf(kind: str, kubeconfig: str, namespace: str) -> ConfigMapShelf:
    """Return the shelf of a kind in the cluster of a kubeconfig (- for standard input)."""
    client = Client(config=read_kubeconfig(kubeconfig), namespace=namespace)
    return ConfigMapShelf(Api(client, namespace, Patience(PATIENCE_SECONDS)), namespace, kind)


def read_kubeconfig(source: str) -> KubeConfig:
    """Read a kubeconfig, YAML or JSON. It may hold credentials, so no message quotes it.

    Raises
    ------
    UsageError
        If it cannot be read or is none.
    """
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
