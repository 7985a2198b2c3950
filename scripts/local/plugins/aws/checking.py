"""Check inputs against the SDK's shapes and the row, and complete them."""

from __future__ import annotations

import difflib
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws import tags
from scripts.local.plugins.aws.schema import Property, schema
from scripts.local.plugins.shared.wire import UNKNOWN, Secret, has_secret, has_unknown, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.row import Row
    from scripts.local.plugins.aws.session import Session
    from scripts.local.plugins.shared.wire import Props, Value

DEFAULTS: Final = "__defaults"
"""The input with the names of those that the program did not set; Pulumi's own convention."""

_HEX_DIGITS: Final = 7
_ARTICLES: Final = {
    "string": "a string",
    "boolean": "a boolean",
    "integer": "a whole number",
    "number": "a number",
}


@dataclass(frozen=True)
class Failure:
    """What is wrong with one property; the reason never shows its value."""

    property: str
    reason: str


@dataclass(frozen=True)
class Naming:
    """How a resource without a name gets one."""

    logical: str
    seed: bytes = b""
    proposed: str = ""
    """What the engine's own naming rules give."""

    forbidden: bool = False

    def name(self) -> str:
        """``<logical>-<7 hex digits>``, the same for the same seed."""
        if self.proposed:
            return self.proposed
        digits = hashlib.sha256(self.seed).hexdigest() if self.seed else secrets.token_hex()
        return f"{self.logical}-{digits[:_HEX_DIGITS]}"


@dataclass
class Walk:
    """Conforms values to their types, and notes what cannot be conformed."""

    owner: str
    failures: list[Failure] = field(default_factory=list[Failure])

    def members(
        self, values: Mapping[str, Value], properties: Mapping[str, Property], prefix: str
    ) -> Props:
        """Conform an object's members."""
        made: Props = {}
        allowed = {name: it for name, it in properties.items() if it.settable}
        for name, value in values.items():
            path = f"{prefix}{name}"
            if name.startswith("__"):
                made[name] = value
            elif name in allowed:
                made[name] = self.value(value, allowed[name].type, path)
            else:
                self._unknown(name, path, properties, allowed)
        for name, it in allowed.items():
            if it.required and made.get(name) is None:
                path = f"{prefix}{name}"
                self.failures.append(Failure(path, f"missing required property {path!r}"))
        return made

    def value(self, value: Value, kind: str, path: str) -> Value:
        """Conform one value; secrets stay secret and unknowns unknown."""
        if isinstance(value, Secret):
            return Secret(self.value(value.value, kind, path))
        if value is None or value is UNKNOWN or kind == "any":
            return value
        if kind == "document":
            return _document(value)
        return self._shaped(value, kind, path)

    def _shaped(self, value: Value, kind: str, path: str) -> Value:
        match kind[0], value:
            case "[", list():
                return [self.value(it, kind[2:], f"{path}[{i}]") for i, it in enumerate(value)]
            case "#", dict():
                return self.members(value, schema().types[kind[1:]], f"{path}.")
            case "{", dict():
                return {key: self.value(it, kind[2:], f"{path}.{key}") for key, it in value.items()}
            case "[" | "#" | "{" as mark, _:
                return self._wrong(path, "a list" if mark == "[" else "a map", value)
            case _:
                return self._scalar(value, kind, path)

    def _scalar(self, value: Value, kind: str, path: str) -> Value:
        """Take a number for its text and the other way round, as the real provider does."""
        taken: Value = None
        match kind, value:
            case ("boolean", bool()) | ("string", str()):
                taken = value
            case "boolean", "true" | "false":
                taken = value == "true"
            case "string", bool() | int() | float():
                taken = f"{value:g}" if isinstance(value, float) else str(value).lower()
            case "integer" | "number", str():
                taken = _number(value, whole=kind == "integer")
            case ("integer", int()) | ("number", int() | float()) if not isinstance(value, bool):
                taken = value
            case _:
                pass
        return self._wrong(path, _ARTICLES[kind], value) if taken is None else taken

    def _wrong(self, path: str, expected: str, value: Value) -> Value:
        self.failures.append(Failure(path, f"expected {expected}, got {_kind(value)}"))
        return value

    def _unknown(
        self,
        name: str,
        path: str,
        properties: Mapping[str, Property],
        allowed: Mapping[str, Property],
    ) -> None:
        near = difflib.get_close_matches(name, allowed, n=1)
        if name in properties:
            hint = "AWS sets it; leave it out"
        elif near:
            hint = f"did you mean {near[0]!r}?"
        else:
            hint = f"use one of {', '.join(sorted(allowed))}"
        self.failures.append(Failure(path, f"{self.owner} takes no property {path!r}; {hint}"))


