"""IAM documents in one shape, whatever way they were written."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rules import types
from rules.base import Subject
from rules.plain import Plain, has_unknown, many, sections, texts, to_plain


@dataclass(frozen=True)
class Condition:
    """One test of a statement: an operator, a key and the values that satisfy it."""

    operator: str
    """In lower case, with its set prefix and ``IfExists``: ``forallvalues:stringlike``."""
    key: str
    """In lower case, because AWS ignores the case of keys."""
    values: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """One statement; texts that are unknown are left out."""

    label: str
    """Its Sid, or its place from 1: ``#2``."""
    allows: bool
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    principals: tuple[tuple[str, str], ...]
    """Pairs such as ``("aws", "*")``; the kind is in lower case, ``Principal: "*"`` is ``aws``."""
    excluded: tuple[str, ...]
    """Which of NotAction, NotResource and NotPrincipal it uses."""
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Document:
    """A document in a property of a resource."""

    path: str
    """Where it stands: ``inlinePolicies[0].policy``."""
    statements: tuple[Statement, ...] = ()
    unknown: bool = False
    """Something in it is not known yet; the statements hold the known part."""
    broken: str = ""
    """Why it cannot be read, without quoting it."""

    def allowing(self) -> Iterator[Statement]:
        """Statements that allow; a Deny never makes a document wider."""
        return (statement for statement in self.statements if statement.allows)


class _RepeatedKeyError(ValueError):
    """A key stands twice in one object, so readers disagree about what it says."""


def parse(path: str, raw: Plain) -> Document:
    """Read a document written as JSON text or as an object."""
    value = raw
    if isinstance(raw, str):
        try:
            value = to_plain(json.loads(raw, object_pairs_hook=_unique))
        except _RepeatedKeyError:
            return Document(path, broken="it repeats a key")
        except ValueError:
            return Document(path, broken="it is not JSON")
    unknown = has_unknown(value)
    if not isinstance(value, dict):
        return Document(path, unknown=unknown, broken="" if unknown else "it is not an object")
    blocks = sections([*_elements(value, "statement")])
    statements = tuple(_statement(number, block) for number, block in enumerate(blocks, start=1))
    return Document(path, statements, unknown)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key.lower() for key, _ in pairs}) < len(pairs):
        raise _RepeatedKeyError
    return dict(pairs)


def _elements(block: Mapping[str, Plain], name: str) -> Iterator[Plain]:
    for key, value in block.items():
        if key.lower() == name:
            yield from many(value)


def _statement(number: int, block: dict[str, Plain]) -> Statement:
    sid = next(iter(texts([*_elements(block, "sid")])), "")
    effects = texts([*_elements(block, "effect")])
    excluded = ("NotAction", "NotResource", "NotPrincipal")
    keys = {key.lower() for key in block}
    return Statement(
        label=sid or f"#{number}",
        # An effect that is missing or unknown is judged as the wider one.
        allows=[effect.lower() for effect in effects] != ["deny"],
        actions=tuple(texts([*_elements(block, "action")])),
        resources=tuple(texts([*_elements(block, "resource")])),
        principals=tuple(_principals([*_elements(block, "principal")])),
        excluded=tuple(name for name in excluded if name.lower() in keys),
        conditions=tuple(_conditions([*_elements(block, "condition")])),
    )


def _principals(values: list[Plain]) -> Iterator[tuple[str, str]]:
    for value in values:
        if isinstance(value, str):
            yield "aws", value
        elif isinstance(value, dict):
            for kind, names in value.items():
                yield from ((kind.lower(), name) for name in texts(names))


def _conditions(values: list[Plain]) -> Iterator[Condition]:
    for block in sections(values):
        for operator, tests in block.items():
            for test in sections(tests):
                for key, wanted in test.items():
                    scalars = (str(v).lower() if isinstance(v, bool) else v for v in many(wanted))
                    known = tuple(str(v) for v in scalars if isinstance(v, (str, int, float)))
                    yield Condition(operator.lower(), key.lower(), known)


_PERMISSIONS: Mapping[str, str] = {
    types.EKS_POD_IDENTITY_ASSOCIATION: "policy",
    types.IAM_GROUP_POLICY: "policy",
    types.IAM_POLICY: "policy",
    types.IAM_ROLE: "inlinePolicies",
    types.IAM_ROLE_POLICY: "policy",
    types.IAM_USER_POLICY: "policy",
}
_TRUST: Mapping[str, str] = {types.IAM_ROLE: "assumeRolePolicy"}
_ACCESS: Mapping[str, str] = {
    types.ECR_REGISTRY_POLICY: "policy",
    types.ECR_REPOSITORY_POLICY: "policy",
    types.EFS_FILE_SYSTEM_POLICY: "policy",
    types.KMS_KEY: "policy",
    types.KMS_KEY_POLICY: "policy",
    types.S3_ACCESS_POINT: "policy",
    types.S3_BUCKET: "policy",
    types.S3_BUCKET_V2: "policy",
    types.S3_BUCKET_POLICY: "policy",
    types.SECRETSMANAGER_SECRET: "policy",
    types.SECRETSMANAGER_SECRET_POLICY: "policy",
    types.SNS_TOPIC: "policy",
    types.SNS_TOPIC_POLICY: "policy",
    types.SQS_QUEUE: "policy",
    types.SQS_QUEUE_POLICY: "policy",
}
PERMISSION_KINDS = frozenset(_PERMISSIONS)
TRUST_KINDS = frozenset(_TRUST)
ACCESS_KINDS = frozenset(_ACCESS)


def permissions(subject: Subject) -> Iterator[Document]:
    """Documents that say what an identity may do."""
    return _documents(subject, _PERMISSIONS)


def trust(subject: Subject) -> Iterator[Document]:
    """Documents that say who may become a role."""
    return _documents(subject, _TRUST)


def access(subject: Subject) -> Iterator[Document]:
    """Documents on a resource that say who may use it."""
    return _documents(subject, _ACCESS)


def _documents(subject: Subject, table: Mapping[str, str]) -> Iterator[Document]:
    path = table.get(subject.kind, "")
    value = subject.props.get(path)
    if path != "inlinePolicies":
        if value not in (None, ""):
            yield parse(path, value)
        return
    for index, item in enumerate(many(value)):
        raw = item.get("policy") if isinstance(item, dict) else item
        if raw not in (None, ""):
            yield parse(f"inlinePolicies[{index}].policy", raw)
