"""Kubernetes objects whose kinds the SDK does not know: those of Kueue."""

from collections.abc import Mapping
from typing import Any

import pulumi

__all__ = ["KueueObject"]

API_VERSION = "kueue.x-k8s.io/v1beta2"
"""Stored version in Kueue 0.17; v1beta1 is deprecated there."""


class KueueObject(pulumi.CustomResource):
    """An object of Kueue's API.

    The SDK's own class for custom objects takes a ``spec`` only, and a WorkloadPriorityClass has
    its value beside it.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        *,
        metadata: Mapping[str, Any],
        content: Mapping[str, Any],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__(
            f"kubernetes:{API_VERSION}:{kind}",
            name,
            {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, **content},
            opts,
        )
