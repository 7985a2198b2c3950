"""Measures the fabric: the floors that hold for a wave, and the rounds of collectives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from components.catalog.floors import Floor, floor
from scripts.baseline.recorder import Noted
from scripts.errors import UnknownError, UsageError
from scripts.gate.desk import Desk
from scripts.gate.history import History
from scripts.gate.jobs import GateJob
from scripts.gate.keep import Logs
from scripts.gate.request import Request
from scripts.gate.runs import RunReader
from scripts.gate.stages import Round, Stage
from scripts.gate.sweep import PLAIN
from scripts.nccl.expectation import Expectation, expect
from scripts.nccl.judge import Judgement
from scripts.text import words

__all__ = ["Fabric", "Floors"]

SMALL_RUN_SECONDS: Final = 600
"""A run takes two to three minutes, and the image is there since the check; this ends a hang."""

LARGE_RUN_SECONDS: Final = 1200
"""Thousands of ranks take minutes to find each other."""

SMALL_RUN_NODES: Final = 16


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a round showed, and what a comparison with earlier runs needs of it."""

    asked: Round
    found: list[Judgement]
    noted: dict[str, Noted]


SHOWN: Final = TypeAdapter(_Shown)


class Floors:
    """What a wave of a request must reach."""

    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def alone_pays(self) -> bool:
        """Whether a node by itself is faster than between nodes, by the catalog's floors.

        Then the fabric hides a weak NVLink from pairs and sweeps; elsewhere a pair shows it too.
        """
        name = self._request.instance.name
        alone, pair = floor(name, 1), floor(name, 2)
        return alone is not None and pair is not None and alone.busbw > pair.busbw

    def expect(
        self, nodes: int, hosts: Sequence[str] | None = None, collective: str = PLAIN
    ) -> Expectation:
        """Return what a run of a collective over so many nodes must show."""
        request = self._request
        given = request.floor_gbps if collective == PLAIN else None
        return expect(request.instance, nodes, collective=collective, floor_gbps=given, hosts=hosts)

    def known(self) -> dict[str, Floor]:
        """Return the floors that the wave is judged by, each under what it is for.

        Raises
        ------
        UsageError
            If there is none for all_reduce on pairs, trios or the wave.
        """
        found: dict[str, Floor] = {}
        most = self._request.nodes
        for nodes in sorted({min(most, count) for count in (2, 3, most)}):
            expected = self.expect(nodes)
            if expected.floor is None and expected.ranks > 1:
                raise UsageError(
                    f"no bandwidth floor is known for {self._request.instance.name} on "
                    f"{words(nodes, 'node')}, and a wave whose bandwidth is not judged never "
                    "opens; give one with --floor GBPS, from a run that you trust"
                )
            if expected.floor is not None:
                found[words(nodes, "node")] = expected.floor
        for collective in self._request.collectives:
            floor_ = self.expect(most, collective=collective).floor
            if collective != PLAIN and floor_ is not None:
                found[f"{collective} on {words(most, 'node')}"] = floor_
        alone = self.expect(1).floor
        if self.alone_pays and alone is not None:
            found[words(1, "node")] = alone
        return found


class Fabric:
    """Runs rounds of collectives, each over disjoint groups of nodes."""

    def __init__(self, desk: Desk, floors: Floors, history: History, logs: Logs) -> None:
        self._desk = desk
        self._logs = logs
        self._floors = floors
        self._history = history

    def measure(self, asked: Round) -> list[Judgement]:
        """Run one round; a resumed run gets what it showed before."""
        shown = self._desk.journal.once(asked.label, SHOWN, lambda: self._run(asked))
        if shown.asked != asked:
            raise UnknownError(
                f"round {asked.label} was kept over other nodes than it has now, so it is of "
                "another gate; begin anew with yard gate run --fresh"
            )
        self._history.restore(shown.noted)
        self._desk.told(asked.stage, _round(asked), shown.found, len(shown.found))
        return shown.found

    def _run(self, asked: Round) -> _Shown:
        desk = self._desk
        large = any(len(group) > SMALL_RUN_NODES for group in asked.groups)
        seconds = desk.seconds(LARGE_RUN_SECONDS if large else SMALL_RUN_SECONDS)
        jobs = [
            desk.maker.all_reduce(
                f"{asked.label}-{index}",
                group,
                seconds,
                asked.collective,
                others=self._others(group),
            )
            for index, group in enumerate(asked.groups)
        ]

        def expect_of(job: GateJob) -> Expectation:
            return self._floors.expect(len(job.nodes), job.hosts, asked.collective)

        reader = RunReader(
            asked=asked,
            expect=expect_of,
            history=self._history,
            logs=self._logs,
            lone=desk.request.nodes == 1,
        )
        found = desk.run(asked.stage, _round(asked), jobs, seconds, reader.read, reader.end)
        return _Shown(asked, found, self._history.noted(asked.label))

    def _others(self, group: Sequence[str]) -> set[str] | None:
        """Return the other nodes of the wave; None for a small group or one of several waves."""
        if len(group) <= SMALL_RUN_NODES:
            return None
        wave = self._desk.request.wave
        members = {
            node.name
            for node in self._desk.cluster.nodes(self._desk.request.pool)
            if node.wave == wave
        }
        return members.difference(group) if members.issuperset(group) else None


def _round(asked: Round) -> str:
    """Name a round for people: of a sweep the collective, of all else the number."""
    if asked.stage is Stage.SWEEP:
        return asked.collective
    return asked.label.lstrip("abcdefghijklmnopqrstuvwxyz")
