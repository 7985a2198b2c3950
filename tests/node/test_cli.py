import json

import pytest
from click.testing import CliRunner

from scripts.local.answers import SimulatedNode, node_check_log
from scripts.node.cli import node


@pytest.mark.parametrize(
    ("faults", "code", "line"),
    [
        (frozenset[str](), 0, "pass: every check passed"),
        (
            frozenset({"gpu"}),
            1,
            (
                "fail: gpus: a GPU is lost: Unable to determine the device handle for GPU0: "
                "0000:53:00.0: Unknown Error [ISOLATE]"
            ),
        ),
    ],
)
def test_the_verdict_is_the_first_line_and_the_exit_code(
    faults: frozenset[str], code: int, line: str
) -> None:
    log = node_check_log(SimulatedNode("n", "p5.48xlarge", faults))
    result = CliRunner().invoke(node, ["judge", "-", "--type", "p5.48xlarge"], input=log)
    assert (result.exit_code, result.output.splitlines()[0]) == (code, line)


def test_json_is_one_object() -> None:
    log = node_check_log(SimulatedNode("n", "g6e.48xlarge", frozenset()))
    result = CliRunner().invoke(node, ["judge", "-", "--type", "g6e.48xlarge", "--json"], input=log)
    assert json.loads(result.output)["severity"] == "PASS"
