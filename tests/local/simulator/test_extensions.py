"""The table of operations: complete, and of operations that AWS has."""

import re
from pathlib import Path

import pytest

from scripts.local.simulator import extensions
from scripts.local.simulator.calls import HANDLERS, answers

from .conftest import SESSION

FOLDER = Path(extensions.__file__).parent


def test_every_module_that_answers_operations_is_loaded() -> None:
    answering = {
        path.relative_to(FOLDER).with_suffix("").as_posix().replace("/", ".")
        for path in FOLDER.rglob("*.py")
        if re.search(r"^@answers\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert answering == set(extensions.MODULES)


@pytest.mark.parametrize("service", sorted({service for service, _ in HANDLERS}))
def test_every_answered_operation_is_one_of_the_service(service: str) -> None:
    known = set(SESSION.get_service_model(service).operation_names)
    assert {name for found, name in HANDLERS if found == service} <= known


def test_an_operation_has_one_handler() -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        answers("sts", "GetCallerIdentity")(lambda _: {})
    assert str(caught.value) == "sts:GetCallerIdentity has two handlers"
