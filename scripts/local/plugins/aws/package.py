"""The package schema that the engine asks for, so that ``pulumi import`` can write code."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from scripts.local.plugins.aws.schema import schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.schema import Property, Shape
    from scripts.local.plugins.shared.wire import Props, Value


@functools.cache
def package_schema() -> str:
    """Write the shapes as Pulumi's package schema: resource types and nested types, no texts."""
    known = schema()
    package: Props = {
        "name": "aws",
        "version": known.version,
        "resources": {token: _resource(shape) for token, shape in known.resources.items()},
        "types": {
            _token(name): {"type": "object", "properties": _all(members)}
            for name, members in known.types.items()
        },
    }
    return json.dumps(package)


def _resource(shape: Shape) -> Value:
    return {
        "properties": _all(shape.properties),
        "inputProperties": _all(shape.inputs),
        "requiredInputs": [name for name, it in shape.inputs.items() if it.required],
    }


def _all(properties: Mapping[str, Property]) -> Value:
    return {name: _type(it.type) for name, it in properties.items()}


def _type(kind: str) -> Value:
    match kind[0]:
        case "[":
            return {"type": "array", "items": _type(kind[2:])}
        case "{":
            return {"type": "object", "additionalProperties": _type(kind[2:])}
        case "#":
            return {"type": "object", "$ref": f"#/types/{_token(kind[1:])}"}
        case _ if kind == "any":
            return {"$ref": "pulumi.json#/Any"}
        case _:
            return {"type": "string" if kind == "document" else kind}


def _token(name: str) -> str:
    """Spell the name of a nested type as Pulumi does: ``eks/X`` is ``aws:eks/X:X``."""
    return f"aws:{name}:{name.rpartition('/')[2]}"
