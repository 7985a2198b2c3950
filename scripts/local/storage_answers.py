"""What ``scripts/jobs/storage_check.sh`` prints on a simulated node."""

import hashlib
from collections.abc import Iterator, Mapping

from scripts.local.recordings import SimulatedNode, values

__all__ = ["storage_check_log"]

FIRST = "#@ trainyard-storage-check 1"
BEGUN = 1_764_590_000.0
"""When the first write begins, in seconds of the epoch: the same for all nodes, at each run."""

PAUSE = 2.0
"""Seconds between one step and the next."""

FILES_A_SECOND = 400


def storage_check_log(node: SimulatedNode, env: Mapping[str, str]) -> str:
    """Return the stream of the storage check on this node.

    ``env`` is the environment that the gate gives the container. It asks for as much as the file
    system can move in a given time, so the time is what a recording has.
    """
    sections = dict(_sections(node, env))
    lines = [FIRST]
    for name, (output, code) in sections.items():
        lines += [f"#@ begin {name}", *(f"| {line}" for line in output), f"#@ end {name} rc={code}"]
    counts = (f"{name}={len(output)}" for name, (output, _) in sections.items())
    return "\n".join([*lines, " ".join(["#@ done", *counts]), ""])


def _sections(
    node: SimulatedNode, env: Mapping[str, str]
) -> Iterator[tuple[str, tuple[list[str], int]]]:
    if "mount" in node.faults:
        # What a pod sees where its volume was to be: its own root.
        yield "mount", (["mount type=overlay options=rw,relatime"], 1)
        return
    yield "mount", ([f"mount type={env['GATE_TYPE']} options=rw,noatime,flock"], 0)
    clients = env["GATE_CLIENTS"]
    yield "meet", ([f"meet clients={clients} of={clients} seconds=3.02"], 0)
    known = values()["storage"]
    share = known["slow"] if "storage" in node.faults else 1.0
    moved, streams = int(env["GATE_BYTES"]), env["GATE_STREAMS"]
    digest = hashlib.sha256(f"{env['GATE_RUN']}/{node.name}".encode()).hexdigest()
    begun = BEGUN
    for way in ("write", "read"):
        seconds = known[way] / share
        line = (
            f"{way} bytes={moved} streams={streams} way=direct from={begun:.3f} "
            f"seconds={seconds:.2f} digest={digest}"
        )
        yield way, ([line], 0)
        begun += seconds + PAUSE
    files = int(env["GATE_FILES"])
    seconds = files / FILES_A_SECOND / share
    yield "files", ([f"files count={files} seen={files} seconds={seconds:.2f}"], 0)
    yield "clean", ([], 0)
