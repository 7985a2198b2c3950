"""Nodes of a wave must tell the same: the odd one out is named, and hardware is not blamed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from scripts.node.cli import node
from scripts.node.compare import compare, findings
from scripts.node.judge import NodeJudgement
from scripts.verdicts import Finding, Verdict, overall
from tests.node.captures import Change, capture, judged, once, section

NEW_KERNEL = section("kernel", "6.12.50-70.1.amzn2023.x86_64")


def wave(*changes: Change | None, count: int = 4) -> dict[str, NodeJudgement]:
    """Return the judgements on some nodes, of which the first ones are changed."""
    made: dict[str, NodeJudgement] = {}
    for number in range(count):
        text = capture(name=f"node-{number}")
        change = changes[number] if number < len(changes) else None
        made[f"node-{number}"] = judged(change(text) if change else text)
    return made


def told(judgements: dict[str, NodeJudgement]) -> list[str]:
    return [str(found) for found in findings(judgements)]


def test_a_wave_of_one_image_is_the_same() -> None:
    assert told(wave()) == []
    assert told(wave(count=1)) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            NEW_KERNEL,
            (
                "fail wave-kernel: kernel is 6.12.46-66.121.amzn2023.x86_64 on 3 nodes, but node-0 "
                "6.12.50-70.1.amzn2023.x86_64; next: run nodes of one image release only: replace "
                "those that have another kernel"
            ),
        ),
        (
            lambda text: text.replace("96.00.89.00.01", "96.00.74.00.01"),
            (
                "fail wave-vbios: vbios is 96.00.89.00.01 on 3 nodes, but node-0 96.00.74.00.01; "
                "next: replace the instances that have another firmware, or judge the wave by it"
            ),
        ),
        (
            lambda text: text.replace("580.95.05", "570.86.15"),
            (
                "fail wave-driver: driver is 580.95.05 on 3 nodes, but node-0 570.86.15; next: run "
                "nodes of one image release only: replace those that have another driver"
            ),
        ),
        (
            lambda text: text.replace("700.00 W", "650.00 W"),
            (
                "fail wave-power_limit: power_limit is 700.00 W on 3 nodes, but node-0 650.00 W; "
                "next: mend what sets it (image, launch template, bootstrap) and make these nodes "
                "anew"
            ),
        ),
        (
            once("EFA installer version: 1.50.0", "EFA installer version: 1.48.0"),
            (
                "fail wave-efa_installer: efa_installer is 1.50.0 on 3 nodes, but node-0 1.48.0; "
                "next: mend what sets it (image, launch template, bootstrap) and make these nodes "
                "anew"
            ),
        ),
    ],
)
def test_the_odd_node_out_is_named(change: Change, message: str) -> None:
    assert told(wave(change)) == [message]


def test_without_a_majority_nobody_is_odd() -> None:
    split = wave(NEW_KERNEL, NEW_KERNEL)
    [found] = compare({name: each.facts for name, each in split.items()})
    assert (found.usual, found.odd) == (None, ())
    assert str(found) == (
        "kernel differs, and no value is usual: 2 nodes 6.12.50-70.1.amzn2023.x86_64, 2 nodes "
        "6.12.46-66.121.amzn2023.x86_64"
    )


def test_many_odd_nodes_are_counted() -> None:
    facts = {f"n{number:03}": {"kernel": "6.12" if number > 8 else "6.1"} for number in range(100)}
    [found] = compare(facts)
    assert str(found) == (
        "kernel is 6.12 on 91 nodes, but n000, n001, n002, n003, n004, n005 and 3 more 6.1"
    )
    assert found.odd == tuple(f"n{number:03}" for number in range(9))


def test_what_a_node_does_not_tell_is_unknown_and_no_difference() -> None:
    assert told(wave(section("kernel", end="missing"))) == [
        (
            "unknown wave-kernel: node-0 does not tell kernel, and others do; next: capture these "
            "nodes again"
        )
    ]


def test_a_copied_capture_is_found_by_its_gpus() -> None:
    copied = {"a": judged(capture(name="x")), "b": judged(capture(name="x"))}
    assert told(copied) == [
        (
            "unknown wave-gpus: a, b name the same GPUs: one capture is a copy of another; next: "
            "capture each node by itself"
        )
    ]


@given(st.lists(st.sampled_from(["6.12", "6.1", "5.15"]), min_size=1, max_size=30))
def test_whoever_is_odd_holds_another_value_than_more_than_half(kernels: list[str]) -> None:
    facts = {f"n{number}": {"kernel": kernel} for number, kernel in enumerate(kernels)}
    found = compare(facts)
    assert bool(found) == (len(set(kernels)) > 1)
    for each in found:
        usual = [name for name, told_by in facts.items() if told_by["kernel"] == each.usual]
        assert each.usual is None or len(usual) * 2 > len(kernels)
        assert set(each.odd) == (set(facts) - set(usual) if each.usual else set())


def files(folder: Path, *changes: Change | None) -> list[str]:
    paths: list[str] = []
    for number in range(3):
        text = capture(name=f"node-{number}")
        change = changes[number] if number < len(changes) else None
        path = folder / f"node-{number}.log"
        path.write_text(change(text) if change else text)
        paths.append(str(path))
    return paths


def test_the_command_names_the_odd_one_and_exits_by_its_verdict(tmp_path: Path) -> None:
    kind = ["--type", "p5.48xlarge"]
    same = CliRunner().invoke(node, ["compare", *files(tmp_path), *kind])
    assert (same.exit_code, same.output) == (0, "pass: 3 captures tell the same\n")
    other = CliRunner().invoke(node, ["compare", *files(tmp_path, NEW_KERNEL), *kind])
    assert other.exit_code == 1
    assert other.output.splitlines()[0] == (
        "fail: kernel is 6.12.46-66.121.amzn2023.x86_64 on 2 nodes, but node-0.log "
        "6.12.50-70.1.amzn2023.x86_64"
    )
    report = CliRunner().invoke(node, ["compare", *files(tmp_path, NEW_KERNEL), *kind, "--json"])
    assert json.loads(report.output)["facts"]["node-1.log"]["driver"] == "580.95.05"


def test_findings_of_a_wave_never_speak_of_one_nodes_hardware() -> None:
    found: list[Finding] = list(findings(wave(NEW_KERNEL)))
    assert all(each.rule.startswith("wave-") for each in found)
    assert overall(each.verdict for each in found) is Verdict.FAIL
