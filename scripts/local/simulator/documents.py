"""Read IAM policy documents, in which one or many of anything may stand."""

import json
from typing import Any, cast

__all__ = ["many", "services_allowed", "statements"]


def many(value: object) -> list[Any]:
    """Return a list of what is one or many."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def statements(document: str) -> list[dict[str, Any]]:
    """List the statements of a policy given as JSON."""
    parsed = cast("dict[str, Any]", json.loads(document))
    return many(parsed.get("Statement", []))


def services_allowed(statement: dict[str, Any]) -> set[str]:
    """Service principals that a statement allows something."""
    principal: object = statement.get("Principal")
    if statement.get("Effect") != "Allow" or not isinstance(principal, dict):
        return set()
    return set(many(cast("dict[str, Any]", principal).get("Service", [])))
