"""The checks of each node by itself, cheapest first; who fails one is spared the next."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from pydantic import TypeAdapter

from components.catalog import InstanceType
from scripts.gate.agent import ailing
from scripts.gate.dcgm import dcgm_stage
from scripts.gate.desk import Desk
from scripts.gate.devices import lacking
from scripts.gate.jobs import GateJob, JobMaker
from scripts.gate.keep import Logs
from scripts.gate.memory import Memory
from scripts.gate.node_stage import NodeStage
from scripts.gate.ports import JobResult, NodeState
from scripts.gate.results import node_judgement
from scripts.gate.storage import storage_stage
from scripts.node.capture import parse as parse_capture
from scripts.node.judge import NodeJudgement
from scripts.node.judge import judge as judge_node
from scripts.storage.compare import compare
from scripts.text import names, words
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["NodeChecks", "joined", "static_stage"]

STATIC_SECONDS: Final = 900
"""The check takes a minute; the rest is for pulling an image of some 10 GB."""

DEVICE_SECONDS: Final = 180
"""Time for the device plugins of a node that has just become Ready."""

DEVICE_POLL_SECONDS: Final = 15

AGAIN: Final = ("v", "x")
"""Labels of Jobs that measure the storage of suspects once more."""

Judgements = dict[str, NodeJudgement]
BY_NODE: Final[TypeAdapter[Judgements]] = TypeAdapter(Judgements)


def static_stage(instance: InstanceType) -> NodeStage:
    """Return the capture of a node: it takes no more than a minute, and most faults show in it."""

    def make(maker: JobMaker, label: str, node: str, seconds: float) -> GateJob:
        return maker.node_check(label, node, seconds)

    def read(_job: GateJob, lines: Iterable[str]) -> NodeJudgement:
        return judge_node(parse_capture(lines), instance)

    return NodeStage("static", ("n", "m"), STATIC_SECONDS, make, read)


class NodeChecks:
    """The node stages of one run; ``tests`` counts their Jobs."""

    def __init__(self, desk: Desk, memory: Memory, logs: Logs) -> None:
        self._desk = desk
        self._memory = memory
        self._logs = logs
        self.tests = 0

    def before_fabric(self, fresh: Sequence[NodeState]) -> Judgements:
        """Judge nodes by all that needs no other node."""
        desk = self._desk
        found = self._known(fresh)
        found |= self._static({node.name for node in fresh} - found.keys())
        level = desk.request.dcgm
        if level:
            good = {name for name, each in found.items() if each.verdict is Verdict.PASS}
            stage = dcgm_stage(level, desk.request.instance, desk.request.dcgm_image)
            deep = self.stage(stage, good)
            found |= {name: joined(found[name], each, stage.name) for name, each in deep.items()}
        return found

    def storage(
        self, nodes: Sequence[str], allowed: int
    ) -> tuple[dict[str, NodeJudgement], Finding | None]:
        """Measure the shared file system from nodes at once: some of its faults show at scale.

        Returns the judgement on each node, and what keeps all of them out. A node that is far
        behind the others is measured once more before that is believed.
        """
        request = self._desk.request
        if not request.storage_claim or request.storage_mbps is None or not nodes:
            return {}, None
        stage, expected = storage_stage(
            request.instance, len(nodes), request.storage_mbps, request.storage_claim
        )
        found = self.stage(stage, nodes)
        compared = compare(found, expected, allowed=allowed)
        if compared.suspects and compared.problem is None:
            self._desk.progress(f"storage: {names(compared.suspects)} once more")
            fewer, _ = storage_stage(
                request.instance,
                len(nodes),
                request.storage_mbps,
                request.storage_claim,
                again=len(compared.suspects),
            )
            again = self.stage(replace(fewer, letters=AGAIN), compared.suspects)
            compared = compare(found | again, expected, allowed=allowed, again=again)
        return compared.judged, compared.problem

    def stage(self, stage: NodeStage, nodes: Collection[str]) -> Judgements:
        """Run a stage over nodes; what is unknown gets a second try."""
        desk, found = self._desk, Judgements()
        for letter in stage.letters:
            left = sorted(
                name
                for name in nodes
                if name not in found or found[name].verdict is Verdict.UNKNOWN
            )
            if not left or (found and desk.left() <= 0):
                break
            judged = desk.journal.once(
                f"{stage.name}-{letter}",
                BY_NODE,
                lambda letter=letter, left=left: self._round(stage, letter, left),
            )
            desk.told(stage.name, _again(stage, letter), judged.values(), len(judged))
            found |= judged
            self.tests += len(left)
        return found

    def _round(self, stage: NodeStage, letter: str, nodes: Sequence[str]) -> Judgements:
        desk = self._desk
        desk.progress(f"{stage.name}: checking {words(len(nodes), 'node')}")
        seconds = desk.seconds(stage.seconds)
        jobs = [
            stage.make(desk.maker, f"{letter}{index}", name, seconds)
            for index, name in enumerate(nodes)
        ]
        read = self._logs.keeping(stage.read)
        judged = desk.run(stage.name, _again(stage, letter), jobs, seconds, read, self._end)
        return dict(zip(nodes, judged, strict=True))

    def _end(self, job: GateJob, result: JobResult[NodeJudgement]) -> NodeJudgement:
        judged = node_judgement(result)
        self._logs.close(job, judged.verdict)
        return judged

    def _static(self, nodes: Collection[str]) -> Judgements:
        """Capture nodes; whose GPUs are on the blacklist fails by that."""
        desk = self._desk
        found = self.stage(static_stage(desk.request.instance), nodes)

        def ask() -> Judgements:
            now = desk.clock.now()
            asked = {name: self._memory.of_gpus(each, now) for name, each in found.items()}
            return {name: each for name, each in asked.items() if each is not found[name]}

        return found | desk.journal.once("listed", BY_NODE, ask)

    def _known(self, fresh: Sequence[NodeState]) -> Judgements:
        """Judge by what is known without running anything: blacklist, node agent, devices."""
        desk = self._desk

        def ask() -> Judgements:
            found = self._memory.of_instances(fresh, desk.clock.now())
            for node in fresh:
                if node.name not in found and (sick := ailing(node)):
                    found[node.name] = sick
            return found | self._without_devices({node.name for node in fresh} - found.keys())

        return desk.journal.once("known", BY_NODE, ask)

    def _without_devices(self, nodes: Collection[str]) -> Judgements:
        """Give device plugins of new nodes time; judge the nodes on which they never show up."""
        desk = self._desk
        end = min(desk.left(), DEVICE_SECONDS) + desk.clock.monotonic()
        while True:
            found = {
                node.name: judgement
                for node in desk.nodes()
                if node.name in nodes and (judgement := lacking(node, desk.request.instance))
            }
            if not found or desk.clock.monotonic() >= end:
                return found
            desk.progress(f"waiting for the devices of {names(found)}")
            desk.clock.sleep(DEVICE_POLL_SECONDS)


def _again(stage: NodeStage, letter: str) -> str:
    """Return what the table calls a round: only the second try has a name."""
    return "" if letter == stage.letters[0] else "again"


def joined(first: NodeJudgement, then: NodeJudgement, stage: str) -> NodeJudgement:
    """Return the judgement of two stages together: the worse verdict, and what speaks for it first.

    ``stage`` is what came then: as a section of a capture it is no longer unchecked.
    """
    worse, better = (then, first) if then.verdict is not Verdict.PASS else (first, then)
    return replace(
        first,
        verdict=overall((first.verdict, then.verdict)),
        severity=max(first.severity, then.severity),
        findings=(*worse.findings, *better.findings),
        not_checked=tuple(each for each in first.not_checked if each != stage),
    )
