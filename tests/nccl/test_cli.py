import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.errors import UsageError
from scripts.nccl.cli import nccl
from tests.nccl.logs import DATA, GOOD, text
from tests.nccl.make import Run

TYPE = ["--type", "p5.48xlarge", "--nodes", "2"]


def test_a_good_log_is_one_line_and_exit_code_0() -> None:
    result = CliRunner().invoke(nccl, ["judge", str(DATA / GOOD), *TYPE])
    assert result.output == (
        f"pass: {DATA / GOOD}: at least 478.6 GB/s at every judged size "
        "(floor 430 GB/s from 8 GiB on)\n"
    )
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("name", "code"), [("bad_wrong.txt", 1), ("bad_truncated.txt", 3), (GOOD, 0)]
)
def test_the_worst_log_gives_the_exit_code(name: str, code: int) -> None:
    logs = [str(DATA / GOOD), str(DATA / name)]
    assert CliRunner().invoke(nccl, ["judge", *logs, *TYPE]).exit_code == code


def test_json_from_standard_input_is_one_object() -> None:
    log = text("bad_wrong.txt")
    result = CliRunner().invoke(nccl, ["judge", "-", *TYPE, "--json"], input=log)
    report = json.loads(result.output)
    assert (report["verdict"], report["findings"][0]["lines"]) == ("fail", [39, 41])


def test_an_unknown_type_is_bad_use() -> None:
    result = CliRunner().invoke(nccl, ["judge", "-", "--type", "p5.24xlarge", "--nodes", "2"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith("'p5.24xlarge' is not an instance type of the catalog")


def test_ranks_that_were_split_on_purpose_have_a_floor_of_their_own(tmp_path: Path) -> None:
    log = tmp_path / "split.log"
    log.write_text(Run(group_of=lambda rank: rank % 8).text())
    split = ["--communicators", "8"]
    result = CliRunner().invoke(nccl, ["judge", str(log), *TYPE, *split])
    assert "bandwidth was not judged (no floor)" in result.output.splitlines()[0] or (
        "do not belong together" in result.output
    )
    assert result.exit_code == 3
    whole = CliRunner().invoke(nccl, ["judge", str(log), *TYPE])
    assert whole.exit_code == 1


def test_one_file_of_results_belongs_to_one_log() -> None:
    log, results = str(DATA / GOOD), str(DATA / "good_p5_2n.json")
    result = CliRunner().invoke(nccl, ["judge", log, log, *TYPE, "--results", results])
    assert str(result.exception) == "--results belongs to one log and 2 are given; give one"


def test_json_tells_the_floor_with_its_source() -> None:
    result = CliRunner().invoke(nccl, ["judge", str(DATA / GOOD), *TYPE, "--json"])
    floor = json.loads(result.output)["floor"]
    assert (floor["busbw"], floor["from_bytes"], floor["date"], floor["confidence"]) == (
        430,
        8 * 2**30,
        "2026-12-01",
        "high",
    )
