"""How fast logs of nccl-tests are judged, against the least that any reader of them must do.

Writes a log such as 1,024 nodes leave behind, as it is and as launchers and log readers hand it on,
converts its rows to csv line by line with plain Python, and judges it, both several times in turn.
Prints seconds of the processor, MB/s and the ratio, and the most memory that judging took. Judge by
the ratio: machines are noisy. Takes about two minutes.

    .venv/bin/python bench/judge.py [MEGABYTES]
"""

import csv
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from components.catalog import instance_type
from scripts.local.answers import SimulatedNode, all_reduce_log
from scripts.nccl.expectation import expect
from scripts.nccl.judge import judge
from scripts.nccl.source import read
from scripts.verdicts import Verdict

PREFIXES = {
    "as it is": "",
    "mpirun --tag-output": "[1,{number}]<stdout>:",
    "kubectl logs --timestamps": "2026-12-01T08:00:01.{number:09}Z ",
}
"""What stands before each line; the conversion looks for rows behind it."""

KIND = "p5.48xlarge"
NODES = 1024
MEGABYTES = 300
ROUNDS = 3
TRACED_MEGABYTES = 30
LINES_A_RANK = 32
SHORTEST_ROW = 10

MISCELLANEOUS = (
    "comm 0x55e0a7c4b0 rank {rank} nRanks 8192 nNodes 1024 localRanks 8 localRank {local} MNNVL 0",
    "Trees [0] {next}/-1/-1->{rank}->-1 [1] {next}/-1/-1->{rank}->-1 [2] {next}/-1/-1->{rank}->-1",
    "P2P Chunksize set to 524288",
    "Setting affinity for GPU {local} to ffffffff,ffff0000,00000000,ffffffff",
    "threadThresholds 8/8/64 | 65536/8/64 | 512 | 512",
    "16 coll channels, 16 collnet channels, 16 nvls channels, 16 p2p channels",
    "ncclCommInitRank comm 0x55e0a7c4b0 rank {rank} nranks 8192 cudaDev {local} - Init COMPLETE",
    "Connected all trees",
)


def messages(rank: int) -> Iterator[str]:
    """Return what one rank of a large run says with NCCL_DEBUG=INFO."""
    node, local = divmod(rank, 8)
    following = (rank + 1) % (NODES * 8)
    here = f"gate-run-r0-0-{node}:{2310 + local}:{2391 + local} [{local}] NCCL INFO"
    for text in MISCELLANEOUS:
        yield f"{here} {text.format(rank=rank, local=local, next=following)}"
    for channel in range(16):
        ends = f"{rank}[{local}] -> {following}[{following % 8}]"
        yield f"{here} Channel {channel:02}/0 : {ends} via P2P/CUMEM"
    for channel in range(8):
        ends = f"{rank}[{local}] -> {(rank + 8) % (NODES * 8)}[{local}]"
        yield f"{here} Channel {channel:02}/0 : {ends} [send] via NET/Libfabric/{channel}/GDRDMA"


def lines(megabytes: int) -> Iterator[str]:
    """Return a log of this size: the messages of its ranks stand between devices and table."""
    nodes = [SimulatedNode(f"n{index}", KIND, frozenset()) for index in range(NODES)]
    names = {"GATE_JOB": "gate-run-r0-0", "GATE_MIN_BYTES": "1073741824"}
    log = all_reduce_log(nodes, {**names, "GATE_MAX_BYTES": "17179869184"}).splitlines()
    table = next(number for number, line in enumerate(log) if "out-of-place" in line)
    yield from log[:table]
    size = sum(map(len, log))
    rank = 0
    while size < megabytes * 1_000_000:
        for line in messages(rank % (NODES * 8)):
            size += len(line) + 1
            yield line
        rank += 1
    yield from log[table:]


def convert(log: Path) -> None:
    """Write the rows of a log as csv, line by line, and nothing else."""
    with log.open(encoding="utf-8") as source, log.with_suffix(".csv").open("w") as target:
        writer = csv.writer(target)
        for line in source:
            fields = line.split()
            if len(fields) > SHORTEST_ROW and fields[1].isdigit():
                writer.writerow(fields)


def judged(log: Path) -> None:
    """Judge a log, which must pass."""
    with log.open("rb") as stream:
        judgement = judge(read(stream), expect(instance_type(KIND), NODES))
    if judgement.verdict is not Verdict.PASS:
        sys.exit(f"the log of the benchmark does not pass: {judgement.summary}")


def timed(work: Callable[[Path], None], log: Path) -> float:
    """Return the seconds of the processor that ``work`` takes."""
    started = time.process_time()
    work(log)
    return time.process_time() - started


def write(folder: Path, megabytes: int, prefix: str) -> Path:
    """Write a log of about this size, with a prefix on each line."""
    log = folder / "run.log"
    with log.open("w", encoding="utf-8") as target:
        for number, line in enumerate(lines(megabytes)):
            target.write(f"{prefix.format(number=number // LINES_A_RANK % (NODES * 8))}{line}\n")
    return log


def compare(folder: Path, megabytes: int, title: str, prefix: str) -> None:
    """Print one line of the table."""
    log = write(folder, megabytes, prefix)
    size = log.stat().st_size / 1e6
    seconds: dict[Callable[[Path], None], list[float]] = {convert: [], judged: []}
    for _ in range(ROUNDS):
        for work, taken in seconds.items():
            taken.append(timed(work, log))
    base, ours = (min(taken) for taken in seconds.values())
    print(f"{title:28} {size:6.0f} {base:9.2f} {ours:9.2f} {size / ours:7.0f} {ours / base:6.2f}")


def peak(folder: Path, megabytes: int) -> float:
    """Return the most memory (MB) that judging a log of this size takes."""
    log = write(folder, megabytes, "")
    tracemalloc.start()
    judged(log)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def main() -> None:
    """Measure both in turn and print the table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with tempfile.TemporaryDirectory(prefix="trainyard-bench-") as name:
        folder = Path(name)
        print(f"{f'log of {NODES} nodes':28} {'MB':>6} {'csv s':>9} {'judge s':>9} ", end="")
        print(f"{'MB/s':>7} {'ratio':>6}")
        for title, prefix in PREFIXES.items():
            compare(folder, megabytes, title, prefix)
        small, large = (peak(folder, count) for count in (TRACED_MEGABYTES, 3 * TRACED_MEGABYTES))
    print(f"most memory, judging {TRACED_MEGABYTES} and {3 * TRACED_MEGABYTES} MB: ", end="")
    print(f"{small:.1f} and {large:.1f} MB")


if __name__ == "__main__":
    main()
