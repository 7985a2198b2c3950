"""``storage_check.sh`` itself, run on a folder of this machine."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.gate.jobs import SCRIPTS
from scripts.gate.storage import environment
from scripts.storage.expectation import Expectation, expect, policy
from scripts.storage.judge import judge
from scripts.verdicts import Verdict
from tests.storage.logs import P5, judged, shown

pytestmark = pytest.mark.slow

SHELL = "/bin/sh"
SCRIPT = SCRIPTS / "storage_check.sh"
CHUNK = 64 * 1024


def small(clients: int) -> Expectation:
    return replace(expect(P5, clients, 1), bytes_each=2 * CHUNK * policy().check.streams)


def type_of(folder: Path) -> str:
    """Return what the kernel calls the file system of a folder."""
    done = subprocess.run(
        ["/usr/bin/stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True, check=True
    )
    return {"ext2/ext3": "ext4", "overlayfs": "overlay"}.get(
        done.stdout.strip(), done.stdout.strip()
    )


def settings(folder: Path, node: str, clients: int = 1, **more: str) -> Mapping[str, str]:
    own = {
        "GATE_STORAGE": str(folder),
        "GATE_TYPE": type_of(folder),
        "GATE_CHUNK": str(CHUNK),
        "GATE_WAIT": "20",
        "GATE_MEMORY": str(folder.parent),
    }
    path = {"PATH": os.environ["PATH"]}
    return {**environment(small(clients), "run-t", node), **own, **path, **more}


def start(env: Mapping[str, str], script: str | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [SHELL, "-c", script or SCRIPT.read_text(encoding="utf-8"), "storage"],
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that stands for the file system."""
    made = tmp_path / "shared"
    made.mkdir()
    return made


def as_lustre(text: str, folder: Path) -> list[str]:
    """Return the log as it were of Lustre, for the judge."""
    return text.replace(f"mount type={type_of(folder)} ", "mount type=lustre ").splitlines()


def test_the_script_is_posix_shell() -> None:
    subprocess.run([SHELL, "-n", str(SCRIPT)], check=True)


def test_two_nodes_meet_read_what_they_wrote_and_leave_nothing(folder: Path) -> None:
    nodes = [start(settings(folder, name, clients=2)) for name in ("a", "b")]
    logs = [as_lustre(node.communicate(timeout=60)[0], folder) for node in nodes]
    found = [judge(lines, small(2)) for lines in logs]
    direct = "way=direct" in "\n".join(logs[0])
    wanted = Verdict.PASS if direct else Verdict.UNKNOWN
    assert [each.verdict for each in found] == [wanted, wanted], [shown(each) for each in found]
    digests = {
        line.rpartition("digest=")[2] for lines in logs for line in lines if "digest" in line
    }
    assert len(digests) == len(nodes)
    assert list(folder.iterdir()) == []
    assert list(folder.parent.iterdir()) == [folder]


def test_another_file_system_is_not_written_to(folder: Path) -> None:
    log = start(settings(folder, "a", GATE_TYPE="lustre")).communicate(timeout=60)[0]
    assert list(folder.iterdir()) == []
    found = judged(log)
    assert (found.verdict, found.findings[0].check) == (Verdict.FAIL, "storage-mount")


def test_bytes_that_change_on_the_disk_are_noticed(folder: Path) -> None:
    spoil = 'streams "$2" || return\n    printf x | dd "of=$own/0" conv=notrunc status=none'
    script = SCRIPT.read_text(encoding="utf-8").replace('streams "$2" || return', spoil)
    env = settings(folder, "a")
    found = judge(as_lustre(start(env, script).communicate(timeout=60)[0], folder), small(1))
    assert found.verdict is Verdict.FAIL
    assert found.summary.startswith("storage-read: what was read is not what was written")


def test_a_failed_write_is_told_and_cleaned_up(folder: Path) -> None:
    script = SCRIPT.read_text(encoding="utf-8").replace(
        "step_write() {", "step_write() {\n    echo 'dd: error: Input/output error'; return 1"
    )
    text = start(settings(folder, "a"), script).communicate(timeout=60)[0]
    assert list(folder.iterdir()) == []
    found = judge(as_lustre(text, folder), small(1))
    assert [each.message for each in found.findings] == [
        "this node has lost the file system: dd: error: Input/output error"
    ]


def test_a_link_in_its_place_is_not_followed(folder: Path) -> None:
    other = folder / "home"
    (other / "run-t").mkdir(parents=True)
    (other / "run-t" / "precious").write_text("x")
    (folder / ".trainyard-gate").symlink_to(other)
    text = start(settings(folder, "a")).communicate(timeout=60)[0]
    assert [path.name for path in (other / "run-t").iterdir()] == ["precious"]
    found = judge(as_lustre(text, folder), small(1))
    assert (found.verdict, found.findings[0].check) == (Verdict.UNKNOWN, "storage-meet")


def test_what_a_dead_node_left_a_day_ago_is_removed_and_younger_is_not(folder: Path) -> None:
    base = folder / ".trainyard-gate"
    for name, age in (("old", 2 * 86_400), ("young", 3600)):
        (base / name / "data").mkdir(parents=True)
        os.utime(base / name, (time.time() - age, time.time() - age))
    start(settings(folder, "a")).communicate(timeout=60)
    assert [path.name for path in base.iterdir()] == ["young"]


def test_a_stopped_check_removes_its_folder_and_says_no_more(folder: Path) -> None:
    node = start(settings(folder, "a", clients=2))
    own = folder / ".trainyard-gate" / "run-t" / "write" / "a"
    end = time.monotonic() + 30
    while not own.exists() and time.monotonic() < end:
        time.sleep(0.05)
    node.send_signal(signal.SIGTERM)
    text, _ = node.communicate(timeout=30)
    assert node.returncode == 128 + signal.SIGTERM
    assert not (folder / ".trainyard-gate" / "run-t" / "data" / "a").exists()
    assert list(folder.parent.iterdir()) == [folder]
    assert judge(as_lustre(text, folder), small(2)).verdict is Verdict.UNKNOWN
