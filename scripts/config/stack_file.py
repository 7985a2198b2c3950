"""Read a stack file as Pulumi does, with the same text for the same mistake."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from components.settings import Problem, SettingsError, absent, is_mapping, parse
from components.site_config import SiteConfig

__all__ = ["load"]

KEY = "trainyard:site"

TOP = {"config", "encryptedkey", "encryptionsalt", "environment", "secretsprovider"}
"""What a stack file may hold (Pulumi reference, stack settings file)."""


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice: the second would quietly win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the base class's signature
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the stubs leave it open
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key} stands twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def load(file: Path) -> SiteConfig:
    """Return the settings in ``file``.

    Raises
    ------
    SettingsError
        If the file cannot be read or anything in it is wrong; the message lists every problem.
    """
    content = _read(file)
    stray = [
        Problem(str(key), f"is not a part of a stack file; known are {', '.join(sorted(TOP))}")
        for key in content
        if key not in TOP
    ]
    section = content.get("config")
    raw: object = section.get(KEY) if is_mapping(section) else None
    if raw is None:
        raise SettingsError(file.name, [*stray, absent()])
    try:
        config = parse(SiteConfig, raw, file.name)
    except SettingsError as error:
        if stray:
            raise SettingsError(file.name, [*stray, *error.problems]) from None
        raise
    if stray:
        raise SettingsError(file.name, stray)
    return config


def _read(file: Path) -> Mapping[str, Any]:
    try:
        content: object = yaml.load(file.read_text(), _Loader)  # noqa: S506 - a safe loader with one more check
    except OSError as error:
        text = f"cannot be read ({error.strerror}); give the path of a stack file"
        raise SettingsError(file.name, [Problem("", text)]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
        text = f"is not YAML at {where}: {error.problem}; mend that line first"
        raise SettingsError(file.name, [Problem("", text)]) from None
    if not is_mapping(content):
        raise SettingsError(file.name, [absent()])
    return content
