"""The page of a report: it tells all that matters, stands alone, and stays small and safe."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from components.catalog.floors import Floor
from scripts.gate.stages import Measurement, Stage
from scripts.gate.verdict import NodeVerdict, Replacement, WaveVerdict
from scripts.nccl.judge import Judgement
from scripts.pictures.evidence import evidence
from scripts.pictures.reached import Shape, reached
from scripts.pictures.report import STYLE, page, save
from scripts.verdicts import Finding, Verdict
from tests.gate.fake import P5, FakeCluster, run_gate
from tests.pictures.drawn import contrast, read
from tests.support.golden import Golden

VOID = {"meta", "br"}
FLOOR = Floor(
    nodes=2,
    from_bytes=8 * 2**30,
    busbw=430,
    source="measured",
    date=date(2026, 1, 1),
    confidence="high",
)
GOOD = Judgement(Verdict.PASS, (), 480)
SLOW = Judgement(
    Verdict.FAIL, (Finding("bandwidth", Verdict.FAIL, "263 GB/s at 8 GiB", lines=(45, 46)),), 263
)
LOST = Judgement(Verdict.UNKNOWN, (Finding("job", Verdict.UNKNOWN, "it did not end in time"),))


class Page(HTMLParser):
    """Reads a page back: its texts in order, each with the element that it stands in."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and "svg" not in self.open and self.open[-1] != "style":
            self.texts.append(f"{self.open[-1]}: {data.strip()}")


def pair(number: int, left: str, right: str, judgement: Judgement) -> Measurement:
    return Measurement(f"p{number}", (left, right), judgement, Stage.PAIRS)


def small() -> WaveVerdict:
    """Return a verdict with a bad node, a held one, one that never came, and a failed check."""
    started = datetime(2026, 12, 1, 8, tzinfo=UTC)
    check = {
        "verdict": "fail",
        "findings": [
            {"rule": "ecc", "verdict": "pass", "message": "a note", "lines": []},
            {"rule": "gpus", "verdict": "fail", "message": "a GPU is lost", "lines": [3]},
        ],
    }
    good = {"verdict": "pass", "findings": []}
    told = [
        ("a", Verdict.PASS, "passed", good),
        ("b", Verdict.FAIL, "all_reduce fails with a and d, which are proven", good),
        ("c", Verdict.FAIL, "gpus: a GPU is lost", check),
        ("d", Verdict.PASS, "passed", good),
        ("e", Verdict.UNKNOWN, "it is not Ready any more", good),
    ]
    return WaveVerdict(
        run="20261201-080000-ab12",
        pool="train",
        wave="1",
        instance_type=P5,
        image="public.ecr.aws/hpc-cloud/nccl-tests@sha256:0",
        asked=6,
        started=started,
        ended=started + timedelta(minutes=12, seconds=3),
        verdict=Verdict.PASS,
        message="2 of 5 nodes open",
        next_step="mend or replace what is out",
        nodes=[
            NodeVerdict(
                name=name, provider_id=f"aws:///z/i-{name}", verdict=verdict, reason=why, check=seen
            )
            for name, verdict, why, seen in told
        ],
        measured=[
            Measurement("a1", ("a",), GOOD, Stage.ALONE),
            pair(1, "a", "b", SLOW),
            pair(1, "d", "e", LOST),
            pair(2, "b", "d", SLOW),
            pair(2, "a", "e", LOST),
            Measurement("w1", ("a", "d"), GOOD, Stage.SWEEP, "alltoall"),
        ],
        floors={"2 nodes": FLOOR},
        node_tests=5,
        warnings=["a in pairs: all_reduce, in GB/s, 6 % below the median"],
        replaced=[
            Replacement(name="z", provider_id="aws:///z/i-z", reason="a GPU is lost", run="r-0")
        ],
        baselines=[
            {
                "collective": "alltoall",
                "nodes": 2,
                "setting": "9c1e44b07a52",
                "verdict": "pass",
                "summary": "as fast as the baseline",
            }
        ],
    )


