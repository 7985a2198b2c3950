"""Logs of the storage check, as its script prints them."""

from components.catalog import instance_type
from scripts.node.judge import NodeJudgement
from scripts.storage.expectation import Expectation, expect
from scripts.storage.judge import judge

P5 = instance_type("p5.48xlarge")

EXPECTED = expect(P5, 4, 2400)
"""600 MB/s for each of four nodes."""

DIGEST = "ab" * 32
OTHER = "cd" * 32


def log(
    *,
    write: float = 600,
    read: float = 600,
    begun: float = 1_764_590_000,
    expected: Expectation = EXPECTED,
    read_digest: str = DIGEST,
    way: str = "direct",
) -> str:
    """Return the log of a node that moved so many MB/s."""
    size, count = expected.bytes_each, expected.clients
    lines = {
        "mount": ["mount type=lustre options=rw,noatime"],
        "meet": [f"meet clients={count} of={count} seconds=1.02"],
        "write": [_moved("write", size, write, begun, DIGEST, way)],
        "read": [_moved("read", size, read, begun + 120, read_digest, way)],
        "files": ["files count=500 seen=500 seconds=1.25"],
        "clean": [],
    }
    return stream({name: (output, "rc=0") for name, output in lines.items()})


def stream(sections: dict[str, tuple[list[str], str]]) -> str:
    """Return a whole log of these steps: their output, and how they ended."""
    told = ["#@ trainyard-storage-check 1"]
    for name, (output, end) in sections.items():
        told += [f"#@ begin {name}", *(f"| {line}" for line in output), f"#@ end {name} {end}"]
    counts = " ".join(f"{name}={len(output)}" for name, (output, _) in sections.items())
    return "\n".join([*told, f"#@ done {counts}", ""])


def failed(name: str, *output: str, end: str = "rc=1") -> str:
    """Return the log of a node on which a step failed, after good ones."""
    good = log().splitlines()
    known = ["mount", "meet", "write", "read", "files"]
    sections = {
        step: ([good[good.index(f"#@ begin {step}") + 1].removeprefix("| ")], "rc=0")
        for step in known[: known.index(name)]
    }
    return stream({**sections, name: ([*output], end), "clean": ([], "rc=0")})


def judged(text: str, expected: Expectation = EXPECTED) -> NodeJudgement:
    return judge(text.splitlines(), expected)


def shown(judgement: NodeJudgement) -> list[str]:
    return [str(found.finding()) for found in judgement.findings]


def _moved(name: str, size: int, mbps: float, begun: float, digest: str, way: str) -> str:
    return (
        f"{name} bytes={size} streams=8 way={way} from={begun:.3f} "
        f"seconds={size / 1e6 / mbps:.2f} digest={digest}"
    )
