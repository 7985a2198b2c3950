"""Gates that keep what they reached, from the logs of their runs to the warnings of a report."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from components.catalog import instance_type
from components.catalog.floors import GIB
from scripts.baseline.ruling import Weight
from scripts.baseline.store import BaselineStore
from scripts.errors import UnknownError, UsageError
from scripts.gate.history import History, HistoryOutcome, Ruling, known_of
from scripts.gate.jobs import GateJob
from scripts.gate.keep import Keep, Logs
from scripts.gate.ports import JobResult, NodeState
from scripts.gate.prove import Plan, prove
from scripts.gate.runs import RunReader
from scripts.gate.stages import Round, Stage
from scripts.gate.verdict import NodeVerdict, WaveVerdict
from scripts.local.answers import SimulatedNode, all_reduce_log, node_check_log
from scripts.nccl.expectation import expect
from scripts.nccl.judge import Judgement
from scripts.node.capture import parse as parse_capture
from scripts.node.judge import judge as judge_node
from scripts.records.shelf import Document
from scripts.verdicts import Verdict
from tests.baseline.fake import MemoryBucket
from tests.gate.fake import IMAGE, P5
from tests.records.fake import MemoryShelf

NODES = [f"node-{number:02d}" for number in range(4)]
START = datetime(2026, 12, 1, tzinfo=UTC)
FACTS = judge_node(
    parse_capture(
        node_check_log(
            SimulatedNode("node-00", P5, frozenset(), "aws:///use1-az4/i-0")
        ).splitlines()
    ),
    instance_type(P5),
)
SWEEP = "all_reduce over 4 nodes"

Speed = Callable[[Round, tuple[str, ...]], float]
"""How fast a run is, as a share of what the recordings show."""

_ROW = re.compile(r"^( +\d+ +\d+ +float +sum +-1)" + r" +([\d.]+) +([\d.]+) +([\d.]+)( +\d+)" * 2)


def at_speed(text: str, share: float) -> str:
    """Let a log tell of so much of its bandwidth, its average included."""

    def row(line: str) -> str:
        if not (found := _ROW.match(line)):
            return line
        head, *cells = found.groups()
        for start in (0, 4):
            time, algbw, busbw = (float(cell) for cell in cells[start : start + 3])
            told = f"{time / share:.6g} {algbw * share:.2f} {busbw * share:.2f}"
            head += f" {told}{cells[start + 3]}"
        return head

    average = re.search(r"# Avg bus bandwidth    : ([\d.]+)", text)
    assert average is not None
    text = text.replace(average[1], f"{float(average[1]) * share:.6g}")
    return "\n".join(map(row, text.splitlines()))


@dataclass
class Wave:
    """A wave of four nodes, gated again and again."""

    folder: Path
    shelf: MemoryShelf = field(default_factory=MemoryShelf)
    bucket: MemoryBucket = field(default_factory=MemoryBucket)
    said: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    damage: Callable[[Round, str], str] = lambda _asked, text: text
    hangs: Callable[[Round], bool] = lambda _asked: False
    runs: int = 0

    def __post_init__(self) -> None:
        self.store: BaselineStore | None = BaselineStore(self.shelf, self.bucket)

    def gate(
        self,
        speed: Speed = lambda _asked, _group: 1.0,
        *,
        weight: Weight = Weight.WARN,
        verdict: Verdict = Verdict.PASS,
        collectives: Sequence[str] = ("all_reduce",),
    ) -> tuple[Ruling, HistoryOutcome]:
        self.runs += 1
        self.said.clear()
        self.labels.clear()
        at = START + timedelta(days=self.runs)
        run, instance = f"r{self.runs}", instance_type(P5)
        self.history = History(
            store=self.store,
            run=run,
            instance=instance,
            image=IMAGE,
            progress=self.said.append,
            weight=weight,
            pictures=self.folder,
        )
        self.logs = Logs(self.folder / "logs", Keep.BAD, self.said.append)

        def measure(asked: Round) -> list[Judgement]:
            self.labels.append(asked.label)
            reader = RunReader(
                asked=asked,
                expect=lambda job: expect(instance, len(job.nodes), collective=asked.collective),
                history=self.history,
                logs=self.logs,
            )
            jobs = [
                GateJob(f"gate-{run}-{asked.label}-{index}", group, {"kind": "MPIJob"})
                for index, group in enumerate(asked.groups)
            ]
            found: list[Judgement] = []
            for job in jobs:
                text = at_speed(log(job, asked.collective), speed(asked, job.nodes))
                value = reader.read(job, self.damage(asked, text).splitlines())
                problem = "it did not end in time" if self.hangs(asked) else ""
                found.append(reader.end(job, JobResult(value, problem)))
            return found

        wave = WaveVerdict(
            run=run, pool="train", wave="1", instance_type=P5, image=IMAGE, asked=4, started=at
        )
        plan = Plan(allowed=1, collectives=collectives, alone=False)
        proof = prove(
            NODES, [], plan=plan, measure=measure, progress=lambda _: None, record=wave.measured
        )
        states = [
            NodeState(
                name=name,
                instance_type=P5,
                provider_id=f"aws:///use1-az4/i-{name}",
                wave="1",
                ready=True,
                passed=False,
                devices={},
                place=("nn-1", "nn-2"),
            )
            for name in NODES
        ]
        known = known_of(states, dict.fromkeys(NODES, FACTS))
        ruling = Ruling()
        if not proof.problem:
            ruling = self.history.compare(at, known, measure, wave.measured)
        wave.verdict, wave.message = verdict, f"{verdict} it is"
        wave.nodes = [
            NodeVerdict(name=name, provider_id="", verdict=Verdict.PASS, reason="")
            for name in proof.proven
        ]
        self.wave = wave
        return ruling, self.history.close(at, known, wave)

    def promoted(self, share: float = 1.0) -> str:
        """Gate the wave three times at this speed, and promote what it reached."""
        assert self.store is not None
        for _ in range(3):
            self.gate(lambda *_: share + self.runs / 1000)
        [ledger] = self.store.ledgers()
        self.store.promote(ledger.setting.id, by="me", why="good", now=START + timedelta(days=9))
        return ledger.setting.id


def log(job: GateJob, collective: str) -> str:
    nodes = [SimulatedNode(name, P5, frozenset(), "") for name in job.nodes]
    env = {
        "GATE_JOB": job.name,
        "GATE_MIN_BYTES": f"{GIB}",
        "GATE_MAX_BYTES": f"{16 * GIB}",
        "GATE_BINARY": f"/opt/{collective}_perf",
    }
    return all_reduce_log(nodes, env)


@pytest.fixture
def wave(tmp_path: Path) -> Wave:
    return Wave(tmp_path)


def test_each_accepted_gate_keeps_its_sweeps_in_index_and_bucket(wave: Wave) -> None:
    ruling, outcome = wave.gate(collectives=("all_reduce", "alltoall"))
    assert (ruling, outcome.warnings) == (Ruling(), ())
    assert wave.store is not None
    kept = {
        each.setting.collective: (each.setting.nodes, [run.verdict for run in each.runs])
        for each in wave.store.ledgers()
    }
    assert kept == {"all_reduce": (4, [Verdict.PASS]), "alltoall": (4, [Verdict.PASS])}
    assert [each.setting.gaps for each in wave.store.ledgers()] == [(), ()]
    assert len(wave.bucket.held) == 2
    assert "2 runs kept: yard baseline list" in wave.said


def test_a_kept_run_has_the_digest_of_the_kept_log(wave: Wave) -> None:
    wave.gate()
    assert wave.store is not None
    [ledger] = wave.store.ledgers()
    index = (wave.folder / "logs" / "index.jsonl").read_text()
    assert f'"log": "{ledger.runs[0].log}", "file": "r1-w1-0.log.gz"' in index


def test_the_first_gates_have_nothing_to_be_held_against_and_that_is_no_warning(
    wave: Wave,
) -> None:
    ruling, outcome = wave.gate(weight=Weight.ENFORCE)
    assert (ruling, outcome.warnings) == (Ruling(), ())
    [told] = outcome.baselines
    assert (told["collective"], told["nodes"], told["verdict"]) == ("all_reduce", 4, "unknown")
    assert told["summary"].startswith("there is no baseline for all_reduce float sum -1 on 4 nodes")
    assert told["runs"][0].startswith("r1.w1-0.")
    assert f"no baseline of equal runs yet: {SWEEP}" in wave.said


def test_a_wave_as_fast_as_before_says_so_with_pictures(wave: Wave) -> None:
    setting = wave.promoted()
    ruling, outcome = wave.gate(weight=Weight.ENFORCE)
    assert (ruling, outcome.warnings, wave.labels) == (Ruling(), (), ["p1", "w1"])
    assert f"against its baseline: {SWEEP}: as fast as its baseline" in wave.said
    [told] = outcome.baselines
    assert (told["setting"], told["verdict"], told["baseline"][:12]) == (setting, "pass", setting)
    assert told["pictures"] == [f"baseline-{setting}-{kind}.svg" for kind in ("sizes", "trend")]
    assert all((wave.folder / name).exists() for name in told["pictures"])


@pytest.mark.parametrize(
    ("weight", "verdict"), [(Weight.WARN, Verdict.PASS), (Weight.ENFORCE, Verdict.FAIL)]
)
def test_what_is_slow_twice_warns_or_fails_the_wave(
    wave: Wave, weight: Weight, verdict: Verdict
) -> None:
    wave.promoted(1.2)
    ruling, outcome = wave.gate(weight=weight)
    assert wave.labels == ["p1", "w1", "r1"]
    seen = (
        "352.7 GB/s at 4 GiB, 16.8% below 423.95; 358.6 GB/s at 8 GiB, 16.8% below 431.04; 322 "
        "GB/s at 1 GiB, 16.8% below 387.04; 341.4 GB/s at 2 GiB, 16.8% below 410.36 and 1 more: "
        "slower than its baseline, and again when it was run once more, on the same stack"
    )
    assert outcome.warnings == (f"{SWEEP}: {seen}",)
    problem = "" if verdict is Verdict.PASS else f"{SWEEP}: {seen}"
    assert (ruling.verdict, ruling.problem) == (verdict, problem)
    assert ("yard baseline show " in ruling.next_step) == bool(problem)
    [told] = outcome.baselines
    assert (told["verdict"], told["seek_node"], len(told["runs"])) == ("fail", True, 2)
    assert [each.round for each in wave.wave.measured if each.stage is Stage.SWEEP] == ["w1", "r1"]
    assert f"warning: {SWEEP}: {seen}" in wave.said


def test_what_is_slow_once_is_told_and_fails_nothing(wave: Wave) -> None:
    wave.promoted(1.2)
    ruling, outcome = wave.gate(
        lambda asked, _: 1.2 if asked.label == "r1" else 1.0, weight=Weight.ENFORCE
    )
    assert ruling == Ruling()
    [warning] = outcome.warnings
    assert warning.endswith("slower than its baseline, and not in another of 2 runs (2 are needed)")


def test_a_rerun_that_shows_a_wrong_result_fails_the_wave_whatever_a_baseline_weighs(
    wave: Wave,
) -> None:
    wave.promoted(1.2)
    wave.damage = lambda asked, text: (
        re.sub(r"       0\n", "       3\n", text) if asked.label == "r1" else text
    )
    ruling, _ = wave.gate()
    assert ruling.verdict is Verdict.FAIL
    assert ruling.problem.startswith(f"{SWEEP}: ")
    assert "wrong" in ruling.problem


@pytest.mark.parametrize(
    ("weight", "verdict"), [(Weight.WARN, Verdict.PASS), (Weight.ENFORCE, Verdict.UNKNOWN)]
)
def test_a_rerun_that_never_ends_confirms_nothing(
    wave: Wave, weight: Weight, verdict: Verdict
) -> None:
    wave.promoted(1.2)
    wave.hangs = lambda asked: asked.label == "r1"
    ruling, outcome = wave.gate(weight=weight)
    assert ruling.verdict is verdict
    assert outcome.warnings[0].endswith("slower than its baseline, seen once")
    assert outcome.warnings[1:] == (
        f"{SWEEP}: run once more, it could not be compared (unknown: it did not end in time)",
    )


def test_a_rerun_for_which_there_is_no_time_leaves_the_wave_as_it_was(wave: Wave) -> None:
    wave.promoted(1.2)

    def late(asked: Round, _group: tuple[str, ...]) -> float:
        if asked.label == "r1":
            raise UnknownError("its 3600 s are over; give it more with --timeout")
        return 1.0

    ruling, outcome = wave.gate(late)
    assert ruling == Ruling()
    assert outcome.warnings[0].endswith("slower than its baseline, seen once")
    assert outcome.warnings[1] == (
        f"{SWEEP} could not be run once more: its 3600 s are over; give it more with --timeout"
    )


def test_another_stack_is_told_and_blames_nobody(wave: Wave) -> None:
    wave.promoted(1.2)
    wave.damage = lambda _asked, text: text.replace("nccl-library=23004", "nccl-library=23100")
    ruling, outcome = wave.gate(weight=Weight.ENFORCE)
    assert (ruling, wave.labels) == (Ruling(), ["p1", "w1"])
    [warning] = outcome.warnings
    assert "(nccl 2.30.4 -> 2.31.0), so nobody is blamed" in warning


def test_runs_of_a_wave_that_did_not_pass_are_kept_and_are_no_candidates(wave: Wave) -> None:
    wave.gate(verdict=Verdict.FAIL)
    assert wave.store is not None
    [ledger] = wave.store.ledgers()
    [run] = ledger.runs
    assert (run.verdict, run.reasons) == (
        Verdict.UNKNOWN,
        ("its wave did not pass: fail it is",),
    )
    with pytest.raises(UsageError, match="0 different accepted runs are there, and 3 are needed"):
        wave.store.promote(ledger.setting.id, by="me", why="x", now=START)


def test_a_run_whose_job_never_ended_is_not_kept_as_passed(wave: Wave) -> None:
    wave.hangs = lambda asked: asked.label == "w1"
    wave.gate()
    assert wave.store is not None
    [ledger] = wave.store.ledgers()
    assert [(run.label, run.verdict) for run in ledger.runs] == [
        ("w1-0", Verdict.UNKNOWN),
        ("w2-0", Verdict.PASS),
    ]


def test_of_a_thousand_pairs_nothing_is_remembered_but_the_digests_of_failures(
    wave: Wave,
) -> None:
    slow_pair = ("node-00", "node-01")
    wave.gate(lambda asked, group: 0.5 if asked.label == "p1" and group == slow_pair else 1.0)
    assert wave.store is not None
    assert {each.setting.nodes for each in wave.store.ledgers()} == {4}
    assert set(wave.logs.evidence) == set(slow_pair)


def test_a_bucket_that_is_away_is_told_and_the_index_has_the_runs(wave: Wave) -> None:
    wave.bucket.away = True
    ruling, outcome = wave.gate(collectives=("all_reduce", "alltoall"))
    assert ruling == Ruling()
    [warning] = outcome.warnings
    assert re.fullmatch(
        r"runs are missing from the records: cannot write runs/\w+/r1.w1-0.\w+.json: away; what "
        r"one of index and bucket has, yard baseline sync brings to both",
        warning,
    )
    assert wave.store is not None
    assert len(wave.store.ledgers()) == 2


class Unread(MemoryShelf):
    """A shelf that cannot be read."""

    def documents(self) -> list[Document]:
        raise UnknownError("list ConfigMaps: the Kubernetes API does not answer")

    def read(self, name: str) -> Document | None:
        raise UnknownError(f"list ConfigMaps for {name}: the Kubernetes API does not answer")


def test_an_index_that_is_away_is_told_and_the_bucket_has_the_runs(wave: Wave) -> None:
    wave.store = BaselineStore(Unread(), wave.bucket)
    ruling, outcome = wave.gate(weight=Weight.ENFORCE)
    assert (ruling, outcome.baselines, len(wave.bucket.held)) == (Ruling(), (), 1)
    assert outcome.warnings[0] == (
        "no run was compared with a baseline: list ConfigMaps: the Kubernetes API does not answer"
    )
    assert outcome.warnings[1].startswith("runs are missing from the records: list ConfigMaps for")


def test_without_a_store_nothing_is_kept_and_nothing_said(wave: Wave) -> None:
    wave.store = None
    assert wave.gate(weight=Weight.ENFORCE) == (Ruling(), HistoryOutcome())
    assert wave.said == []


def test_a_picture_that_cannot_be_written_is_told(wave: Wave) -> None:
    wave.promoted()
    wave.folder = wave.folder / "file" / "pictures"
    wave.folder.parent.write_text("in the way")
    _, outcome = wave.gate()
    assert outcome.warnings[-1].startswith("not every picture was drawn: --pictures ")
