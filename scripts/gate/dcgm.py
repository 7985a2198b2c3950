"""The stage that runs DCGM's diagnostics on each node by itself, while its GPUs are idle.

They stress memory, links and power, and find what a look at counters does not.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from components.catalog import InstanceType
from scripts.errors import UsageError
from scripts.gate.jobs import GateJob, JobMaker, require_digest
from scripts.gate.node_stage import NodeStage
from scripts.node.capture import parse
from scripts.node.judge import NodeJudgement, judge
from scripts.node.profiles import policy, profile
from scripts.node.take import dcgm_environment

__all__ = ["LETTERS", "dcgm_stage"]

LETTERS: Final = ("d", "e")

START_SECONDS: Final = 600
"""For the pod to start: the image may be another one than that of the checks before."""

SECTIONS: Final = ("machine", "gpus", "dcgm")
"""The first two say of which machine and GPUs the result is."""


def dcgm_stage(level: int, instance: InstanceType, image: str | None = None) -> NodeStage:
    """Return the stage for a level of the diagnostics.

    Parameters
    ----------
    level
        1 (seconds) to 4 (hours). Before a wave opens 2 is usual; 3 and 4 are for new hardware.
    instance
        Type of the nodes.
    image
        An image with ``dcgmi``, by digest, where the gate's has none. Without ``dcgmi`` the result
        is unknown, and unknown opens nothing.

    Raises
    ------
    UsageError
        If there is no such level, no profile for the type, or the image is not pinned.
    """
    known = policy().dcgm.seconds
    if level not in known:
        raise UsageError(f"DCGM has no level {level}; use {min(known)} to {max(known)}")
    if image is not None:
        require_digest(image)
    environment = _environment(level, instance)

    def make(maker: JobMaker, label: str, node: str, seconds: float) -> GateJob:
        return (replace(maker, image=image) if image else maker).node_job(
            label,
            node,
            seconds,
            check="dcgm",
            script="node_check.sh",
            environment=environment,
            capabilities=[],
        )

    def read(_job: GateJob, lines: Iterable[str]) -> NodeJudgement:
        return judge(parse(lines), instance, only={"dcgm"}, required=["dcgm"])

    return NodeStage("dcgm", LETTERS, known[level] + START_SECONDS, make, read)


def _environment(level: int, instance: InstanceType) -> Mapping[str, str]:
    links = profile(instance).nvlinks
    return {
        "CHECK_ONLY": " ".join(SECTIONS),
        **dcgm_environment(level),
        **({"CHECK_NVLINKS": str(links)} if links else {}),
    }
