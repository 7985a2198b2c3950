"""The stage that measures the shared file system from every node of a wave at once.

Some faults of storage show only there: two nodes get what they ask for, and sixty do not.
"""

from collections.abc import Iterable
from typing import Final

from components.catalog import InstanceType
from scripts.gate.jobs import GateJob, JobMaker
from scripts.gate.node_stage import NodeStage
from scripts.node.judge import NodeJudgement
from scripts.storage.expectation import MIB, Expectation, expect, policy
from scripts.storage.judge import judge

__all__ = ["LETTERS", "environment", "storage_stage"]

LETTERS: Final = ("t", "u")

PATH: Final = "/gate-storage"
"""Where the pod has the file system."""

VOLUME: Final = "storage"

START_SECONDS: Final = 180
"""For the pod to start and mount; its image is there since the checks before."""


def storage_stage(
    instance: InstanceType,
    clients: int,
    sold_mbps: float,
    claim: str = "shared",
    *,
    again: int | None = None,
) -> tuple[NodeStage, Expectation]:
    """Return the stage, and what ``scripts.storage.compare`` holds all nodes against.

    Parameters
    ----------
    instance
        Type of the nodes.
    clients
        How many nodes run it at once; they wait for each other.
    sold_mbps
        What the file system gives to all of them together, MB/s (10^6 bytes).
    claim
        The PersistentVolumeClaim of the file system, in the gate's namespace.

    again
        How many of them run it a second time, where it is not the first: as much as before is
        moved, and they wait for no more than these.

    Raises
    ------
    UsageError
        If there is no client or nothing is sold.
    """
    expected = expect(instance, clients, sold_mbps)
    check = policy().check

    def make(maker: JobMaker, label: str, node: str, seconds: float) -> GateJob:
        return maker.node_job(
            label,
            node,
            seconds,
            check="storage",
            script="storage_check.sh",
            environment=environment(expected, f"{maker.run}-{label[:1]}", node, again),
            capabilities=[],
            volumes=[{"name": VOLUME, "persistentVolumeClaim": {"claimName": claim}}],
            mounts=[{"name": VOLUME, "mountPath": PATH}],
        )

    def read(_job: GateJob, lines: Iterable[str]) -> NodeJudgement:
        return judge(lines, expected)

    seconds = START_SECONDS + 2 * (check.wait_seconds + check.limit_seconds)
    return NodeStage("storage", LETTERS, seconds, make, read), expected


def environment(
    expected: Expectation, run: str, node: str, meeting: int | None = None
) -> dict[str, str]:
    """Return what ``storage_check.sh`` is told on one node.

    ``run`` is another one at each try: nodes of the same run meet. ``meeting`` is how many they
    are, if not all.
    """
    known = policy()
    return {
        "GATE_STORAGE": PATH,
        "GATE_TYPE": known.client.type,
        "GATE_RUN": run,
        "GATE_NODE": node,
        "GATE_BYTES": str(expected.bytes_each),
        "GATE_STREAMS": str(known.check.streams),
        "GATE_CHUNK": str(known.check.chunk_mib * MIB),
        "GATE_FILES": str(known.check.files),
        "GATE_CLIENTS": str(meeting or expected.clients),
        "GATE_WAIT": str(known.check.wait_seconds),
        "GATE_LIMIT": str(known.check.limit_seconds),
    }
