"""Entries and gates to try the blacklist with."""

from datetime import UTC, datetime, timedelta

from components.catalog import instance_type
from scripts.blacklist.entry import Entry, Evidence, Gpu
from scripts.blacklist.policy import Cause
from scripts.gate.verdict import WaveVerdict
from scripts.local.answers import SimulatedNode, node_check_log
from scripts.node.capture import parse
from scripts.node.judge import NodeJudgement, judge
from tests.gate.fake import P5, FakeCluster, run_gate

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)


def days(count: float) -> datetime:
    return NOW + timedelta(days=count)


def gpu(number: int) -> Gpu:
    return Gpu(serial=f"16519230{number:05d}", uuid=f"GPU-{number:08x}-0000-0000-0000-000000000000")


def entry(
    *numbers: int,
    instance: str = "",
    cause: Cause = Cause.LINK,
    at: datetime = NOW,
    until: datetime | None = None,
    run: str = "",
) -> Entry:
    """Make an entry about these GPUs and this instance."""
    return Entry(
        schema=1,
        cause=cause,
        reason="its link is slow",
        instance_id=instance,
        gpus=tuple(map(gpu, numbers)),
        evidence=Evidence(run=run),
        by="somebody",
        at=at,
        until=until,
    )


def checked(name: str, *faults: str) -> NodeJudgement:
    """Judge what a simulated node answers."""
    node = SimulatedNode(name, P5, frozenset(faults))
    return judge(parse(node_check_log(node).splitlines()), instance_type(P5))


def gated(nodes: int, faults: dict[str, set[str]]) -> tuple[WaveVerdict, dict[str, NodeJudgement]]:
    """Run a gate; returns its verdict, and the judgements that it made of each node."""
    cluster = FakeCluster(faults=faults)
    names = cluster.add(nodes)
    verdict = run_gate(cluster, nodes)
    return verdict, {name: checked(name, *faults.get(name, ())) for name in names}