def test_the_page_tells_verdict_nodes_evidence_and_what_ran(golden: Golden) -> None:
    read_back = Page(page(small(), {}))
    golden.check("pictures/report.yaml", read_back.texts)
    details = [known for tag, known in read_back.elements if tag == "details"]
    assert [known.get("open") for known in details] == ["open", "open", "open", None]


def test_its_pictures_show_bars_against_floors_and_the_pairs() -> None:
    html = page(small(), {})
    bars, pairs = map(read, re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert bars.description == (
        "each node alone, all_reduce: 1 run, lowest 480 GB/s, floor 450 GB/s. "
        "pairs, all_reduce on 2 nodes: 4 runs, 2 without a number, lowest 263 GB/s, "
        "floor 430 GB/s. "
        "sweep, alltoall on 2 nodes: 1 run, lowest 480 GB/s, floor 65 GB/s."
    )
    assert pairs.title.startswith("Pairs of nodes: pool train wave 1 of p5.48xlarge")


def test_a_floor_that_was_given_is_the_one_that_is_drawn() -> None:
    verdict = small()
    verdict.floors = {"2 nodes": replace(FLOOR, busbw=99, confidence="given")}
    assert "floor 99 GB/s. sweep, alltoall" in page(verdict, {})


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_gate_that_tested_nothing_has_a_page_too(verdict: Verdict) -> None:
    nothing = {"nodes": [], "measured": [], "warnings": [], "replaced": [], "baselines": []}
    bare = replace(small(), verdict=verdict, ended=None, node_tests=0, **nothing)
    html = page(bare)
    texts = Page(html).texts
    assert "title: Gate of pool train wave 1: " + verdict in texts
    assert f"span: {verdict}" in texts
    assert "b: 6" in texts, "all six never came"
    assert "<svg" not in html


def test_the_page_stands_alone_and_runs_nothing() -> None:
    html = page(small(), {})
    read_back = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "a"} & {
        tag for tag, _ in read_back.elements
    }
    assert not any(name.startswith("on") for _, known in read_back.elements for name in known)
    assert not re.search(r"url\(|@import|href=|src=", html)
    addresses = set(re.findall(r"\w+://[^\s\"'<,]*", html))
    assert addresses == {
        "http://www.w3.org/2000/svg",
        *(f"aws:///z/i-{name}" for name in "bcez"),
    }


def test_what_logs_say_is_never_taken_for_a_part_of_the_page() -> None:
    evil = "<script>alert(1)</script>\"'>&amp;\x00\x1b[31m"
    verdict = small()
    verdict.message = verdict.next_step = evil
    verdict.nodes = [replace(node, name=node.name + evil, reason=evil) for node in verdict.nodes]
    verdict.measured = [
        replace(
            each,
            nodes=tuple(name + evil for name in each.nodes),
            judgement=replace(SLOW, findings=(Finding("x", Verdict.FAIL, evil),)),
        )
        for each in verdict.measured
    ]
    html = page(verdict, {})
    read_back = Page(html)
    assert "script" not in {tag for tag, _ in read_back.elements}
    assert "\x00" not in html
    assert "\x1b" not in html
    shown = "p: <script>alert(1)</script>\"'>&amp;\N{REPLACEMENT CHARACTER}"
    assert sum(text.startswith(shown) for text in read_back.texts) >= 2


def test_nodes_that_share_a_reason_share_a_box() -> None:
    verdict = small()
    held = [
        NodeVerdict(
            name=f"n{number:04}",
            provider_id="",
            verdict=Verdict.UNKNOWN,
            reason="the wave did not open",
        )
        for number in range(1024)
    ]
    verdict.nodes = held
    read_back = Page(page(verdict, {}))
    assert read_back.texts.count("b: 1024 nodes") == 1
    assert "summary: all of their names" in read_back.texts
    assert any(text.endswith("n1022, n1023") for text in read_back.texts)


