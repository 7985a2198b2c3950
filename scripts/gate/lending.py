"""Open nodes that a gate borrows to meet its own: no two gates borrow the same. Pure.

A loan stands on the node itself, and ends by itself: the gate that took it may have been killed.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from scripts.gate.objects import Manifest, mapping

__all__ = ["LENT", "NOBODY", "lend", "lent_to_other", "take_back"]

LENT: Final = "trainyard.dev/lent-to"
"""Annotation: the run, a space, and until when."""

NOBODY: Final = ""
"""No run: everybody who has a node is another."""


def lent_to_other(node: Manifest, run: str, now: datetime) -> bool:
    """Tell whether another run has the node, and for how long no longer counts."""
    holder, until = _loan(node)
    return bool(holder) and holder != run and until is not None and until > now


def lend(node: Manifest, run: str, now: datetime, seconds: float) -> Manifest:
    """Return the merge patch that lends a node; its resource version lets no loan get lost."""
    until = now + timedelta(seconds=seconds)
    return _patch(node, f"{run} {until.isoformat(timespec='seconds')}")


def take_back(node: Manifest, run: str) -> Manifest | None:
    """Return the merge patch that ends a loan to ``run``; None if the node is not lent to it."""
    holder, _ = _loan(node)
    return _patch(node, None) if holder == run else None


def _loan(node: Manifest) -> tuple[str, datetime | None]:
    annotations: dict[str, Any] = mapping(node, "metadata").get("annotations") or {}
    run, _, until = str(annotations.get(LENT, "")).partition(" ")
    try:
        return run, datetime.fromisoformat(until)
    except ValueError:
        return run, None


def _patch(node: Manifest, value: str | None) -> Manifest:
    version = node["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "annotations": {LENT: value}}}
