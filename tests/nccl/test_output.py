"""The JSON output of nccl-tests: the same judgement as its text, and never a secret."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.nccl.cli import nccl
from scripts.nccl.judge import Judgement, judge
from scripts.nccl.output import MAX_BYTES, parse_json
from scripts.nccl.source import join, read
from scripts.verdicts import Verdict
from tests.nccl.logs import DATA, expected, reasons
from tests.nccl.make import GIB, Run

CANARY = "AKIAIOSFODNN7EXAMPLE"
TEXT = Run().text()
BOTH = "JSON output holds none: judge the log of the same run, and give this file as --results"
AGAIN = "run it again and keep the whole output"

Change = Callable[[dict[str, Any]], object]


def document(run: Run | None = None, version: int = 3) -> dict[str, Any]:
    """Return what ``-J`` writes of a run."""
    run = run or Run()

    def side(size: int, *, checked: bool) -> dict[str, Any]:
        words = run.row(size).split()[5:9]
        wrong = None if not checked or words[3] == "N/A" else float(words[3])
        time, algbw, busbw = map(float, words[:3])
        return {"time": time, "alg_bw": algbw, "bus_bw": busbw, "nwrong": wrong}

    speeds = [run.busbw(size) for size in run.sizes]
    return {
        "version": version,
        "start_time": "2026-12-01 08:00:01",
        "args": [f"/opt/nccl-tests/build/{run.program}", "-J", "out.json"],
        "env": [f"AWS_ACCESS_KEY_ID={CANARY}", "PATH=/usr/bin"],
        "nccl_version": 23004,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "minimum_bytes": run.low,
            "maximum_bytes": run.high,
            "step_factor": 2,
            "validation": int(run.checked),
            "blocking_collectives": "false",
            "devices": [
                {
                    "rank": rank,
                    "group": run.group_of(rank),
                    "pid": run.first_pid + 7 * rank,
                    "hostname": run.hosts[rank // run.gpus],
                    "device": rank % run.gpus,
                    "device_hex": "0000:53:00",
                    "device_info": run.gpu,
                }
                for rank in range(run.ranks)
            ],
        },
        "results": [
            {
                "size": size,
                "count": size // 4,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": side(size, checked=run.checked),
                "in_place": side(size, checked=run.checked and run.collective != "alltoall"),
                "actual_iterations": 20,
                "experiment_name": "AllReduce",
                "out_of_place_per_iter": {"min_us": 1.0, "times_us": [1.0, 2.0]},
            }
            for size in run.sizes
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": sum(speeds) / len(speeds), "okay": "unchecked"},
        "errors": [""],
        "end_time": "2026-12-01 08:02:11",
    }


def judged(content: str | bytes, nodes: int = 2, collective: str = "all_reduce") -> Judgement:
    raw = content.encode() if isinstance(content, str) else content
    return judge(parse_json(raw), expected(nodes, collective=collective))


def changed(change: Change) -> str:
    whole = document()
    change(whole)
    return json.dumps(whole)


def beside(log: str, content: str) -> Judgement:
    results = parse_json(content.encode())
    return judge(join(read(io.BytesIO(log.encode())), results), expected(2))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter", "alltoall"])
def test_the_numbers_are_those_of_the_text(version: int, collective: str) -> None:
    run = Run(collective=collective)
    content = json.dumps(document(run, version))
    alone = judged(content, collective=collective)
    told = judge(read(io.BytesIO(run.text().encode())), expected(2, collective=collective))
    assert (alone.curve, alone.lowest_busbw) == (told.curve, told.lowest_busbw)
    assert alone.facts == {"nccl": "23004", "kind": "float sum -1"}
    assert reasons(alone) == [
        f"unknown transport: no message of NCCL is in the log: EFA is not proved; next: {BOTH}"
    ]


def test_one_node_needs_no_messages() -> None:
    run = Run(hosts=["p5-a"])
    assert judged(json.dumps(document(run)), 1).verdict is Verdict.PASS


def test_the_shared_example_is_read() -> None:
    judgement = judged((DATA / "good_p5_2n.json").read_bytes())
    assert judgement.curve == ((4 * GIB, 464.8), (8 * GIB, 478.6), (16 * GIB, 486.2))
    assert [found.rule for found in judgement.reasons] == ["transport"]


def test_the_log_of_the_same_run_brings_the_messages() -> None:
    judgement = beside(TEXT, json.dumps(document()))
    assert (judgement.verdict, judgement.facts["ofi"]) == (Verdict.PASS, "1.20.0")


def test_a_log_whose_table_is_lost_is_judged_by_the_json() -> None:
    lines = [line for line in Run().lines() if not line.startswith("  ")]
    assert beside("\n".join(lines), json.dumps(document())).verdict is Verdict.PASS


def test_a_file_of_another_run_is_stale() -> None:
    other = json.dumps(document(Run(first_pid=9000)))
    assert reasons(beside(TEXT, other)) == [
        (
            "unknown whole: 1 part could not be read; the first: the JSON file is of another run, "
            "by the processes that it names (nccl-tests never writes over a file: it takes another "
            f"name if there is one); next: {AGAIN}"
        )
    ]


def test_a_log_that_names_nobody_ties_no_file_to_it() -> None:
    log = "\n".join(line for line in Run().lines() if "Rank" not in line)
    assert "nothing ties the JSON file to it" in beside(log, json.dumps(document())).summary


def test_wrong_values_in_either_fail() -> None:
    wrong = TEXT.replace("values : 0 OK", "values : 2 FAILED")
    assert beside(wrong, json.dumps(document())).verdict is Verdict.FAIL
    bad = changed(lambda whole: whole["results"][2]["in_place"].update(nwrong=17.0))
    assert judged(bad).summary == "results were wrong at 4 GiB"
    assert beside(TEXT, bad).verdict is Verdict.FAIL


def drop(*keys: str) -> Change:
    def change(whole: dict[str, Any]) -> None:
        for key in keys:
            del whole[key]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            drop("end_time"),
            (
                "the JSON output is cut or damaged: it has no end_time: the run did not come to "
                "its end"
            ),
        ),
        (
            drop("out_of_bounds", "average_bus_bandwidth"),
            ("the JSON output is cut or damaged: it lacks out_of_bounds, average_bus_bandwidth"),
        ),
        (drop("results"), "the JSON output is cut or damaged: it lacks results"),
        (
            lambda whole: whole.update(version=4),
            "1 part could not be read; the first: its version is 4, and 1, 2, 3 are known",
        ),
        (
            lambda whole: whole["results"].pop(1),
            "4 of 5 rows; missing: 2 GiB",
        ),
        (
            lambda whole: whole["results"][0]["in_place"].update(bus_bw="nan"),
            "1 part could not be read; the first: result 1: bus_bw is not a measurement",
        ),
        (
            lambda whole: whole["average_bus_bandwidth"].update(bandwidth="nan"),
            "1 part could not be read; the first: bandwidth is not a measurement",
        ),
        (
            lambda whole: whole["results"][0].update(out_of_place=None),
            "1 part could not be read; the first: result 1: out_of_place is no object",
        ),
        (
            lambda whole: whole["config"].update(validation=0),
            (
                "results were not compared with the right ones at any size; the footer says OK all "
                "the same"
            ),
        ),
        (
            lambda whole: [
                side.update(cpu_time=side.pop("time"))
                for each in whole["results"]
                for side in (each["out_of_place"], each["in_place"])
            ],
            "the times are of the CPU (-C 1), and no bandwidth follows from them",
        ),
        (
            lambda whole: whole["errors"].append("unhandled cuda error"),
            "the run ended by an error: # error: unhandled cuda error",
        ),
        (
            lambda whole: whole["config"].update(devices=whole["config"]["devices"][:8]),
            "wrong placement: ranks ran on 1 host (p5-a 8); 2 x 8 was expected",
        ),
    ],
)
def test_each_fault_is_named(change: Change, message: str) -> None:
    judgement = judged(changed(change))
    assert judgement.verdict is not Verdict.PASS
    assert message in [found.message for found in judgement.findings]


def test_a_process_with_several_gpus_is_listed_by_its_first() -> None:
    whole = document(Run(hosts=["p5-a"]))
    whole["config"].update(ngpus=8, devices=whole["config"]["devices"][:1])
    assert judged(json.dumps(whole), 1).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"version": 3}', '{"version": true}', "{\x00", "[" * 99_999],
)
def test_what_is_no_output_is_unknown(content: str) -> None:
    assert judged(content).verdict is Verdict.UNKNOWN


def test_numbers_without_an_end_are_unknown() -> None:
    for digits in ("9" * 400, "9" * 5000, "1e999", "-1", "NaN", "Infinity"):
        content = json.dumps(document()).replace(str(16 * GIB), digits)
        assert judged(content).verdict is Verdict.UNKNOWN, digits[:9]


def test_a_file_without_an_end_is_not_read() -> None:
    judgement = judged(b"{" + b" " * MAX_BYTES)
    assert judgement.summary == "the JSON output is cut or damaged: it is longer than 64 MiB"


@settings(max_examples=60, deadline=None)
@given(st.integers(1, len(json.dumps(document())) - 1))
def test_output_cut_anywhere_never_passes_and_repeats_no_secret(end: int) -> None:
    for judgement in (judged(cut := json.dumps(document())[:end]), beside(TEXT, cut)):
        assert judgement.verdict is Verdict.UNKNOWN
        assert CANARY not in json.dumps(judgement.as_json())


@pytest.mark.parametrize("key", ["rank", "group", "pid", "hostname"])
@pytest.mark.parametrize("value", [None, {}])
def test_a_device_of_which_one_value_cannot_be_read_is_no_device(key: str, value: object) -> None:
    whole = document(Run(hosts=["p5-a"]))
    whole["config"]["devices"][0][key] = value
    judgement = judged(json.dumps(whole), 1)
    assert judgement.verdict is Verdict.UNKNOWN
    assert any(
        each.message == "no line says which rank ran where; 1 x 8 ranks were expected"
        for each in judgement.findings
    )


leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
value = st.recursive(
    leaf, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_output_with_one_value_changed_never_crashes_and_passes_only_where_nobody_looks(
    data: st.DataObject,
) -> None:
    whole = document(Run(hosts=["p5-a"]))
    place: Any = whole
    above: Any = None
    path: list[object] = []
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        path.append(data.draw(st.sampled_from(keys)))
        above, place = place, place[path[-1]]
    above[path[-1]] = new = data.draw(value)
    judgement = judged(json.dumps(whole), 1)
    ignored = {"env", "args", "start_time", "nccl_version", "end_time", "errors", "pid", "device"}
    ignored |= {"device_hex", "count", "root", "type", "redop", "actual_iterations", "group"}
    ignored |= {
        "experiment_name",
        "out_of_place_per_iter",
        "blocking_collectives",
        "okay",
        "version",
    }
    unseen = ignored & set(map(str, path)) or new == place
    numbers = isinstance(new, int | float) and isinstance(place, int | float)
    assert judgement.verdict is not Verdict.PASS or unseen or numbers


def test_the_command_tells_the_formats_apart_and_shows_no_secret(tmp_path: Path) -> None:
    results, log = tmp_path / "out.json", tmp_path / "run.log"
    results.write_text(json.dumps(document()))
    log.write_text(TEXT)
    kind = ["--type", "p5.48xlarge", "--nodes", "2", "--json"]
    alone = CliRunner().invoke(nccl, ["judge", str(results), *kind])
    both = CliRunner().invoke(nccl, ["judge", str(log), "--results", str(results), *kind])
    assert (alone.exit_code, both.exit_code) == (3, 0)
    assert json.loads(both.output)["curve_gbps"] == json.loads(alone.output)["curve_gbps"]
    assert CANARY not in alone.output + both.output
