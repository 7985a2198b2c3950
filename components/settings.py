"""From the text of a stack file to typed settings: :func:`parse` is the only door.

A settings model holds plain values. Rules about one field are types, rules about several are
methods marked with :func:`rule`; both are pure, and :func:`parse` reports all that they find.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Network
from types import UnionType
from typing import Annotated, Any, Self, TypeVar, Union, get_args, get_origin

import pulumi
from pulumi.runtime import is_config_secret
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticUndefined

from components.catalog import UnknownInstanceTypeError, instance_type
from components.problems import (
    NO_SECRETS,
    Problem,
    is_mapping,
    is_sequence,
    plain,
    report,
    show,
)

__all__ = [
    "NEVER",
    "REPLACES",
    "AccountId",
    "AddonVersion",
    "AmiId",
    "AmiRelease",
    "Cidr",
    "Dns",
    "Email",
    "InstanceName",
    "PinnedImage",
    "Problem",
    "RegionName",
    "Reservation",
    "ResourceGroup",
    "RoleArn",
    "Section",
    "SettingsError",
    "UrlPath",
    "ZoneId",
    "absent",
    "is_mapping",
    "parse",
    "rule",
    "stack_settings",
]

S = TypeVar("S", bound="Section")
Rule = Callable[[Any], Iterator[Problem]]

TAG = "source"
"""Key that says which of several small models a section is."""

SETTINGS = "site"
"""Key of the settings in a stack file, behind the project's name."""

REPLACES = Field(json_schema_extra={"x-change": "replaces what is there"})
"""Marks a setting whose change replaces resources; one without a mark changes in place."""

NEVER = Field(json_schema_extra={"x-change": "never, once the stack is up"})
"""Marks a setting whose change would make another site of the stack."""


class SettingsError(pulumi.RunError):
    """Settings cannot be used; the message lists every problem, and no traceback follows it."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        super().__init__(report(source, problems))
        self.problems = problems


def rule(*needs: str) -> Callable[[Rule], Rule]:
    """Mark a method of a section as a rule over the fields it ``needs``.

    The method yields a problem for each thing that is wrong. It also runs when other fields of its
    section are unusable, so it must look at no field that it does not name.
    """

    def mark(check: Rule) -> Rule:
        check.__dict__["needs"] = frozenset(needs)
        return check

    return mark


class Section(BaseModel):
    """Base of every settings model: no unknown key, no text for a number, no later change.

    An unknown key is nearly always a misspelt one; to ignore it would run with a default that
    nobody chose.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )

    @model_validator(mode="after")
    def _keeps_its_rules(self) -> Self:
        problems = _broken(self, set(type(self).model_fields))
        if problems:
            text = "; ".join(map(str, problems)).replace("{", "{{")
            raise PydanticCustomError("settings", text, {"problems": problems})  # pyright: ignore[reportArgumentType] - the message is made of what the rules found
        return self


def parse(model: type[S], raw: object, source: str) -> S:
    """Build ``model`` from ``raw``, or stop the program with every problem named.

    Parameters
    ----------
    model
        The settings model to build.
    raw
        What the file holds, as JSON or YAML gives it.
    source
        Where it comes from, for the message's first line.

    Raises
    ------
    SettingsError
        If anything is wrong. Rules are tried on all that can be used, so that one run tells most.
    """
    if is_mapping(raw) and set(raw) == {"secure"}:
        raise SettingsError(source, [Problem("", NO_SECRETS)])
    try:
        return model.model_validate_json(json.dumps(raw, default=str))
    except ValidationError as error:
        found = plain(error, _keys(model), _tagged(model))
        if is_mapping(raw):
            found += _salvage(model, raw)[1]
        raise SettingsError(source, sorted(set(found))) from None


def stack_settings(model: type[S]) -> S:
    """Read the stack's settings as ``model``, or stop the program with every problem named."""
    source = f"Pulumi.{pulumi.get_stack()}.yaml"
    text = pulumi.Config().get(SETTINGS)
    if text is None:
        raise SettingsError(source, [absent()])
    if is_config_secret(f"{pulumi.get_project()}:{SETTINGS}"):
        raise SettingsError(source, [Problem("", NO_SECRETS)])
    try:
        raw = json.loads(text)
    except ValueError:
        raw = text
    return parse(model, raw, source)


def absent() -> Problem:
    """Return the problem of a stack file without our settings."""
    return Problem("", f"has no trainyard:{SETTINGS} under config; write the site's settings there")


