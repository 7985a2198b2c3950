"""Reads what a store has kept as JSON; what somebody has spoilt is unknown, with the way out."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from scripts.errors import UnknownError

__all__ = ["read_document"]

D = TypeVar("D", bound=BaseModel)


def read_document(model: type[D], text: str, what: str, then: str) -> D:
    """Return what a text says.

    ``what`` names it in the message, and ``then`` ends that: what it means, and the way out.

    Raises
    ------
    UnknownError
        If it is none of this model.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise UnknownError(f"{what} cannot be read ({place}: {first['msg']}){then}") from None
