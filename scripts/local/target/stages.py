"""How simulated nodes and pods live: kwok's own stages, with two changes of ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from scripts.local.target.files import dump_yaml

__all__ = ["POD_SECONDS", "kwok_configuration"]

STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
)

POD_SECONDS = 1
"""How long a Job's pod runs: long enough to be seen running, short enough for a thousand."""

PARALLELISM = 16
"""Stages played at once for nodes, for pods and for leases; kwok refuses 0."""


def kwok_configuration(module: Path) -> bytes:
    """Give kwok's configuration file: its options, then the stages.

    Parameters
    ----------
    module
        The source folder of kwok's Go module.
    """
    options = {
        "nodeLeaseParallelism": PARALLELISM,
        "nodePlayStageParallelism": PARALLELISM,
        "podPlayStageParallelism": PARALLELISM,
    }
    document = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "metadata": {"name": "kwok"},
        "options": options,
    }
    documents = [document, *_stages(module / "kustomize" / "stage")]
    return dump_yaml(*documents)


def _stages(folder: Path) -> Iterator[dict[str, Any]]:
    for name in STAGES:
        stage: dict[str, Any] = yaml.safe_load((folder / name).read_text(encoding="utf-8"))
        if stage["metadata"]["name"] == "pod-complete":
            stage["spec"]["delay"] = {"durationMilliseconds": POD_SECONDS * 1000}
        yield stage