def shaped(pattern: str, what: str, example: str) -> AfterValidator:
    """Return a validator of texts that must look like ``pattern``."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if compiled.fullmatch(value):
            return value
        text = f"is {show('', value)}, which is not {what}; write it like {example}"
        raise PydanticCustomError("shape", text.replace("{", "{{"))  # pyright: ignore[reportArgumentType] - the message names what was seen

    return AfterValidator(check)


def _in_catalog(name: str) -> str:
    try:
        return instance_type(name).name
    except UnknownInstanceTypeError as error:
        text = (
            f"is {show('', name)}, which the catalog does not know; nearest: "
            f"{', '.join(error.nearest)} (or add it to components/catalog/instances.yaml)"
        )
        raise PydanticCustomError("shape", text.replace("{", "{{")) from None  # pyright: ignore[reportArgumentType] - the message names what was seen


AddonVersion = Annotated[
    str, shaped(r"v\d+\.\d+\.\d+-eksbuild\.\d+", "a version of an add-on", "v1.23.0-eksbuild.1")
]
AmiRelease = Annotated[
    str, shaped(r"\d+\.\d+\.\d+-\d{8}", "a release of the EKS image", "1.35.6-20260818")
]
AmiId = Annotated[str, shaped(r"ami-[0-9a-f]{8,17}", "an image", "ami-0123456789abcdef0")]
RegionName = Annotated[str, shaped(r"[a-z]{2}(-[a-z]+)+-\d", "a region", "us-east-1")]
Reservation = Annotated[
    str, shaped(r"cr-[0-9a-f]{8,17}", "a capacity reservation", "cr-0123456789abcdef0")
]
ResourceGroup = Annotated[
    str,
    shaped(
        r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:\d{12}:group/[\w.-]+",
        "the ARN of a resource group",
        "arn:aws:resource-groups:us-east-1:111122223333:group/training",
    ),
]
UrlPath = Annotated[str, shaped(r"/[^?#\s]*", "a plain path", "/health")]
AccountId = Annotated[str, shaped(r"\d{12}", "an account number", "'111122223333', in quotes")]
Cidr = IPv4Network
Dns = Annotated[str, shaped(r"[a-z][a-z0-9-]{0,29}", "a name", "train-a (at most 30 characters)")]
Email = Annotated[str, shaped(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an address", "team@example.com")]
InstanceName = Annotated[str, AfterValidator(_in_catalog)]
PinnedImage = Annotated[
    str,
    shaped(
        r"[a-z0-9.:/_-]+@sha256:[0-9a-f]{64}",
        "an image by digest",
        "registry.example.com/serving@sha256: and 64 hex digits",
    ),
]
RoleArn = Annotated[
    str,
    shaped(
        r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+",
        "the ARN of a role",
        "arn:aws:iam::111122223333:role/platform",
    ),
]
ZoneId = Annotated[
    str,
    shaped(
        r"[a-z]+\d-az\d",
        "the id of a zone (names differ between accounts)",
        "use1-az4",
    ),
]


def _broken(section: Section, usable: set[str]) -> list[Problem]:
    """Run the rules of ``section`` whose fields are all ``usable``."""
    problems: list[Problem] = []
    for kind in type(section).__mro__:
        for check in vars(kind).values():
            needs: frozenset[str] | None = getattr(check, "needs", None)
            if needs is not None and needs <= usable:
                problems.extend(check(section))
    return problems


def _salvage(model: type[Section], raw: Mapping[str, Any]) -> tuple[Section | None, list[Problem]]:
    """Try the rules of ``model`` and of the sections in it on the fields that are usable.

    Returns the section if every field of it is usable, and the problems that rules found.
    """
    good: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, field in model.model_fields.items():
        if name in raw:
            value, found = _salvage_value(field, raw[name])
            problems += [problem.under(name) for problem in found]
        else:
            value = field.get_default(call_default_factory=True)
        if value is not PydanticUndefined:
            good[name] = value
    section = model.model_construct(**good)
    problems += _broken(section, set(good))
    return (section if good.keys() == model.model_fields.keys() else None), problems


def _salvage_value(field: FieldInfo, raw: object) -> tuple[Any, list[Problem]]:
    """Return the value of one field (undefined if unusable) and the problems inside it."""
    inner = _sections_in(field.annotation)
    if inner and is_mapping(raw):
        chosen = _chosen(inner, raw)
        section, problems = _salvage(chosen, raw) if chosen else (None, [])
        return (PydanticUndefined if section is None else section), problems
    if inner and is_sequence(raw) and all(is_mapping(item) for item in raw):
        salvaged = [_salvage(_chosen(inner, item) or inner[0], item) for item in raw]
        problems = [p.under(str(n)) for n, (_, found) in enumerate(salvaged) for p in found]
        sections = tuple(section for section, _ in salvaged)
        return (PydanticUndefined if None in sections else sections), problems
    adapter: TypeAdapter[Any] = TypeAdapter(
        field.rebuild_annotation(), config=None if inner else ConfigDict(strict=True)
    )
    try:
        return adapter.validate_json(json.dumps(raw, default=str)), []
    except ValidationError:
        return PydanticUndefined, []


def _sections_in(annotation: Any) -> tuple[type[Section], ...]:  # noqa: ANN401 - annotations have no common type
    """Return the sections that a field can hold: itself, optionally, in a tuple, or one of some."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return (annotation,) if issubclass(annotation, Section) else ()
    if get_origin(annotation) in {Union, UnionType, tuple, Annotated}:
        return tuple(found for each in get_args(annotation) for found in _sections_in(each))
    return ()


def _chosen(sections: tuple[type[Section], ...], raw: Mapping[str, Any]) -> type[Section] | None:
    """Return the section that ``raw`` is meant to be; of several, its tag says which."""
    if len(sections) == 1:
        return sections[0]
    return next((each for each in sections if raw.get(TAG) in _tags(each)), None)


def _tags(section: type[Section]) -> tuple[str, ...]:
    field = section.model_fields.get(TAG)
    return get_args(field.annotation) if field else ()


def _inside(model: type[Section], path: str = "") -> Iterator[tuple[str, type[Section], bool]]:
    """Yield every section in ``model`` with its path without list positions, and if a tag ends it.

    Pydantic puts the tag of a section that is one of several into the path.
    """
    yield path, model, False
    for name, field in model.model_fields.items():
        sections = _sections_in(field.annotation)
        under = f"{path}.{name}".lstrip(".")
        if len(sections) == 1:
            yield from _inside(sections[0], under)
        else:
            for section in sections:
                for tag in _tags(section):
                    yield f"{under}.{tag}", section, True


def _keys(model: type[Section]) -> dict[str, tuple[str, ...]]:
    """Return the keys of ``model`` and of all sections in it, by path without list positions."""
    return {path: tuple(section.model_fields) for path, section, _ in _inside(model)}


def _tagged(model: type[Section]) -> frozenset[str]:
    """Return the paths that end in a tag, which a settings file does not write as a key."""
    return frozenset(path for path, _, tagged in _inside(model) if tagged)
