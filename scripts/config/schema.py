"""The JSON Schema of a stack file, made from the settings' models."""

from typing import Any

from components.site_config import SiteConfig

__all__ = ["schema"]

SECRETS = {
    "encryptedkey": "Key that encrypts the stack's secrets, itself encrypted.",
    "encryptionsalt": "Salt of the passphrase that encrypts the stack's secrets.",
    "secretsprovider": "Who keeps the key, as in awskms://alias/name.",
}


def schema() -> dict[str, Any]:
    """Return the schema of a whole ``Pulumi.STACK.yaml``, with what each setting is and costs."""
    site = _without_titles(SiteConfig.model_json_schema())
    definitions = site.pop("$defs")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stack file of Trainyard",
        "type": "object",
        "additionalProperties": False,
        "required": ["config"],
        "properties": {
            "config": {
                "type": "object",
                "required": ["trainyard:site"],
                "properties": {"trainyard:site": site},
            },
            "environment": {"description": "Pulumi ESC environments to import."},
            **{key: {"type": "string", "description": text} for key, text in SECRETS.items()},
        },
        "$defs": definitions,
    }


def _without_titles(value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    """Leave out pydantic's titles, which repeat the keys."""
    if isinstance(value, dict):
        return {
            key: _without_titles(inner)
            for key, inner in value.items()  # pyright: ignore[reportUnknownVariableType] - JSON of any shape
            if not (key == "title" and isinstance(inner, str))
        }
    if isinstance(value, list):
        return [_without_titles(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType] - JSON of any shape
    return value
