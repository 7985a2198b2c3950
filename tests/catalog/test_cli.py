import json
from collections.abc import Mapping

import pytest
from click.testing import CliRunner, Result
from moto.ec2.models.instance_types import INSTANCE_TYPES

from components.catalog import instance_types
from scripts.catalog import cli
from scripts.catalog.ec2 import Answer
from scripts.errors import UsageError

UNKNOWN = (
    "'p5.84xlarge' is not an instance type of the catalog; nearest: "
    "p5.4xlarge, p5.48xlarge, p5e.48xlarge"
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.catalog, arguments)


def answer(monkeypatch: pytest.MonkeyPatch, types: Mapping[str, object]) -> None:
    """Let EC2 say this of types, with zones as in the catalog."""
    zones = {
        name: kind.offered_in["us-east-1"]
        for name, kind in instance_types().items()
        if "us-east-1" in kind.offered_in
    }
    monkeypatch.setattr(cli, "ask", lambda _names, _region: Answer("us-east-1", types, zones))


def test_all_commands_are_there_with_help() -> None:
    commands = ["docs", "floors", "list", "show", "verify"]
    shown = run("--help").output
    assert [name for name in commands if f"\n  {name} " in shown] == commands


def test_the_list_names_every_type_and_cuts_none() -> None:
    result = run("list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()[3:]] == list(instance_types())
    assert "…" not in result.output
    assert max(map(len, result.output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("vendor", "families"),
    [("neuron", {"trn1", "trn1n", "trn2", "trn2u"}), ("none", {"m7i", "m7g", "c7i"})],
)
def test_the_list_can_be_of_one_vendor(vendor: str, families: set[str]) -> None:
    rows = json.loads(run("list", "--vendor", vendor, "--json").output)
    assert {row["name"].split(".")[0] for row in rows} == families


def test_show_prints_the_layout_that_is_asked_for() -> None:
    assert "cards, lean layout" in run("show", "p5.48xlarge").output
    assert "cards, wide layout" in run("show", "p5.48xlarge", "--layout", "wide").output
    data = json.loads(run("show", "p5.48xlarge", "--region", "us-east-2", "--json").output)
    assert list(data["offered_in"]) == ["us-east-2"]


@pytest.mark.parametrize(
    "arguments",
    [["show", "p5.84xlarge"], ["verify", "p5.84xlarge"], ["floors", "--type", "p5.84xlarge"]],
)
def test_an_unknown_type_is_bad_use_and_the_nearest_are_named(arguments: list[str]) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, UsageError)
    assert (str(result.exception), result.exception.exit_code) == (UNKNOWN, 2)


@pytest.mark.usefixtures("signed_in")
def test_verify_passes_when_the_embedded_targets_ec2_says_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    result = run("verify", "p5.48xlarge", "trn2.48xlarge")
    assert result.output == (
        "pass: p5.48xlarge: as EC2 says in us-east-2 (15 facts)\n"
        "pass: trn2.48xlarge: as EC2 says in us-east-2 (15 facts)\n"
    )
    assert result.exit_code == 0


def test_verify_fails_on_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    told = INSTANCE_TYPES["p5.48xlarge"]
    answer(monkeypatch, {"p5.48xlarge": {**told, "VCpuInfo": {"DefaultVCpus": 96}}})
    result = run("verify", "p5.48xlarge")
    assert result.output == (
        "fail: p5.48xlarge: not as EC2 says in us-east-1\n  vCPU: 192 here, EC2 says 96\n"
    )
    assert result.exit_code == 1


def test_verify_of_a_type_that_ec2_does_not_know_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(monkeypatch, {"p5.48xlarge": INSTANCE_TYPES["p5.48xlarge"]})
    result = run("verify", "p5.48xlarge", "p6e-gb200.36xlarge", "--json")
    report = json.loads(result.output)
    assert result.exit_code == 3
    assert (report["region"], report["verdict"], report["not_checked"]) == (
        "us-east-1",
        "unknown",
        "",
    )
    assert report["types"] == [
        {"type": "p5.48xlarge", "verdict": "pass", "known": True, "facts": [], "notes": []},
        {
            "type": "p6e-gb200.36xlarge",
            "verdict": "unknown",
            "known": False,
            "facts": [],
            "notes": [],
        },
    ]


def test_verify_asks_for_every_type_when_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, INSTANCE_TYPES)
    lines = run("verify").output.splitlines()
    verdicts = [line.split(": ")[:2] for line in lines if not line.startswith(" ")]
    assert [name for _, name in verdicts] == list(instance_types())
    assert [pair for pair in verdicts if pair[0] != "pass"] == [["unknown", "p6e-gb200.36xlarge"]]


def test_verify_without_credentials_says_so_and_passes_nothing() -> None:
    result = run("verify", "p5.48xlarge", "--region", "us-east-1")
    assert result.output.startswith("not checked: there are no AWS credentials here; sign in")
    assert result.exit_code == 3
    as_data = run("verify", "p5.48xlarge", "--region", "us-east-1", "--json")
    report = json.loads(as_data.output)
    assert as_data.exit_code == 3
    assert (report["verdict"], report["types"]) == ("unknown", [])
    assert report["not_checked"].startswith("there are no AWS credentials here")


def test_floors_of_a_type_tell_nodes_window_value_and_source() -> None:
    output = run("floors", "--type", "p5.48xlarge").output
    rows = [line.split() for line in output.splitlines()[2:]]
    assert [row[:8] for row in rows if row[0] == "all_reduce"][1:] == [
        ["all_reduce", "p5.48xlarge", "2", "8", "GiB", "430", "high", "0.9"],
        ["all_reduce", "p5.48xlarge", "3", "and", "more", "4", "GiB", "330"],
    ]
    assert "oci-hpc ships 440" in output


def test_floors_as_json_are_all_of_them() -> None:
    rows = json.loads(run("floors", "--json").output)
    assert {row["collective"] for row in rows} == {
        "all_gather",
        "all_reduce",
        "alltoall",
        "reduce_scatter",
    }
    assert rows[0] == {
        "collective": "all_reduce",
        "instance_type": "p4d.24xlarge",
        "nodes": 1,
        "until_nodes": None,
        "from_bytes": 8 * 2**30,
        "busbw": 220.0,
        "source": "about 0.95 of 230-235 measured on p4d (awsome-distributed-ai nccl-tests)",
        "date": "2026-12-01",
        "confidence": "medium",
    }


def test_a_type_without_floors_says_what_a_pool_does_then() -> None:
    assert run("floors", "--type", "g5.48xlarge").output == (
        "no floor of g5.48xlarge is known: a pool gives its own (floor_gbps)\n"
    )
