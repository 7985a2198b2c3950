"""``yard storage judge`` on files."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from scripts.errors import UsageError
from scripts.storage.cli import storage
from tests.storage.logs import log

TYPE = ["--type", "p5.48xlarge", "--mbps", "2400"]


def run(folder: Path, *logs: str, more: tuple[str, ...] = ()) -> Result:
    files = [folder / f"n{index}.log" for index in range(len(logs))]
    for file, text in zip(files, logs, strict=True):
        file.write_text(text)
    return CliRunner().invoke(storage, ["judge", *map(str, files), *TYPE, *more])


def test_a_good_wave_passes(tmp_path: Path) -> None:
    done = run(tmp_path, *[log()] * 4)
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "pass: 4 of 4 logs pass",
        *(f"  n{index}: pass, write 599.9 MB/s, read 599.9 MB/s" for index in range(4)),
    ]


@pytest.mark.parametrize(
    ("logs", "code", "first"),
    [
        (
            [log(), log(), log(write=100), log()],
            1,
            (
                "fail: n2: storage-write: it writes 100 MB/s, and the median of 3 other nodes is "
                "600 [ISOLATE]"
            ),
        ),
        (
            [log(write=100)] * 4,
            1,
            (
                "fail: 4 nodes at once write 400 MB/s, and their share of what is sold is 2400, so "
                "nobody is blamed"
            ),
        ),
        (
            [log(), log(), "", log()],
            3,
            "unknown: n2: storage: this is no log of storage_check.sh, format 1",
        ),
    ],
)
def test_the_first_line_says_what_is_wrong(
    tmp_path: Path, logs: list[str], code: int, first: str
) -> None:
    done = run(tmp_path, *logs)
    assert (done.exit_code, done.output.splitlines()[0]) == (code, first)


def test_the_same_is_told_as_json(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path, *[log()] * 4, more=("--json",)).output)
    assert (told["verdict"], told["findings"]) == ("pass", [])
    assert told["nodes"]["n0"]["facts"]["storage_read_mbps"] == "599.9"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["a/n.log", "b/n.log", *TYPE],
            "two logs have the same name; give each node a name of its own",
        ),
        (
            ["a/n.log", "--type", "p9.48xlarge", "--mbps", "1"],
            (
                "'p9.48xlarge' is not an instance type of the catalog; nearest: p5.48xlarge, "
                "p5e.48xlarge, p5.4xlarge"
            ),
        ),
    ],
)
def test_bad_use_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "n.log").write_text(log())
    done = CliRunner().invoke(storage, ["judge", *arguments])
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == message
