"""From a gate's verdict to entries: only what was proved bad, and only hardware. Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice

from scripts.blacklist.entry import (
    MOST_NUMBERS,
    REASON_LENGTH,
    Entry,
    Evidence,
    gpus_of,
    instance_of,
)
from scripts.blacklist.policy import Cause, Policy, cause_of, policy
from scripts.gate.verdict import WaveVerdict
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.text import words
from scripts.verdicts import Verdict

__all__ = ["ALL_REDUCE", "sightings"]

ALL_REDUCE = "all-reduce"
"""The check that a node fails between nodes, when its own checks passed."""

ALONE = "all-reduce alone"
"""The check that a node fails with nobody else there: what its NVLink carries."""

JUDGED_BY_FLOOR = "all_reduce"
"""The collective that the floors of a gate's report speak of."""


def sightings(
    verdict: WaveVerdict,
    checks: Mapping[str, NodeJudgement],
    now: datetime,
    *,
    digests: Mapping[str, str] | None = None,
    report: str = "",
    rules: Policy | None = None,
) -> tuple[Entry, ...]:
    """Return an entry for each node of a wave that failed by its hardware.

    A node that is held is not known to be bad, and a wave that failed as a whole blames nobody: the
    gate calls such nodes unknown. Without a GPU and an instance to know it by there is no entry.

    Parameters
    ----------
    verdict
        What came of the wave.
    checks
        The judgement on each node by itself.
    now
        When the entries begin.
    digests
        By node, the digest of the log or capture that its failure was read from.
    report
        Path of the gate's report.
    rules
        The policy, when it is not the shipped one.
    """
    rules, known = rules or policy(), digests or {}
    entries: list[Entry] = []
    for node in verdict.nodes:
        check = checks.get(node.name)
        if node.verdict is not Verdict.FAIL or check is None:
            continue
        cause, name = _cause(check, rules)
        if cause is Cause.LINK and _failed_alone(verdict, node.name):
            cause, name = Cause.RESET, ALONE
        seen = islice(_numbers(verdict, node.name), MOST_NUMBERS)
        numbers = dict(seen) if cause is Cause.LINK else {}
        log = known.get(node.name, "")
        evidence = Evidence(run=verdict.run, check=name, numbers=numbers, log=log, report=report)
        gpus, instance_id = gpus_of(check.gpus), instance_of(node.provider_id)
        if cause is not None and (gpus or instance_id):
            entries.append(
                Entry(
                    schema=1,
                    cause=cause,
                    reason=node.reason[:REASON_LENGTH],
                    instance_id=instance_id,
                    gpus=gpus,
                    evidence=evidence,
                    node=node.name,
                    instance_type=verdict.instance_type,
                    pool=verdict.pool,
                    wave=verdict.wave,
                    by="yard gate",
                    at=now,
                )
            )
    return tuple(entries)


def _failed_alone(verdict: WaveVerdict, name: str) -> bool:
    """Tell whether a node failed with no other node there: its links to others are not it."""
    return any(
        each.nodes == (name,) and each.judgement.verdict is Verdict.FAIL
        for each in verdict.measured
    )


def _cause(check: NodeJudgement, rules: Policy) -> tuple[Cause | None, str]:
    """Return what put a failed node out: its gravest check of hardware, or the fabric."""
    if check.verdict is not Verdict.FAIL:
        return Cause.LINK, ALL_REDUCE
    hardware = [
        found
        for found in check.findings
        if found.verdict is Verdict.FAIL and found.check in rules.hardware
    ]
    gravest = max(hardware, key=lambda found: found.severity or Severity.PASS, default=None)
    if gravest is None or gravest.severity is None:
        return None, ""
    return cause_of(gravest.severity), gravest.check


def _numbers(verdict: WaveVerdict, name: str) -> Iterator[tuple[str, float]]:
    """Yield what the node reached with each witness against it, and the floor that it missed."""
    for each in verdict.measured:
        low = each.judgement.lowest_busbw
        bad = name in each.nodes and each.judgement.verdict is Verdict.FAIL
        if bad and low is not None:
            others = [other for other in each.nodes if other != name]
            against = others[0] if len(others) == 1 else f"{len(others)} nodes"
            yield f"{each.collective} busbw_gbps with {against}, {each.round}", low
            floor = verdict.floors.get(words(len(each.nodes), "node"))
            if floor is not None and each.collective == JUDGED_BY_FLOOR:
                yield f"floor_gbps of {len(each.nodes)} nodes", floor.busbw
