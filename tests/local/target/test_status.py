import io

import pytest
from rich.console import Console

from scripts.local.target.status import Line, render, verdict

WELL = Line("etcd", "real", "v3.6.16", "127.0.0.1:20001", 42, "pass", "", 65, "etcd")
GONE, KWOK = "does not run", "plays nodes"
ILL = Line(
    "kwok", "stand-in", "v0.8.0", "127.0.0.1:20002", None, "fail", "does not run", None, KWOK
)
SILENT = Line("nodes", "stand-in", "0.1.0", "", 43, "unknown", "no answer", 90000, "EC2")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([WELL], "pass"),
        ([WELL, SILENT], "unknown"),
        ([WELL, SILENT, ILL], "fail"),
    ],
)
def test_the_verdict_is_the_worst_of_all(lines: list[Line], expected: str) -> None:
    assert verdict(lines) == expected


def test_the_table_says_what_is_real_and_what_is_well() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    console.print(render([WELL, ILL, SILENT]))
    head, _, *rows = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert head == "part   kind      version  port   pid  health   up"
    assert rows == [
        "etcd   real      v3.6.16  20001  42   pass     1 min",
        "kwok   stand-in  v0.8.0   20002       fail",
        "nodes  stand-in  0.1.0           43   unknown  1 d",
        "",
        "kwok: does not run",
        "nodes: no answer",
        "Ports are of 127.0.0.1. These stand in:",
        "  kwok: plays nodes",
        "  nodes: EC2",
    ]
