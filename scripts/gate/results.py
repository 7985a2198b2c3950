"""Makes a judgement of what came of a Job, also where its log is missing or cut short. Pure."""

import re
from dataclasses import replace

from scripts.gate.jobs import GateJob
from scripts.gate.ports import JobResult
from scripts.nccl.judge import Judgement
from scripts.node.judge import NodeJudgement
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["by_node", "node_judgement", "run_judgement"]


def node_judgement(result: JobResult[NodeJudgement]) -> NodeJudgement:
    """Return the judgement on a node; of a check that did not end, only a fault counts."""
    if result.value is not None and not result.problem:
        return result.value
    if result.value is not None and result.value.verdict is Verdict.FAIL:
        return result.value
    return NodeJudgement.unknown(result.problem)


def run_judgement(result: JobResult[Judgement]) -> Judgement:
    """Return the judgement on a run; one that did not end is unknown, unless it shows a fault."""
    if not result.problem and result.value is not None:
        return result.value
    stopped = Finding("job", Verdict.UNKNOWN, result.problem)
    findings = (stopped, *(result.value.findings if result.value else ()))
    read = result.value or Judgement(Verdict.UNKNOWN, ())
    return replace(read, verdict=overall(found.verdict for found in findings), findings=findings)


def by_node(judgement: Judgement, job: GateJob) -> Judgement:
    """Name nodes where the log names the pods that ran on them, which are gone by then."""
    nodes = dict(zip(job.hosts, job.nodes, strict=True))
    host = re.compile(rf"{re.escape(job.name)}-[a-z0-9]+(?:-\d+)?\b")
    findings = tuple(
        replace(found, message=host.sub(lambda seen: nodes.get(seen[0], seen[0]), found.message))
        for found in judgement.findings
    )
    return replace(judgement, findings=findings)
