"""What is wrong with a settings file, in plain sentences: what was seen, the rule, the way out."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from rapidfuzz import fuzz, process

__all__ = [
    "NO_SECRETS",
    "Problem",
    "is_mapping",
    "is_sequence",
    "nearest",
    "plain",
    "report",
    "show",
]

LONGEST = 60
"""Characters of a text that are shown: enough to find it, not enough to fill the screen."""

ALIKE = 70.0
"""Likeness (0-100) from which a name is offered instead of a wrong one: one or two letters off."""

SECRET_KEY = re.compile(
    r"passw|secret|token|credential|private_key|api_?key|access_key", re.IGNORECASE
)
SECRET_VALUE = re.compile(
    r"(AKIA|ASIA)[A-Z0-9]{12,}|-----BEGIN|gh[pousr]_|glpat-|xox[abp]-|pul-[0-9a-f]{20}|hf_\w{20}"
    r"|^(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9+/_=]{32,}$"
)
"""Shapes of keys and tokens; the last is any long run of letters and digits without a break."""

NO_SECRETS = "holds a secret; settings hold none, so keep its value in Secrets Manager"

KINDS = {
    "bool": "true or false",
    "dict": "a section with keys of its own",
    "float": "a number without quotes",
    "int": "a whole number without quotes",
    "list": "a list",
    "model": "a section with keys of its own",
    "string": "a text in quotes",
    "tuple": "a list",
}
"""What to write where pydantic speaks of a type."""

BOUNDS = {
    "greater_than": ("gt", "it must be more than"),
    "greater_than_equal": ("ge", "the least is"),
    "less_than": ("lt", "it must be less than"),
    "less_than_equal": ("le", "the most is"),
}

NETWORKS = {"ip_v4_network", "value_error"}
"""What pydantic calls a bad network; the second when bits are set behind its length."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """One thing to mend: the key's path from the root of the settings, and a sentence about it."""

    path: str
    text: str

    def under(self, path: str) -> "Problem":
        """Return the same problem with ``path`` put before its own."""
        return Problem(".".join(part for part in (path, self.path) if part), self.text)

    def __str__(self) -> str:
        return f"{self.path or '(whole file)'}: {self.text}"


def report(source: str, problems: Sequence[Problem]) -> str:
    """Return the message that stops a run: all ``problems`` of ``source``, each on its line."""
    heading = f"{source}: {len(problems)} to fix, nothing was changed"
    return "\n".join([heading, *(f"  {problem}" for problem in problems)])


def show(path: str, value: object) -> str:
    """Return ``value`` as a person wrote it, or what it is when it must not be repeated."""
    if is_mapping(value):
        return "a section"
    if is_sequence(value):
        return f"a list of {len(value)}"
    return _scalar(path, value)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name among ``known`` that ``name`` was probably meant to be."""
    match = process.extractOne(name, sorted(known), scorer=fuzz.ratio, score_cutoff=ALIKE)
    return match[0] if match else None


def plain(
    error: ValidationError,
    known: Mapping[str, Sequence[str]],
    tagged: Collection[str] = frozenset(),
) -> list[Problem]:
    """Return the problems that pydantic found.

    ``known`` gives the keys of each section by its path, for hints about misspelt ones. ``tagged``
    are the paths that end in the tag of a section, which is no key of the file.
    """
    found: list[Problem] = []
    for details in error.errors(include_url=False):
        if _only_counts_good_items(details):
            continue
        path = _path(details["loc"], tagged)
        problems: Sequence[Problem] = details.get("ctx", {}).get("problems", ())
        if problems:
            found.extend(problem.under(path) for problem in problems)
        else:
            keys = known.get(_bare(details["loc"][:-1]), ())
            found.append(Problem(path, _sentence(path, details, keys)))
    return found


def _only_counts_good_items(details: Mapping[str, Any]) -> bool:
    """Tell whether a list is long enough but for items that are problems of their own."""
    seen, context = details["input"], details.get("ctx", {})
    return (
        details["type"] == "too_short" and is_sequence(seen) and len(seen) >= context["min_length"]
    )


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether ``value`` is a section of a settings file."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether ``value`` is a list of a settings file, which a text is not."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _path(location: tuple[int | str, ...], tagged: Collection[str]) -> str:
    """Return where something stands in the file."""
    return ".".join(
        str(part)
        for position, part in enumerate(location)
        if _bare(location[: position + 1]) not in tagged or isinstance(part, int)
    )


def _bare(location: tuple[int | str, ...]) -> str:
    """Return a path without list positions."""
    return ".".join(part for part in location if isinstance(part, str))


def _scalar(path: str, value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if SECRET_KEY.search(path) or SECRET_VALUE.search(str(value)):
        return "a value that is not shown here, because it looks like a secret"
    if isinstance(value, str):
        text = value if len(value) <= LONGEST else value[:LONGEST] + "…"
        return f"the text {text!r}"
    return f"the number {value}"


def _sentence(path: str, details: ErrorDetails, keys: Sequence[str]) -> str:
    kind, value = details["type"], details["input"]
    if kind == "missing":
        return "is missing; add it"
    if kind == "extra_forbidden":
        return _not_a_setting(path, keys)
    if kind.startswith("union_tag"):
        return _no_such_model(details)
    if kind == "shape":
        return details["msg"]
    if is_mapping(value) and set(value) == {"secure"}:
        return NO_SECRETS
    return f"is {show(path, value)}{_rule(kind, details)}"


def _rule(kind: str, details: ErrorDetails) -> str:
    """Return the rule that pydantic calls ``kind``, and the way out, after what was seen."""
    context = details.get("ctx", {})
    if kind in BOUNDS:
        key, bound = BOUNDS[kind]
        return f"; {bound} {context[key]}"
    if kind in NETWORKS:
        return ", which is no network; write its first address and length, as in 10.0.0.0/16"
    words = {
        "literal_error": "use {expected}",
        "too_long": "it may have at most {max_length}",
        "too_short": "it needs at least {min_length}",
    }
    if kind in words:
        return "; " + words[kind].format(**context)
    return f"; write {KINDS.get(kind.split('_', maxsplit=1)[0], details['msg'])}"


def _not_a_setting(path: str, keys: Sequence[str]) -> str:
    hint = nearest(path.rpartition(".")[2], keys)
    if hint:
        return f"is not a setting; did you mean {hint}?"
    return f"is not a setting; known here: {', '.join(sorted(keys))}"


def _no_such_model(details: ErrorDetails) -> str:
    """Say which tags there are where a section is one of several models."""
    context = details.get("ctx", {})
    key = context["discriminator"].strip("'")
    if details["type"] == "union_tag_not_found":
        return f"has no {key}; add it, to say which of its kinds this is"
    expected = context["expected_tags"].replace("'", "")
    return f"has {show(key, context['tag'])} as its {key}; use one of {expected}"
