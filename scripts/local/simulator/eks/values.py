"""Refuse values that EKS's model does not allow; clients leave enumerations and maxima to AWS."""

from collections.abc import Iterator
from typing import Any

from moto.core.utils import get_service_model

from scripts.local.simulator.calls import Answer, Call
from scripts.local.simulator.eks.common import invalid

__all__ = ["check_values"]


def check_values(call: Call) -> None:
    """Refuse the first value that is in no enumeration, or below or above its bounds."""
    # moto's view of botocore's models carries no types.
    model: Any = get_service_model(call.service)
    shape = model.operation_model(call.operation).input_shape
    for path, value, rule in _breaches(shape, call.params, ""):
        raise invalid(
            f"1 validation error detected: Value '{value}' at '{path}' failed to satisfy "
            f"constraint: Member must {rule}"
        )


def _breaches(shape: Any, value: Any, path: str) -> Iterator[tuple[str, object, str]]:  # noqa: ANN401 - shapes of botocore
    """Walk a value along its shape; yields where, what, and the rule that it breaks."""
    match shape.type_name:
        case "structure":
            members: Answer = value
            for name, inner in members.items():
                if name in shape.members:
                    place = f"{path}.{name}" if path else name
                    yield from _breaches(shape.members[name], inner, place)
        case "list":
            for number, inner in enumerate(value, start=1):
                yield from _breaches(shape.member, inner, f"{path}.{number}.member")
        case "string" if shape.enum and value not in shape.enum:
            yield path, value, f"satisfy enum value set: [{', '.join(shape.enum)}]"
        case "integer":
            least, most = shape.metadata.get("min"), shape.metadata.get("max")
            if least is not None and value < least:
                yield path, value, f"have value greater than or equal to {least}"
            if most is not None and value > most:
                yield path, value, f"have value less than or equal to {most}"
        case _:
            pass
