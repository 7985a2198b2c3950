"""Capturing this very machine: real commands, real hangs, raw outputs."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.errors import UsageError
from scripts.node.capture import Capture, parse, read_folder
from scripts.node.cli import node
from scripts.node.profiles import policy
from scripts.node.take import SCRIPT, dcgm_environment, take
from tests.node.captures import capture, judged, shown

pytestmark = pytest.mark.slow

# Seconds of this process alone: another worker of the same tests has sleepers of its own.
NAP = f"61.{os.getpid()}"

PRETENDED = """\
run() {
    case $1 in --list) ;; esac
    name=$1 limit=$2
    shift 2
    if [ "$mode" = --list ]; then echo "$name $limit"; return; fi
    [ "$name" = "$wanted" ] || return
    command -v "$1" >/dev/null 2>&1 || exit 127
    exec "$@"
}
mode=$1
wanted=$2
run good 5 printf 'one\\ntwo\\n'
run bad 5 sh -c 'echo out; echo err >&2; exit 3'
run gone 5 no-such-tool-anywhere
run raw 5 printf '\\000\\377\\n\\n\\n'
run hangs 1 sh -c 'echo before; sleep NAP & wait'
run deaf 1 sh -c 'trap "" TERM INT HUP; echo deaf; sleep NAP'
run last 5 echo last
[ "$mode" = --list ] || exit 127
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    script = tmp_path_factory.mktemp("script") / "check.sh"
    script.write_text(PRETENDED.replace("NAP", NAP))
    folder = tmp_path_factory.mktemp("made") / "capture"
    started = time.monotonic()
    assert take(folder, script=script) == 7
    assert time.monotonic() - started < 20
    return folder


@pytest.fixture
def taken(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "capture"))


def test_every_command_leaves_its_raw_output_and_how_it_ended(taken: Path) -> None:
    ends = {file.stem: file.read_text().strip() for file in taken.glob("*.end")}
    assert ends == {
        "good": "rc=0",
        "bad": "rc=3",
        "gone": "missing",
        "raw": "rc=0",
        "hangs": "timeout",
        "deaf": "timeout",
        "last": "rc=0",
    }
    assert (taken / "good.out").read_bytes() == b"one\ntwo\n"
    assert (taken / "bad.out").read_bytes() == b"out\nerr\n"
    assert (taken / "raw.out").read_bytes() == b"\x00\xff\n\n\n"
    assert (taken / "hangs.out").read_bytes() == b"before\n"


def test_a_command_that_hangs_leaves_no_process_behind(taken: Path) -> None:
    assert (taken / "hangs.end").is_file()
    assert [entry for entry in Path("/proc").glob("[0-9]*") if _is_ours(entry)] == []


def _is_ours(process: Path) -> bool:
    try:
        return (process / "cmdline").read_bytes() == f"sleep\0{NAP}\0".encode()
    except OSError:
        return False


def test_a_folder_is_read_as_it_was_written(taken: Path) -> None:
    found = read_folder(taken)
    assert (found.known_format, found.complete, found.repeated) == (True, True, set())
    assert found.sections["good"].output == ["one", "two"]
    assert found.sections["good"].numbers == [1, 2]
    assert (found.sections["bad"].state, found.sections["bad"].code) == ("ended", 3)
    assert found.sections["gone"].state == "missing"
    assert found.sections["hangs"].state == "timeout"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "last.end").unlink(),
        lambda folder: (folder / "capture.txt").write_text("something else\n"),
        lambda folder: (folder / "capture.txt").unlink(),
        lambda folder: (folder / "more.end").write_text("rc=0"),
        lambda folder: (folder / "good.end").write_text("rc=maybe"),
    ],
)
def test_a_folder_that_was_not_finished_is_not_whole(taken: Path, damage: object) -> None:
    assert callable(damage)
    damage(taken)
    found = read_folder(taken)
    assert not found.complete or found.sections["good"].state == "open" or _open(found)


def _open(found: Capture) -> bool:
    return any(section.state == "open" for section in found.sections.values())


def test_an_old_capture_is_never_mixed_with_a_new_one(taken: Path) -> None:
    with pytest.raises(UsageError) as caught:
        take(taken)
    assert str(caught.value) == (
        f"{taken} is not empty; give a new folder, so that no old output is read"
    )


def as_folder(text: str, folder: Path) -> Path:
    """Write a stream as a folder."""
    folder.mkdir()
    stream = parse(text.splitlines())
    for name, section in stream.sections.items():
        body = "".join(f"{line}\n" for line in section.output)
        (folder / f"{name}.out").write_text(body)
        end = f"rc={section.code}" if section.state == "ended" else section.state
        (folder / f"{name}.end").write_text(f"{end}\n")
    count = len(stream.sections)
    (folder / "capture.txt").write_text(f"trainyard-node-capture 1\ndone {count} sections at x\n")
    return folder


@pytest.mark.parametrize("faults", [(), ("gpu",)])
def test_a_folder_and_a_stream_are_judged_the_same(tmp_path: Path, faults: tuple[str, ...]) -> None:
    text = capture("p5.48xlarge", *faults)
    folder = as_folder(text, tmp_path / "folder")
    stream = tmp_path / "stream.log"
    stream.write_text(text)
    told = [
        CliRunner().invoke(node, ["judge", str(path), "--type", "p5.48xlarge"])
        for path in (folder, stream)
    ]
    assert told[0].exit_code == told[1].exit_code == (1 if faults else 0)
    assert told[0].output.splitlines()[0] == told[1].output.splitlines()[0]
    assert len(told[0].output.splitlines()) == len(told[1].output.splitlines())


def test_findings_of_a_folder_name_lines_of_its_files(tmp_path: Path) -> None:
    text = capture().replace("53:00.0, No, No, 0", "53:00.0, No, Yes, 0", 1)
    folder = as_folder(text, tmp_path / "folder")
    result = CliRunner().invoke(node, ["judge", str(folder), "--type", "p5.48xlarge"])
    assert "fail remapped (line 1): " in result.output
    assert shown(judged(text))[0].startswith("fail remapped: ")


def test_the_command_captures_this_machine_and_judge_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    result = CliRunner().invoke(node, ["capture", str(folder), "--timeout", "10"])
    assert result.exit_code == 0, result.output
    found = read_folder(folder)
    assert found.complete
    assert len(found.sections) > 30
    assert found.sections["kernel"].output == [os.uname().release]
    assert found.sections["meminfo"].ran
    told = CliRunner().invoke(node, ["judge", str(folder), "--type", "p5.48xlarge"])
    assert told.exit_code in {1, 3}


def test_the_script_that_pods_run_is_the_one_that_captures() -> None:
    assert SCRIPT.name == "node_check.sh"
    assert SCRIPT.is_file()


@pytest.mark.parametrize("level", sorted(policy().dcgm.seconds))
def test_the_script_gives_each_level_of_dcgm_the_time_of_the_policy(level: int) -> None:
    listed = subprocess.run(
        ["/bin/sh", str(SCRIPT), "--list"],
        env={"PATH": os.environ["PATH"], **dcgm_environment(level)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert listed[-1] == f"dcgm {policy().dcgm.seconds[level]}"
