import gzip
import hashlib
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.gate.jobs import GateJob
from scripts.gate.keep import INDEX, Keep, Logs
from scripts.verdicts import Verdict

SWEEP = GateJob("gate-run-w1-0", ("n1", "n2", "n3", "n4"), {})
PAIR = GateJob("gate-run-p1-7", ("n1", "n2"), {})
LINES = ["# nccl-tests", "  1073741824  322.00", "caf\u00e9 \udcff"]
TEXT = "# nccl-tests\n  1073741824  322.00\ncaf\u00e9 ?\n"
DIGEST = f"sha256:{hashlib.sha256(TEXT.encode()).hexdigest()}"


def logs(folder: Path, keep: Keep = Keep.BAD, said: list[str] | None = None) -> Logs:
    return Logs(folder / "logs", keep, [].append if said is None else said.append)


def read(made: Logs, job: GateJob, lines: list[str] = LINES) -> list[str]:
    return made.keeping(lambda _job, text: list(text))(job, iter(lines))


def listed(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "logs" / INDEX).read_text().splitlines()]


@pytest.mark.parametrize(
    ("keep", "verdict", "always", "stays"),
    [
        (Keep.BAD, Verdict.FAIL, False, True),
        (Keep.BAD, Verdict.UNKNOWN, False, True),
        (Keep.BAD, Verdict.PASS, False, False),
        (Keep.BAD, Verdict.PASS, True, True),
        (Keep.ALL, Verdict.PASS, False, True),
        (Keep.NONE, Verdict.FAIL, True, False),
    ],
)
def test_a_log_stays_or_goes_by_its_verdict(
    tmp_path: Path, keep: Keep, verdict: Verdict, *, always: bool, stays: bool
) -> None:
    made = logs(tmp_path, keep)
    assert read(made, PAIR) == LINES
    file = made.close(PAIR, verdict, always=always)
    assert file == (tmp_path / "logs" / "run-p1-7.log.gz" if stays else None)
    left = {each.name for each in tmp_path.glob("logs/*")}
    assert left == {
        *(["run-p1-7.log.gz"] if stays else []),
        *([] if keep is Keep.NONE else [INDEX]),
    }


def test_what_is_kept_is_the_text_whose_digest_is_told(tmp_path: Path) -> None:
    made = logs(tmp_path)
    read(made, SWEEP)
    read(made, PAIR)
    file = made.close(SWEEP, Verdict.PASS, always=True)
    assert file is not None
    assert gzip.decompress(file.read_bytes()).decode() == TEXT
    made.close(PAIR, Verdict.PASS)
    assert listed(tmp_path) == [
        {
            "job": "gate-run-w1-0",
            "nodes": ["n1", "n2", "n3", "n4"],
            "verdict": "pass",
            "log": DIGEST,
            "file": "run-w1-0.log.gz",
        },
        {
            "job": "gate-run-p1-7",
            "nodes": ["n1", "n2"],
            "verdict": "pass",
            "log": DIGEST,
            "file": None,
        },
    ]


def test_the_digest_of_the_last_log_in_which_a_node_failed_is_evidence(tmp_path: Path) -> None:
    made = logs(tmp_path, Keep.NONE)
    for job, lines, verdict in (
        (PAIR, ["old"], Verdict.FAIL),
        (PAIR, LINES, Verdict.FAIL),
        (SWEEP, ["good"], Verdict.PASS),
    ):
        read(made, job, lines)
        made.close(job, verdict)
    assert made.evidence == {"n1": DIGEST, "n2": DIGEST}
    assert not list(tmp_path.iterdir()), "a digest needs no file"


def test_a_log_that_is_read_twice_is_written_anew(tmp_path: Path) -> None:
    made = logs(tmp_path)
    broken = iter(made.tee(PAIR, ["half of", "it"]))
    next(broken)
    del broken
    read(made, PAIR)
    file = made.close(PAIR, Verdict.UNKNOWN)
    assert file is not None
    assert gzip.decompress(file.read_bytes()).decode() == TEXT


def test_a_log_that_broke_off_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    made = logs(tmp_path)

    def breaking() -> Iterator[str]:
        yield "half of"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        list(made.tee(PAIR, breaking()))
    file = made.close(PAIR, Verdict.UNKNOWN)
    assert file is not None
    assert gzip.decompress(file.read_bytes()) == b"half of\n"


def test_of_a_job_without_a_log_nothing_is_kept(tmp_path: Path) -> None:
    assert logs(tmp_path).close(PAIR, Verdict.UNKNOWN) is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_files_is_told_once_and_nothing_else_changes(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    made = logs(tmp_path, said=said)
    (tmp_path / "logs").write_text("a file is in the way")
    for job in (PAIR, SWEEP):
        assert read(made, job) == LINES
        assert made.close(job, Verdict.FAIL) is None
    assert said == [
        f"the logs are not kept any more: [Errno 17] File exists: '{tmp_path}/logs'",
    ]
    assert made.evidence["n1"] == DIGEST


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="needs a device that is full")
@pytest.mark.parametrize("count", [3, 200_000])
def test_a_full_disk_leaves_no_half_of_a_log(tmp_path: Path, count: int) -> None:
    said: list[str] = []
    made = logs(tmp_path, said=said)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run-p1-7.log.gz.part").symlink_to("/dev/full")
    lines = [f"line {number * 7919}" for number in range(count)]
    assert read(made, PAIR, lines) == lines
    assert made.close(PAIR, Verdict.FAIL) is None
    assert said == ["the logs are not kept any more: [Errno 28] No space left on device"]
    assert [each.name for each in (tmp_path / "logs").iterdir()] == [INDEX]


def test_a_long_log_is_kept_in_constant_memory(tmp_path: Path) -> None:
    made = logs(tmp_path)
    line = "host:1:2 [0] NCCL INFO Channel 00/0 : 31[7] -> 0[0] [send] via NET/Libfabric/0/GDRDMA"
    tracemalloc.start()
    for _ in made.tee(SWEEP, (f"{line} {number}" for number in range(50_000))):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    file = made.close(SWEEP, Verdict.PASS, always=True)
    assert file is not None
    assert peak < 1_500_000, "5 MB went through"
    assert file.stat().st_size < 600_000
