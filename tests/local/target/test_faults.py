from pathlib import Path

import pytest

from scripts.errors import UsageError
from scripts.local.target import faults
from scripts.local.target.faults import NODE_FAULTS, Fault, Spot

NODE = Spot("ip-10-0-0-4.ec2.internal", pool="h100", wave="2", index=5)


@pytest.mark.parametrize(
    ("fault", "hits"),
    [
        (Fault("gpu", node="ip-10-0-0-4.ec2.internal"), True),
        (Fault("gpu", node="ip-10-0-0-5.ec2.internal"), False),
        (Fault("gpu", pool="h100"), True),
        (Fault("gpu", pool="h100", wave="2"), True),
        (Fault("gpu", pool="h100", wave="2", index=5), True),
        (Fault("gpu", pool="h100", index=5), True),
        (Fault("gpu", pool="h100", wave="1", index=5), False),
        (Fault("gpu", pool="h100", wave="2", index=4), False),
        (Fault("gpu", pool="b200", wave="2", index=5), False),
    ],
    ids=str,
)
def test_a_fault_hits_the_nodes_that_it_selects(fault: Fault, *, hits: bool) -> None:
    assert fault.hits(NODE) is hits


def test_a_node_has_all_the_faults_that_hit_it() -> None:
    given = [Fault("gpu", pool="h100"), Fault("link", node=NODE.name), Fault("dead", pool="b200")]
    assert faults.faults_at(given, NODE) == {"gpu", "link"}


WHICH = (
    "which node shall have the fault 'gpu'? give either --node NAME, or --pool P with --wave W"
    " and --index I to narrow it"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"kind": "fire", "pool": "a"},
            f"'fire' is no fault of a node; there are {', '.join(NODE_FAULTS)}",
        ),
        (
            {"kind": "gpu"},
            WHICH,
        ),
        (
            {"kind": "gpu", "node": "a", "pool": "b"},
            WHICH,
        ),
        (
            {"kind": "gpu", "node": "a", "wave": "1"},
            "--wave and --index narrow a --pool; a --node is one node already",
        ),
    ],
)
def test_a_fault_that_says_no_place_is_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Fault(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault("gpu", node="n"), "gpu on node n"),
        (Fault("gpu", pool="p"), "gpu on every node of every wave of pool p"),
        (Fault("gpu", pool="p", wave="1", index=0), "gpu on node 0 of wave 1 of pool p"),
    ],
)
def test_a_fault_is_told_in_words(fault: Fault, text: str) -> None:
    assert str(fault) == text


def test_faults_are_kept_in_a_file_each_once(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    assert faults.load(file) == ()
    first, second = Fault("gpu", pool="a", index=1), Fault("dead", node="n")
    for fault in (first, second, first):
        faults.add(file, fault)
    assert faults.load(file) == (first, second)


def test_clearing_takes_back_what_matches_and_gives_it(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    first, second = Fault("gpu", pool="a", index=0), Fault("dead", pool="a")
    faults.add(file, first)
    faults.add(file, second)
    assert faults.clear(file, {"pool": "a", "index": 0}) == (first,)
    assert faults.load(file) == (second,)
    assert faults.clear(file, {}) == (second,)
    assert faults.load(file) == ()


def test_a_place_is_read_from_labels_and_annotations() -> None:
    labels = {"trainyard.dev/pool": "h100", "trainyard.dev/wave": "2"}
    assert faults.spot(NODE.name, labels, {"trainyard.dev/index": "5"}) == NODE
    assert faults.spot("n", {}, {}) == Spot("n", None, None, None)
