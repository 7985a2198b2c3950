"""The diagnostics of DCGM 3 and 4: a pass of every GPU, or a fault with its grade."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.catalog import instance_type
from scripts.node.judge import NodeJudgement, judge
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict
from tests.node.captures import (
    AGAIN,
    ISOLATE,
    P5,
    RESET,
    WATCH,
    capture,
    line,
    read,
    section,
    shown,
)

Result = dict[str, Any]


def three(*results: Result, status: str = "Pass") -> dict[str, Any]:
    """Return the document of DCGM 3."""
    software = {"gpu_ids": ",".join(map(str, range(8))), "status": status}
    memory = [*({"gpu_id": str(gpu), "status": status} for gpu in range(8)), *results]
    return {
        "DCGM GPU Diagnostic": {
            "test_categories": [
                {
                    "category": "Deployment",
                    "tests": [{"name": "Denylist", "results": [software]}, None],
                },
                {"category": "Hardware", "tests": [{"name": "GPU Memory", "results": memory}]},
            ],
            "version": "3.3.9",
        }
    }


def four(*results: Result, status: str = "Pass") -> dict[str, Any]:
    """Return the document of DCGM 4."""
    each = [{"entity_group": "GPU", "entity_id": gpu, "status": status} for gpu in range(8)]
    memory = {
        "name": "memory",
        "results": [*each, *results],
        "test_summary": {"status": "Fail" if results else status},
    }
    return {
        "DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [memory]}]},
        "entity_groups": [{"entities": [{"entity_id": 0, "serial_num": "<<<NOT_SUPPORTED>>>"}]}],
        "metadata": {"version": "4.2.3", "Driver Version Detected": "580.95.05"},
    }


def fail3(level: object = None, **more: object) -> Result:
    warning = {"warning": "ECC went wrong", **({"warning_level": level} if level else {})}
    return {"gpu_id": "3", "status": "Fail", "warnings": [warning], **more}


def fail4(severity: object = None, **more: object) -> Result:
    grade = {"error_severity": severity} if severity is not None else {}
    warning = {"error_id": 39, "warning": "ECC went wrong", **grade}
    return {"entity_id": 3, "status": "Fail", "warnings": [warning], **more}


def judged(document: object, *, code: int = 0, before: str = "") -> NodeJudgement:
    printed = json.dumps(document, indent=1) if not isinstance(document, str) else document
    text = section("dcgm", *f"{before}{printed}".splitlines(), end=f"rc={code}")(capture())
    return judge(read(text), instance_type(P5), required=["dcgm"])


@pytest.mark.parametrize("document", [three(), four(), three(status="PASS"), four(status="pass")])
def test_a_pass_of_every_gpu_passes(document: dict[str, Any]) -> None:
    assert shown(judged(document)) == []


def test_lines_around_the_document_do_no_harm() -> None:
    found = judged(three(), before="Successfully ran diagnostic for group.\nWARNING: a {\n")
    assert found.verdict is Verdict.UNKNOWN
    assert (
        judged(three(), before="Successfully ran diagnostic for group.\n").verdict is Verdict.PASS
    )


@pytest.mark.parametrize(
    ("document", "consequence"),
    [
        (three(fail3(3)), ISOLATE),
        (three(fail3(2)), RESET),
        (three(fail3(1)), WATCH),
        (three(fail3("2")), RESET),
        (three(fail3(9)), ISOLATE),
        (three(fail3()), ISOLATE),
        (three({"gpu_id": "3", "status": "Fail", "warnings": ["ECC went wrong"]}), ISOLATE),
        (
            three(
                {"gpu_id": "3", "status": "Fail", "warning": "ECC went wrong", "warning_level": 2}
            ),
            RESET,
        ),
        (three(fail3(2, status="Warn")), RESET),
        (three({"gpu_id": "3", "status": "Warn", "warnings": ["ECC went wrong"]}), WATCH),
        (four(fail4(2)), ISOLATE),
        (four(fail4(6)), RESET),
        (four(fail4(1)), WATCH),
        (four(fail4(5)), WATCH),
        (four(fail4(4)), ISOLATE),
        (four(fail4(3)), ISOLATE),
        (four(fail4()), ISOLATE),
        (four(fail4(6, status="fail")), RESET),
    ],
)
def test_each_generation_grades_by_numbers_of_its_own(
    document: dict[str, Any], consequence: str
) -> None:
    name = "GPU Memory" if "DCGM GPU Diagnostic" in document else "memory"
    found = judged(document, code=226)
    assert shown(found) == [line("dcgm", f"{name} of GPU 3: ECC went wrong", consequence)]


def test_the_gravest_warning_counts() -> None:
    several = [{"warning": "a", "error_severity": 1}, {"warning": "b", "error_severity": 6}]
    found = judged(four({"entity_id": 3, "status": "Fail", "warnings": several}))
    assert found.severity is Severity.RESET


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (three(status="Skip"), "no test passed: 9 results, all skipped"),
        (four(status="Not Run"), "no test passed: 8 results, all skipped"),
        (four({"entity_id": 3, "status": "Inconclusive"}), "memory: 'Inconclusive'"),
        (
            {"DCGM GPU Diagnostic": {"version": "4.2.3"}},
            "no test passed: 0 results, all skipped",
        ),
        (
            {"DCGM Diagnostic": {"runtime_error": "no host engine", "test_categories": []}},
            "the diagnostic did not run: no host engine",
        ),
        (
            {"tests": [{"name": "memory", "results": [{"entity_id": 0, "status": "pass"}]}]},
            "dcgmi printed no result that is known (exit code 0): {",
        ),
        (
            "Error: unable to establish a connection to the specified host",
            (
                "dcgmi printed no result that is known (exit code 0): Error: unable to establish a "
                "connection to the specified host"
            ),
        ),
        ("", "dcgmi printed no result that is known (exit code 0): no output"),
        ("[1, 2]", "dcgmi printed no result that is known (exit code 0): [1, 2]"),
    ],
)
def test_what_did_not_run_or_is_not_known_is_unknown(document: object, message: str) -> None:
    assert shown(judged(document)) == [line("dcgm", message, AGAIN)]


def test_a_gpu_without_a_result_is_unknown() -> None:
    document = four()
    del document["DCGM Diagnostic"]["test_categories"][0]["tests"][0]["results"][7]
    assert shown(judged(document)) == [
        line("dcgm", "tests of 7 GPUs passed; there must be 8", AGAIN)
    ]


@pytest.mark.parametrize("end", ["missing", "timeout"])
def test_diagnostics_that_are_missing_or_hang_are_unknown(end: str) -> None:
    text = section("dcgm", end=end)(capture())
    assert judge(read(text), instance_type(P5)).verdict is Verdict.UNKNOWN


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([three(fail3(2)), four(fail4(6))]), st.data())
def test_documents_cut_anywhere_never_pass(document: dict[str, Any], data: st.DataObject) -> None:
    whole = json.dumps(document)
    end = data.draw(st.integers(0, len(whole) - 1))
    assert judged(whole[:end]).verdict is not Verdict.PASS


leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
value = st.recursive(
    leaf, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["three", "four"]), st.data())
def test_a_failure_with_another_value_changed_never_crashes(
    generation: str, data: st.DataObject
) -> None:
    document = three(fail3(2)) if generation == "three" else four(fail4(6))
    place: Any = document
    key: Any = None
    above: Any = None
    while isinstance(place, dict | list) and place and (above is None or data.draw(st.booleans())):
        key = data.draw(
            st.sampled_from(list(place) if isinstance(place, dict) else range(len(place)))
        )
        above, place = place, place[key]
    above[key] = data.draw(value)
    judged(document)