def test_the_page_of_a_thousand_nodes_with_faults_is_small_and_names_each_bad_node() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(1024, leaf=16)
    bad = names[5::64]
    cluster.faults = {name: {"link"} for name in bad}
    html = page(run_gate(cluster, 1024), {name: cluster.states[name].place for name in names})
    assert len(html) < 200_000
    texts = Page(html).texts
    assert [text for text in texts if text in {f"b: {name}" for name in bad}] == [
        f"b: {name}" for name in sorted(bad)
    ]


def test_page_and_picture_are_written_beside_the_report(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    files = save(small(), {}, folder)
    assert [file.name for file in files] == ["gate-train-1.html", "gate-train-1-pairs.svg"]
    assert files[0].read_text().startswith("<!doctype html>")
    read(files[1].read_text())


def test_a_picture_of_an_earlier_run_is_not_left_behind(tmp_path: Path) -> None:
    save(small(), {}, tmp_path)
    again = small()
    again.measured = []
    assert save(again, {}, tmp_path) == [tmp_path / "gate-train-1.html"]
    assert [file.name for file in tmp_path.iterdir()] == ["gate-train-1.html"]


def test_evidence_names_small_runs_that_failed_first_then_those_that_passed() -> None:
    measured = [
        pair(1, "a", "b", GOOD),
        pair(2, "a", "c", SLOW),
        Measurement("a1", ("c",), LOST, Stage.ALONE),
        Measurement("w1", tuple("abcdefghijk"), SLOW, Stage.SWEEP),
    ]
    slow = "fail: 263 GB/s at 8 GiB (line 45, 46 of its log)"
    assert evidence(measured) == {
        "a": [
            f"p2: all_reduce with c: {slow}",
            "p1: all_reduce with b: pass: at least 480 GB/s at every judged size",
        ],
        "c": [
            f"p2: all_reduce with a: {slow}",
            "a1: all_reduce alone: unknown: it did not end in time",
        ],
    }


def test_evidence_of_many_runs_is_cut() -> None:
    found = evidence(pair(number, "a", f"n{number}", SLOW) for number in range(12))
    assert (len(found["a"]), found["a"][-1]) == (9, "4 more runs")


def test_a_bar_below_its_floor_differs_in_colour_and_in_words() -> None:
    drawn = read(reached("x", [Shape("low", [263, 480], 430), Shape("good", [480], 430)]))
    assert [mark.words for mark in drawn.of("rect", "h0") if mark.words] == [
        "low: 2 runs, lowest 263 GB/s, floor 430 GB/s"
    ]
    assert [mark.words for mark in drawn.of("text", "bad-ink")] == ["263 GB/s (61%)"]
    assert [mark.words for mark in drawn.of("circle", "open-dot") if mark.words] == [
        "median 371.5 GB/s"
    ]


def test_runs_without_a_number_have_no_bar() -> None:
    drawn = read(reached("x", [Shape("hung", [None], 430), Shape("no floor", [12.5], None)]))
    assert "no number" in drawn.texts()
    assert "12.5 GB/s" in drawn.texts()


def test_without_runs_there_is_no_picture() -> None:
    with pytest.raises(ValueError, match="there is nothing to draw: nothing was measured"):
        reached("x", [])


def test_words_of_the_page_can_be_read_on_light_and_on_dark_screens() -> None:
    light, dark = (
        dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})", line))
        for line in STYLE.read_text().splitlines()[:2]
    )
    for colours in (light, dark):
        full = {name: _full(colour) for name, colour in colours.items()}
        for name in ("ink", "soft", "pass", "fail", "unknown"):
            for paper in ("bg", "card"):
                assert contrast(full[name], full[paper]) >= 4.5, f"{name} on {full[paper]}"
        for badge in ("pass", "fail", "unknown"):
            assert contrast(full["on"], full[badge]) >= 4.5


def _full(colour: str) -> str:
    return colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
