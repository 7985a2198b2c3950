import json

import pytest
from click.testing import CliRunner

from scripts.errors import UsageError
from scripts.nccl.cli import nccl
from tests.nccl.logs import DATA, GOOD, text

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
