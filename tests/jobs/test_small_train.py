"""The small training in real processes, on CPUs over gloo."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scripts.gate.train_judge import TrainLog, read_log

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "scripts/jobs/small_train.py"
LIMIT_SECONDS = 120


@cache
def python() -> str:
    """Return a Python with PyTorch; the environment of the project has none."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        if Path(candidate).exists():
            probe = [candidate, "-c", "import torch.distributed as d; assert d.is_gloo_available()"]
            if subprocess.run(probe, check=False, capture_output=True).returncode == 0:
                return candidate
    pytest.skip("no Python with PyTorch and gloo is here; on Debian: apt install python3-torch")


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def ended(
    processes: Iterable["subprocess.Popen[str]"],
) -> list[subprocess.CompletedProcess[str]]:
    """Start all, and wait for each; who hangs is killed, and fails the test."""
    running = list(processes)
    done: list[subprocess.CompletedProcess[str]] = []
    try:
        for process in running:
            out, err = process.communicate(timeout=LIMIT_SECONDS)
            done.append(subprocess.CompletedProcess([], process.returncode, out, err))
    finally:
        for process in running:
            process.kill()
    return done


@dataclass
class Place:
    """Folders of one training, and how it is run."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def checkpoints(self, name: str) -> Path:
        return self.folder / name

    def train(
        self, name: str, *more: str, ranks: int = 2
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run every rank to its end; the report is ``name``.json."""
        words = ["--data", str(self.data), "--checkpoints", str(self.checkpoints(name))]
        words += ["--report", str(self.folder / f"{name}.json"), *more]
        place = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        return ended(
            subprocess.Popen(
                [python(), str(SCRIPT), *words],
                env={**os.environ, **place, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        )

    def train_nodes(
        self, name: str, *more: str, nodes: int = 2
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run nodes of two ranks each, from the text of the script as a pod has it."""
        words = ["--data", str(self.data), "--checkpoints", str(self.checkpoints(name))]
        words += ["--local-ranks", "2", "--make-data", "--report", "-", *more]
        common = {"NODES": str(nodes), "MASTER_ADDR": "localhost", "MASTER_PORT": free_port()}
        return ended(
            subprocess.Popen(
                [python(), "-c", SCRIPT.read_text(), *words],
                env={**os.environ, **common, "NODE_RANK": str(node)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for node in range(nodes)
        )

    def report(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder / f"{name}.json").read_text())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    command = [sys.executable, str(SCRIPT), "--data", str(made.data), "--make-data"]
    subprocess.run(command, check=True)
    return made


def codes(done: list[subprocess.CompletedProcess[str]]) -> list[int]:
    return [each.returncode for each in done]


def test_a_run_that_was_killed_and_resumed_ends_with_the_same_parameters(place: Place) -> None:
    assert codes(place.train("whole")) == [0, 0]
    assert codes(place.train("halved", "--die-at", "30")) == [-9, -9]
    assert codes(place.train("halved", "--die-at", "30")) == [0, 0]
    whole, halved = place.report("whole"), place.report("halved")
    assert (whole["resumed_from"], halved["resumed_from"]) == (0, 20)
    assert whole["parameters"] == halved["parameters"]
    assert whole["bit_exact"] is True
    assert whole["loss"]["last"] < whole["loss"]["first"] / 2
    assert not list(place.folder.glob("halved/.step-*"))


def test_a_checkpoint_that_is_not_whole_is_passed_over(place: Place) -> None:
    assert codes(place.train("run")) == [0, 0]
    first = place.report("run")["parameters"]
    newest, before = (
        place.checkpoints("run") / "step-000060",
        place.checkpoints("run") / "step-000040",
    )
    (newest / "complete.json").unlink()
    assert codes(place.train("run")) == [0, 0]
    assert place.report("run")["resumed_from"] == 40
    assert place.report("run")["parameters"] == first
    state = newest / "state.pt"
    state.write_bytes(state.read_bytes()[:-1])
    assert codes(place.train("run")) == [0, 0]
    assert place.report("run")["resumed_from"] == 40
    assert before.exists()


def test_a_shard_that_changed_fails_the_run_and_is_named(place: Place) -> None:
    shard = place.data / "shard-3.bin"
    content = bytearray(shard.read_bytes())
    content[100] ^= 1
    shard.write_bytes(content)
    done = place.train("run")
    assert codes(done) == [1, 1]
    assert done[0].stdout == f"small_train: fail: data: {shard} is not what its manifest says\n"


def test_another_number_of_ranks_does_not_resume(place: Place) -> None:
    assert codes(place.train("run", ranks=2)) == [0, 0]
    done = place.train("run", ranks=3)
    assert codes(done) == [1, 1, 1]
    assert "was written by 2 ranks and these are 3; use as many" in done[0].stdout


def test_a_loss_that_does_not_fall_fails(place: Place) -> None:
    done = place.train("run", "--steps", "10", "--batch", "1")
    assert codes(done)[0] == 1
    assert done[0].stdout.startswith("small_train: fail: loss: it went from ")


def test_without_pytorch_nothing_is_known(place: Place) -> None:
    words = ["--data", str(place.data), "--checkpoints", str(place.checkpoints("run"))]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words], check=False, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stdout.startswith("small_train: unknown: PyTorch cannot be had: ")


def test_bad_use_is_told_before_anything_runs(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--data", str(place.data), "--steps", "3"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.endswith(
        "error: --checkpoints is missing: name a folder on the shared file system\n"
    )


def said(done: subprocess.CompletedProcess[str]) -> TrainLog:
    return read_log(done.stdout.splitlines())


def test_nodes_that_lost_one_of_them_end_and_go_on_from_the_checkpoint(place: Place) -> None:
    whole = place.train_nodes("whole")
    assert codes(whole) == [0, 0]
    die = ["--die-at", "30", "--die-ranks", "2"]
    lost = place.train_nodes("halved", *die)
    # The first node is gone as after SIGKILL; the other one learns of it, and knows nothing.
    assert codes(lost) == [137, 3]
    assert said(lost[0]).killed == 30
    assert said(lost[1]).said.startswith("rank ")
    resumed = place.train_nodes("halved", *die, "--tidy", str(place.data))
    assert codes(resumed) == [0, 0]
    straight, after = said(whole[0]).report or {}, said(resumed[0]).report or {}
    assert (straight["ranks"], after["resumed_from"]) == (4, 20)
    assert straight["parameters"] == after["parameters"]
    assert not place.data.exists()


def test_a_node_whose_first_never_comes_knows_nothing(place: Place) -> None:
    words = ["--data", str(place.data), "--checkpoints", str(place.checkpoints("run"))]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words, "--local-ranks", "1", "--timeout", "1"],
        env={**os.environ, "NODE_RANK": "1", "NODES": "2", "MASTER_ADDR": "no-such.invalid"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stdout == "small_train: unknown: no node 0 within 1 s\n"
