"""Import every module that answers operations, so that their handlers are in the table."""

import importlib

__all__ = ["load"]

MODULES = (
    "sts",
    "eks.clusters",
    "eks.updates",
    "eks.nodegroups",
    "eks.addons",
    "eks.access",
    "eks.identities",
    "eks.tagging",
)


def load() -> None:
    """Fill the table of handlers."""
    for module in MODULES:
        importlib.import_module(f"scripts.local.simulator.{module}")
