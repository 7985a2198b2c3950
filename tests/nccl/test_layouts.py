"""Every layout of the table, of every collective, is read into the same numbers."""

import pytest

from scripts.nccl.log import parse
from scripts.verdicts import Verdict
from tests.nccl.logs import judged, reasons
from tests.nccl.make import GIB, Layout, Run

SWEEP = ["all_reduce", "all_gather", "reduce_scatter", "alltoall"]

FIELDS = {
    ("2.0", "all_reduce"): 12,
    ("2.0", "all_gather"): 11,
    ("2.9", "all_reduce"): 12,
    ("2.9", "alltoall"): 11,
    ("2.13", "all_gather"): 13,
    ("2.18", "alltoall"): 13,
    ("timestamps", "all_reduce"): 15,
    ("per_iteration", "reduce_scatter"): 21,
}


@pytest.mark.parametrize(("layout", "collective"), FIELDS)
def test_the_forms_made_here_have_the_fields_of_their_releases(
    layout: Layout, collective: str
) -> None:
    row = Run(layout=layout, collective=collective).row(GIB)
    assert len(row.split()) == FIELDS[layout, collective]


@pytest.mark.parametrize("layout", ["2.0", "2.9", "2.13", "2.18", "timestamps", "per_iteration"])
@pytest.mark.parametrize("collective", SWEEP)
def test_a_row_means_the_same_in_every_layout(layout: Layout, collective: str) -> None:
    run = Run(layout=layout, collective=collective)
    [table] = parse(run.lines()).tables
    row = table.rows[-1]
    assert row.size == 16 * GIB
    assert row.busbw == pytest.approx(run.busbw(16 * GIB), abs=0.01)
    assert row.out_of_place.time_us == pytest.approx(row.in_place.time_us)
    algbw = row.size / row.out_of_place.time_us / 1e3
    assert row.out_of_place.algbw == pytest.approx(algbw, rel=1e-3)
    assert row.out_of_place.wrong == 0


@pytest.mark.parametrize("layout", ["2.0", "2.9", "2.13", "2.18", "timestamps", "per_iteration"])
@pytest.mark.parametrize("collective", SWEEP)
def test_a_good_run_passes_and_a_slow_one_fails_against_its_own_floor(
    layout: Layout, collective: str
) -> None:
    good = judged(Run(layout=layout, collective=collective).text(), collective=collective)
    assert (good.verdict, reasons(good)) == (Verdict.PASS, [])
    slow = Run(layout=layout, collective=collective, busbw=lambda _size: 50.0)
    found = judged(slow.text(), collective=collective)
    floor = {"all_reduce": 430, "alltoall": 65}.get(collective, 290)
    assert found.verdict is Verdict.FAIL
    assert f"below the floor of {floor} GB/s for {collective} on 2 nodes" in found.summary


@pytest.mark.parametrize("kind", ["bfloat16", "half", "f8e4m3", "f8e5m2", "int8", "double"])
def test_any_data_type_is_read(kind: str) -> None:
    judgement = judged(Run(types=[kind]).text())
    assert (judgement.verdict, judgement.facts["kind"]) == (Verdict.PASS, f"{kind} sum -1")


def test_several_data_types_in_one_table_are_each_judged_whole() -> None:
    run = Run(types=["float", "bfloat16"])
    assert judged(run.text()).verdict is Verdict.PASS
    lines = run.lines()
    lost = next(number for number, line in enumerate(lines) if "bfloat16" in line)
    assert reasons(judged(lines[:lost] + lines[lost + 1 :])) == [
        (
            "unknown whole (line 32): bfloat16 sum -1: 4 of 5 rows; missing: 1 GiB; next: run it "
            "again and keep the whole output"
        ),
        (
            "unknown bandwidth (line 44): the footer's average is 465.093 GB/s and that of the "
            "rows 468.554: rows were lost or changed; next: give the output as it was written"
        ),
    ]


def test_numbers_shrink_to_exponents_where_their_width_runs_out() -> None:
    run = Run(busbw=lambda _size: 0.01, low=64 * GIB, high=64 * GIB)
    log = run.text().replace(f"{64 * GIB / 0.01 * 1.875 / 1e3:7.2f}", "1.3e+10")
    log = log.replace("    0.01    0.01", "  1e-02   1e-02")
    [table] = parse(log.splitlines()).tables
    assert table.rows[0].out_of_place.time_us == 1.3e10
    assert table.rows[0].out_of_place.busbw == 0.01


@pytest.mark.parametrize(
    "change",
    [
        ("#wrong", "#errors"),
        ("algbw", "speed"),
        ("    size    count", "   count     size"),
        ("time    algbw    busbw   #wrong     time", "time    algbw    busbw   #wrong     clock"),
    ],
)
def test_a_header_of_other_words_is_not_guessed_at(change: tuple[str, str]) -> None:
    old, new = change
    log = Run().text()
    assert old in log
    judgement = judged(log.replace(old, new))
    assert judgement.verdict is Verdict.UNKNOWN
    assert "a header of columns that are not known" in " ".join(reasons(judgement))


@pytest.mark.parametrize(
    "word", ["nan", "inf", "-1.5", "4_640.07", "4640,07", "0x10", "\u0664\u0666\u0664\u0660", "1e"]
)
def test_a_value_that_is_no_plain_number_is_no_measurement(word: str) -> None:
    row = Run().row(GIB)
    time = row.split()[5]
    log = Run().text().replace(row, row.replace(time, word, 1))
    assert reasons(judged(log))[0].startswith("unknown whole (line 34): 1 row could not be read")


@pytest.mark.parametrize(
    "row", ["  1073741824  268435456     float     sum      -1", "  1073741824"]
)
def test_a_row_that_ends_early_is_no_row(row: str) -> None:
    log = Run().text().replace(Run().row(GIB), row)
    assert judged(log).verdict is Verdict.UNKNOWN
