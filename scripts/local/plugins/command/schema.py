"""The package schema that the engine hands to converters, to import and to YAML programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from scripts.local.plugins.command import VERSION
from scripts.local.plugins.command.properties import (
    CONNECTION,
    FUNCTIONS,
    LOGGING,
    PROXY,
    RESOURCES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.command.properties import Kind, Property, Shape

_FILE: Final = {"$ref": "pulumi.json#/Asset"}
_TYPES: Final[dict[Kind, dict[str, Any]]] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "environment": {"type": "object", "additionalProperties": {"type": "string"}},
    "values": {"type": "array", "items": {"$ref": "pulumi.json#/Any"}},
    "connection": {"$ref": "#/types/command:remote:Connection"},
    "proxy": {"$ref": "#/types/command:remote:ProxyConnection"},
    "file": _FILE,
    "files": {"type": "object", "additionalProperties": _FILE},
    "archive": {"$ref": "pulumi.json#/Archive"},
}


def schema() -> str:
    """Give the schema of the package as JSON."""
    return json.dumps(
        {
            "name": "command",
            "version": VERSION,
            "description": "Runs commands here and over SSH.",
            "types": {
                "command:remote:Connection": {"type": "object"} | _object(CONNECTION, "remote"),
                "command:remote:ProxyConnection": {"type": "object"} | _object(PROXY, "remote"),
                "command:local:Logging": _logging(),
                "command:remote:Logging": _logging(),
            },
            "resources": {token: _resource(token, shape) for token, shape in RESOURCES.items()},
            "functions": {token: _function(token, shape) for token, shape in FUNCTIONS.items()},
        }
    )


def _logging() -> dict[str, Any]:
    values = [{"value": name, "description": text} for name, text in LOGGING.items()]
    return {"type": "string", "enum": values}


def _resource(token: str, shape: Shape) -> dict[str, Any]:
    module = token.split(":")[1]
    inputs = _object(shape.inputs, module)
    return _object({**shape.inputs, **shape.outputs}, module) | {
        "inputProperties": inputs["properties"],
        "requiredInputs": inputs["required"],
    }


def _function(token: str, shape: Shape) -> dict[str, Any]:
    module = token.split(":")[1]
    outputs = _object({**shape.inputs, **shape.outputs}, module)
    return {"inputs": _object(shape.inputs, module), "outputs": outputs}


def _object(properties: Mapping[str, Property], module: str) -> dict[str, Any]:
    return {
        "properties": {name: _property(name, each, module) for name, each in properties.items()},
        "required": [name for name, each in properties.items() if each.required],
    }


def _property(name: str, each: Property, module: str) -> dict[str, Any]:
    logging: dict[str, Any] = {"$ref": f"#/types/command:{module}:Logging"}
    spec = dict(logging if each.kind == "logging" else _TYPES[each.kind])
    if each.default is not None:
        spec["default"] = each.default
    if each.secret:
        spec["secret"] = True
    if name == "triggers":
        spec["replaceOnChanges"] = True
    return spec
