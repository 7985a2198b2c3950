"""How a finder on plain data becomes a policy: gates by type, survives unknowns, fails closed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyComplianceFramework,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from rules.exceptions import Exceptions, config_schema
from rules.plain import Plain, section, to_plain


@dataclass(frozen=True)
class About:
    """What a policy says about itself."""

    name: str
    description: str
    remedy: str
    """The way out, in one sentence."""
    rows: str
    """Rows of the catalogue it answers to, in whole or in part, such as ``2-6``."""
    sources: tuple[str, ...]
    """Ids of the public rules it answers to."""
    level: EnforcementLevel = EnforcementLevel.MANDATORY
    severity: Severity = Severity.HIGH

    def metadata(self) -> dict[str, Any]:
        """Arguments that every kind of policy takes."""
        return {
            "name": self.name,
            "description": self.description,
            "enforcement_level": self.level,
            "severity": self.severity,
            "remediation_steps": self.remedy,
            "framework": PolicyComplianceFramework(
                name="Trainyard policy catalogue", reference=self.rows
            ),
            "tags": list(self.sources),
            "config_schema": config_schema(),
        }


@dataclass(frozen=True)
class Subject:
    """One resource as rules see it."""

    kind: str
    name: str
    urn: str
    props: Mapping[str, Plain]
    provider: Mapping[str, Plain] = field(default_factory=dict[str, Plain])
    """Properties of its provider; structured ones are JSON texts."""
    links: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """URNs that each property was computed from; only in stack rules."""


@dataclass(frozen=True)
class Stack:
    """The resources a stack rule asked for."""

    subjects: tuple[Subject, ...]

    def of(self, *kinds: str) -> Iterator[Subject]:
        """Resources of these kinds, in the order of the stack."""
        return (subject for subject in self.subjects if subject.kind in kinds)


Finder = Callable[[Subject], Iterable[str]]
StackFinder = Callable[[Stack], Iterable[tuple[Subject, str]]]


class ResourceRule(ResourceValidationPolicy):
    """A policy made of finders, each with the kinds of resource it governs."""

    def __init__(self, about: About, finders: Mapping[Finder, Collection[str]]) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK's Awaitable is bare
            validate=self._check, **about.metadata()
        )
        self.about = about
        self.kinds = frozenset[str]().union(*finders.values())
        self._finders = finders

    def _check(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type not in self.kinds:
            return
        exceptions = Exceptions.read(args.get_config())
        subject = Subject(
            kind=args.resource_type,
            name=args.name,
            urn=args.urn,
            props=section(to_plain(args.props)),
            provider=section(to_plain(args.provider.props)) if args.provider else {},
        )
        for finder, kinds in self._finders.items():
            if subject.kind in kinds:
                findings = _on(subject, finder)
                where = f" on {subject.name} ({subject.kind})"
                _report(self.about, findings, exceptions, report, where=where)


class StackRule(StackValidationPolicy):
    """A policy made of one finder, which compares resources of ``kinds`` with one another."""

    def __init__(self, about: About, kinds: Collection[str], finder: StackFinder) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - the SDK's Awaitable is bare
            validate=self._check, **about.metadata()
        )
        self.about = about
        self.kinds = frozenset(kinds)
        self._finder = finder

    def _check(self, args: StackValidationArgs, report: ReportViolation) -> None:
        members = tuple(_member(r) for r in args.resources if r.resource_type in self.kinds)
        exceptions = Exceptions.read(args.get_config())
        _report(self.about, self._finder(Stack(members)), exceptions, report, where="")


def _on(subject: Subject, finder: Finder) -> Iterator[tuple[Subject, str]]:
    for finding in finder(subject):
        yield subject, finding


def _member(resource: PolicyResource) -> Subject:
    return Subject(
        kind=resource.resource_type,
        name=resource.name,
        urn=resource.urn,
        props=section(to_plain(resource.props)),
        links={
            prop: frozenset(source.urn for source in sources)
            for prop, sources in resource.property_dependencies.items()
        },
    )


def _report(
    about: About,
    findings: Iterable[tuple[Subject, str]],
    exceptions: Exceptions,
    report: ReportViolation,
    *,
    where: str,
) -> None:
    try:
        for subject, finding in findings:
            kept = exceptions.judge(subject.name, subject.urn, finding)
            if kept:
                report(f"{subject.name} ({subject.kind}): {kept}", subject.urn)
    except Exception as error:  # noqa: BLE001 - any crash must end as a violation, not as a pass
        # The class only: an error's text may quote a secret property.
        report(
            f"policy {about.name} crashed{where} ({type(error).__name__}), so this was not fully "
            "checked; mend the rule, nothing passes unchecked",
            None,
        )
