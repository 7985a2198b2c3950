"""Judges what ``dcgmi diag -j`` printed, by DCGM 3 and by DCGM 4.

Both nest results in tests in categories. DCGM 3 grades a warning by ``warning_level``, DCGM 4 by
``error_severity``, whose numbers mean something else; the name of the outermost object tells which
it is. A test that was skipped has proved nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from scripts.node.capture import Section
from scripts.node.finding import UNKNOWN, NodeFinding, at
from scripts.node.profiles import Severity, policy
from scripts.node.subject import Findings, Subject

__all__ = ["dcgm"]

ROOTS = {"DCGM GPU Diagnostic": 3, "DCGM Diagnostic": 4}

PASSED = frozenset({"pass", "passed"})
SKIPPED = frozenset({"skip", "skipped", "not run", "notrun"})
WARNED = frozenset({"warn", "warning"})
FAILED = frozenset({"fail", "failed"})

SHOWN = 120

_SMALL = re.compile(r"\d{1,3}", re.ASCII)

Object = Mapping[str, Any]


def dcgm(section: Section, node: Subject) -> Findings:
    """Judge every result of every test, and whether each GPU had one."""
    document = _document("\n".join(section.output))
    root = next((name for name in ROOTS if document and name in document), None)
    if document is None or root is None:
        first = next((line.strip() for line in section.output if line.strip()), "no output")
        message = f"dcgmi printed no result that is known (exit code {section.code}): {first}"
        yield at(section, UNKNOWN, message)
        return
    if error := document.get("runtime_error") or _object(document[root]).get("runtime_error"):
        yield at(section, UNKNOWN, f"the diagnostic did not run: {str(error)[:SHOWN]}")
        return
    generation = ROOTS[root]
    results = list(_results(_object(document[root])))
    known = PASSED | SKIPPED | WARNED | FAILED
    passed = {gpu for _, result in results if _status(result) in PASSED for gpu in _gpus(result)}
    for name, result in results:
        if _status(result) in FAILED | WARNED:
            yield _bad(section, generation, name, result)
        elif _status(result) not in known:
            yield at(section, UNKNOWN, f"{name}: {str(result.get('status'))[:SHOWN]!r}")
    if not passed and not any(_status(result) in FAILED | WARNED for _, result in results):
        yield at(section, UNKNOWN, f"no test passed: {len(results)} results, all skipped")
    elif len(passed) < node.gpus and not any(_status(each) in FAILED for _, each in results):
        message = f"tests of {len(passed)} GPUs passed; there must be {node.gpus}"
        yield at(section, UNKNOWN, message)


def _bad(section: Section, generation: int, name: str, result: Object) -> NodeFinding:
    grades = [_grade(generation, warning) for warning in _warnings(result)]
    grades += [_grade(generation, result)] if "warning_level" in result else []
    severity = max((grade for grade in grades if grade is not None), default=None)
    if severity is None:
        failed = _status(result) in FAILED
        severity = Severity.ISOLATE if failed else Severity.MONITOR
    texts = [str(each.get("warning", each)) for each in _warnings(result)]
    text = texts[0] if texts else str(result.get("warning") or "no reason given")
    gpus = ", ".join(_gpus(result)) or "?"
    return at(section, severity, f"{name} of GPU {gpus}: {text[:SHOWN]}")


def _grade(generation: int, warning: Object) -> Severity | None:
    """Return what a warning asks for; None where its level is not known."""
    levels = policy().dcgm
    if generation == ROOTS["DCGM Diagnostic"]:
        known, level = levels.error_severity, _integer(warning.get("error_severity"))
    else:
        known, level = levels.warning_level, _integer(warning.get("warning_level"))
    action = known.get(level) if level is not None else None
    return Severity[action.upper()] if action else None


def _integer(value: object) -> int | None:
    """Read a small number, which DCGM 3 also prints as text."""
    if isinstance(value, str) and _SMALL.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _results(root: Object) -> Iterator[tuple[str, Object]]:
    for category in _objects(root.get("test_categories")):
        for test in _objects(category.get("tests")):
            for result in _objects(test.get("results")):
                yield str(test.get("name", "a test"))[:SHOWN], result


def _warnings(result: Object) -> list[Object]:
    """Return warnings as objects; DCGM 3 may print one as a bare text beside its level."""
    found = result.get("warnings")
    items = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("Object", each) if isinstance(each, dict) else {"warning": each} for each in items]


def _gpus(result: Object) -> list[str]:
    """Return the GPUs that a result is of: one, or several in one text."""
    for name in ("entity_id", "gpu_id", "gpu_ids"):
        if name in result:
            return [part.strip() for part in str(result[name]).split(",") if part.strip()]
    return []


def _status(result: Object) -> str:
    return " ".join(str(result.get("status", "")).lower().split())


def _document(text: str) -> Object | None:
    """Return the JSON object in a text that may begin and end with other lines."""
    start, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
    return cast("Object", found) if isinstance(found, dict) else None


def _object(value: object) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[Object]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Object", each) for each in items if isinstance(each, dict)]
