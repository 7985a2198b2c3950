"""A run's answers are kept as they come, and given again to who resumes it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from components.catalog import instance_type
from scripts.errors import UnknownError
from scripts.gate import journal as journals
from scripts.gate.journal import Journal, open_run, unfinished
from scripts.gate.request import Request
from scripts.nccl.judge import Judgement
from scripts.node.finding import NodeFinding
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.verdicts import Finding, Verdict
from tests.records.fake import MemoryShelf

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
WORDS = TypeAdapter(list[str])

REQUEST = Request(
    run="20261201-080000-ab12",
    pool="train",
    wave="1",
    nodes=14,
    instance=instance_type("p5.48xlarge"),
    image=f"nccl@sha256:{'0' * 64}",
    namespace="trainyard-gate",
    timeout=3600,
)


def never() -> list[str]:
    raise AssertionError("the answer was kept, so nobody asks again")


def test_a_resumed_run_gets_the_kept_answers_and_asks_for_the_first_that_is_missing() -> None:
    shelf, lines = MemoryShelf(), list[str]()
    first = Journal(shelf, "r1")
    assert first.once("members", WORDS, lambda: ["a", "b"]) == ["a", "b"]
    assert first.once("p1", WORDS, lambda: ["pass"]) == ["pass"]

    second = Journal(shelf, "r1", lines.append, resumes=True)
    assert second.once("members", WORDS, never) == ["a", "b"]
    assert second.once("p1", WORDS, never) == ["pass"]
    assert second.once("w1", WORDS, lambda: ["fail"]) == ["fail"]
    assert second.once("w2", WORDS, lambda: ["pass"]) == ["pass"]
    assert lines == ["run r1 goes on with w1"]


def test_another_run_does_not_get_what_a_run_kept() -> None:
    shelf = MemoryShelf()
    Journal(shelf, "r1").once("members", WORDS, lambda: ["a"])
    assert Journal(shelf, "r2", resumes=True).once("members", WORDS, lambda: ["b"]) == ["b"]


def test_without_a_shelf_everything_is_asked() -> None:
    silent = Journal()
    assert silent.once("members", WORDS, lambda: ["a"]) == ["a"]
    assert silent.once("members", WORDS, lambda: ["b"]) == ["b"]
    assert not silent.resumed


def test_an_answer_that_raises_is_not_kept() -> None:
    shelf = MemoryShelf()

    def stops() -> list[str]:
        raise UnknownError("the API is away")

    with pytest.raises(UnknownError, match="the API is away"):
        Journal(shelf, "r1").once("members", WORDS, stops)
    assert shelf.documents() == []


@given(answer=st.lists(st.text(max_size=20), max_size=30), part=st.integers(10, 200))
def test_an_answer_of_any_size_comes_back_as_it_was(answer: list[str], part: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(journals, "PART", part)
        shelf = MemoryShelf()
        Journal(shelf, "r1").once("members", WORDS, lambda: answer)
        assert Journal(shelf, "r1", resumes=True).once("members", WORDS, never) == answer


def test_an_answer_whose_first_part_is_missing_was_not_kept_whole_and_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journals, "PART", 8)
    shelf = MemoryShelf()
    Journal(shelf, "r1").once("members", WORDS, lambda: ["a", "b"])
    shelf.remove("r1.members.0")
    resumed = Journal(shelf, "r1", resumes=True)
    assert resumed.once("members", WORDS, lambda: ["a", "b"]) == ["a", "b"]
    assert Journal(shelf, "r1", resumes=True).once("members", WORDS, never) == ["a", "b"]


def test_what_was_kept_beyond_the_first_missing_answer_is_asked_again_and_kept_anew() -> None:
    shelf = MemoryShelf()
    first = Journal(shelf, "r1")
    for label in ("members", "p1", "p2"):
        first.once(label, WORDS, lambda: ["old"])
    shelf.remove("r1.p1.0")

    second = Journal(shelf, "r1", resumes=True)
    assert second.once("members", WORDS, never) == ["old"]
    for label in ("p1", "p2"):
        assert second.once(label, WORDS, lambda: ["new"]) == ["new"]

    third = Journal(shelf, "r1", resumes=True)
    kept = [third.once(label, WORDS, never) for label in ("members", "p1", "p2")]
    assert kept == [["old"], ["new"], ["new"]]


def test_an_answer_that_was_cut_off_while_it_was_kept_does_not_mix_with_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journals, "PART", 8)
    shelf = MemoryShelf()
    Journal(shelf, "r1").once("members", WORDS, lambda: ["a", "b"])
    shelf.remove("r1.members.0")
    Journal(shelf, "r1", resumes=True).once("members", WORDS, lambda: ["c", "d"])
    assert Journal(shelf, "r1", resumes=True).once("members", WORDS, never) == ["c", "d"]


def test_an_answer_that_lost_a_part_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "PART", 8)
    shelf = MemoryShelf()
    Journal(shelf, "r1").once("members", WORDS, lambda: ["a", "b"])
    shelf.remove("r1.members.1")
    with pytest.raises(UnknownError, match="what run r1 kept as members is not readable: "):
        Journal(shelf, "r1", resumes=True).once("members", WORDS, never)


def test_a_journal_that_was_half_forgotten_is_not_gone_on_with() -> None:
    class Stops(MemoryShelf):
        def remove(self, name: str) -> None:
            super().remove(name)
            raise UnknownError("the API is away")

    shelf = Stops()
    open_run(shelf, REQUEST, NOW)
    running = Journal(shelf, REQUEST.run)
    running.once("members", WORDS, lambda: ["a"])
    with pytest.raises(UnknownError, match="the API is away"):
        running.close()
    assert unfinished(shelf, "train-1") is None


@pytest.mark.parametrize(
    "judgement",
    [
        Judgement(Verdict.PASS, (), 352.7, ((1024, 0.5), (2048, 1.0)), {"nccl": "2.30.4"}),
        Judgement(Verdict.FAIL, (Finding("bandwidth", Verdict.FAIL, "low", "look", (7, 9)),), 1.0),
    ],
)
def test_a_judgement_on_a_run_comes_back_equal(judgement: Judgement) -> None:
    kind, shelf = TypeAdapter(list[Judgement]), MemoryShelf()
    Journal(shelf, "r1").once("p1", kind, lambda: [judgement])
    assert Journal(shelf, "r1", resumes=True).once("p1", kind, list) == [judgement]


def test_a_judgement_on_a_node_comes_back_equal() -> None:
    found = (NodeFinding("ecc", Severity.RESET, "bad"), NodeFinding("job", None, "it hung"))
    judgement = NodeJudgement(
        Verdict.FAIL, Severity.RESET, found, {"driver": "580"}, ({"uuid": "GPU-1"},), ("dcgm",)
    )
    kind, shelf = TypeAdapter(dict[str, NodeJudgement]), MemoryShelf()
    Journal(shelf, "r1").once("static-n", kind, lambda: {"a": judgement})
    again = Journal(shelf, "r1", resumes=True).once("static-n", kind, dict)
    assert again == {"a": judgement}
    assert again["a"].as_json() == judgement.as_json()


def test_what_is_not_readable_is_unknown_and_tells_how_to_begin_anew() -> None:
    shelf = MemoryShelf()
    Journal(shelf, "r1").once("members", TypeAdapter(int), lambda: 7)
    with pytest.raises(UnknownError) as stopped:
        Journal(shelf, "r1", resumes=True).once("members", WORDS, never)
    assert str(stopped.value) == (
        "what run r1 kept as members is not readable: Input should be a valid array; begin anew "
        "with yard gate run --fresh"
    )


def test_a_run_is_unfinished_until_its_journal_is_closed() -> None:
    shelf = MemoryShelf()
    assert unfinished(shelf, "train-1") is None
    open_run(shelf, REQUEST, NOW)
    header = unfinished(shelf, "train-1")
    assert header is not None
    assert (header.request, header.started) == (REQUEST, NOW)
    running = Journal(shelf, REQUEST.run)
    running.once("members", WORDS, lambda: ["a"])
    running.close()
    assert shelf.documents() == []


def test_a_new_run_forgets_what_an_earlier_one_kept() -> None:
    shelf = MemoryShelf()
    open_run(shelf, REQUEST, NOW)
    Journal(shelf, REQUEST.run).once("members", WORDS, lambda: ["a"])
    open_run(shelf, replace(REQUEST, run="20261201-090000-cd34"), NOW)
    assert [each.name for each in shelf.documents()] == ["train-1"]


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 99}', "\x00"])
def test_a_header_that_cannot_be_read_is_no_run_to_resume(text: str) -> None:
    shelf = MemoryShelf()
    shelf.add("train-1", text)
    assert unfinished(shelf, "train-1") is None


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (replace(REQUEST, run="other"), True),
        (replace(REQUEST, timeout=60), True),
        (replace(REQUEST, nodes=15), False),
        (replace(REQUEST, image="other"), False),
        (replace(REQUEST, dcgm=2), False),
        (replace(REQUEST, again=True), False),
        (replace(REQUEST, without=frozenset({"i-1"}), ready_within=1800), True),
    ],
)
def test_a_request_is_the_same_whatever_its_run_and_its_time(other: Request, *, same: bool) -> None:
    assert REQUEST.same(other) is same