def _number(text: str, *, whole: bool) -> float | None:
    try:
        return int(text) if whole or text.isdigit() else float(text)
    except ValueError:
        return None


def _kind(value: Value) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "a map"
        case _:
            return "a file"


def _document(value: Value) -> Value:
    """Write an object as the JSON text that the API takes."""
    if isinstance(value, str):
        return value
    if has_unknown(value):
        return Secret(UNKNOWN) if has_secret(value) else UNKNOWN
    text = json.dumps(plain(value), sort_keys=True)
    return Secret(text) if has_secret(value) else text


def check(
    row: Row, token: str, olds: Props, news: Props, naming: Naming, session: Session
) -> tuple[Props, list[Failure]]:
    """Give the completed inputs, and everything that is wrong with them."""
    shape = schema().resources[token]
    walk = Walk(token)
    given = {name: it for name, it in news.items() if name not in {DEFAULTS, "tagsAll"}}
    inputs = walk.members(given, shape.properties, "")
    values = {name: plain(it) for name, it in inputs.items()}
    failures = [*walk.failures, *_rules(row, token, values)]
    inputs |= _completed(row, shape.inputs, olds, inputs, naming, failures)
    if "tagsAll" in shape.properties:
        own = inputs.get("tags")
        value = tags.merged(session.default_tags, plain(own))
        every: Value = UNKNOWN if plain(own) is UNKNOWN else dict(value)
        inputs["tagsAll"] = Secret(every) if has_secret(own) else every
    return inputs, sorted(failures, key=lambda it: it.property)


def _rules(row: Row, token: str, values: Mapping[str, Value]) -> list[Failure]:
    """Hold the values against what the row says beyond types."""
    failures = [
        Failure(
            name,
            f"the embedded target's stand-in for {token} does not carry {name!r}; leave it out on "
            "this target",
        )
        for name in sorted(row.refused)
        if values.get(name) is not None
    ]
    for group in row.conflicts:
        given = [name for name in group if values.get(name) is not None]
        if len(given) > 1:
            names = " and ".join(repr(name) for name in given)
            failures.append(Failure(given[0], f"{names} exclude one another; set one of them"))
    if row.one_of and all(values.get(name) is None for name in row.one_of):
        names = ", ".join(repr(name) for name in row.one_of)
        reason = f"missing {names}" if len(row.one_of) == 1 else f"one of {names} must be set"
        failures.append(Failure(row.one_of[0], reason))
    for name in sorted(row.json):
        text = values.get(name)
        if isinstance(text, str) and text and not _is_json(text):
            failures.append(Failure(name, f"{name!r} holds text that is not JSON"))
    if row.hooks.check and not failures:
        failures += [Failure(path, text) for path, text in row.hooks.check(values).items()]
    return failures


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _completed(
    row: Row,
    properties: Mapping[str, Property],
    olds: Props,
    inputs: Props,
    naming: Naming,
    failures: list[Failure],
) -> Props:
    """Give the defaults and the made-up name, and which properties they are."""
    made: Props = {}
    defaulted: list[Value] = []
    for path, value in row.defaults.items():
        name, _, inner = path.partition(".")
        holder = made.get(name, inputs.get(name))
        if inner and isinstance(holder, dict):
            made[name] = {**holder, inner: holder.get(inner, value)}
        elif not inner and holder is None:
            made[name] = value
            defaulted.append(name)
    name = row.autoname if row.autoname in properties else ""
    prefix = inputs.get(f"{name}Prefix")
    if name and inputs.get(name) is None and prefix is None:
        if naming.forbidden:
            reason = f"missing {name!r}: automatic naming is turned off for this resource"
            failures.append(Failure(name, reason))
        else:
            made[name] = _made_up(row, olds, naming, name, inputs)
            defaulted.append(name)
    return {**made, DEFAULTS: defaulted}


def _made_up(row: Row, olds: Props, naming: Naming, name: str, inputs: Props) -> Value:
    """Give the name that the resource already has, or a new one."""
    kept = olds.get(DEFAULTS)
    if isinstance(kept, list) and name in kept and olds.get(name):
        return olds[name]
    made = row.autoname_form.format(naming.name())
    if row.service == "s3":
        return made.lower()
    return f"{made}.fifo" if inputs.get("fifoTopic") is True else made
