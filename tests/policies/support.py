"""Runs policies the way the engine does: over gRPC messages, in this process.

The SDK's servicer is a private name and the only way in without an engine, so it is used here only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import struct_pb2
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel, Policy
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY
from pulumi_policy.policy import _PolicyAnalyzerServicer
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from rules import ALL
from rules.base import Subject
from rules.plain import section, to_plain

UNKNOWN = UNKNOWN_STRING_VALUE
OWNED = {"owner": "ml-platform", "cost-center": "cc-1"}
PROVIDER = {"defaultTags": '{"tags": {"owner": "ml-platform", "cost-center": "cc-1"}}'}


def secret(value: object) -> dict[str, object]:
    """Mark a value as the engine sends a Pulumi secret."""
    return {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": value}


@dataclass(frozen=True)
class Violation:
    policy: str
    level: str
    urn: str
    message: str


@dataclass(frozen=True)
class Declared:
    """A resource of a stack."""

    kind: str
    name: str
    props: Mapping[str, Any]
    links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names of the resources each property was computed from."""


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:test::trainyard::{kind}::{name}"


def subject(
    kind: str, props: Mapping[str, Any], provider: Mapping[str, Any] | None = None
) -> Subject:
    """Make what a finder gets, for tests without the SDK."""
    return Subject(
        kind, "it", urn(kind, "it"), section(to_plain(props)), section(to_plain(provider or {}))
    )


def analyze(
    kind: str,
    props: Mapping[str, Any],
    *,
    policies: Sequence[Policy] = ALL,
    provider: Mapping[str, Any] | None = PROVIDER,
    config: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Violation]:
    """Run resource policies on one resource named ``it``."""
    request = proto.AnalyzeRequest(
        type=kind,
        properties=_struct(props),
        urn=urn(kind, "it"),
        name="it",
        options=proto.AnalyzerResourceOptions(),
        provider=None
        if provider is None
        else proto.AnalyzerProviderResource(
            type="pulumi:providers:aws",
            properties=_struct(provider),
            urn=urn("pulumi:providers:aws", "aws"),
            name="aws",
        ),
    )
    return read(servicer(policies, config).Analyze(request, None))


def analyze_stack(
    resources: Sequence[Declared],
    *,
    policies: Sequence[Policy] = ALL,
    config: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Violation]:
    """Run stack policies on a whole stack."""
    urns = {resource.name: urn(resource.kind, resource.name) for resource in resources}
    request = proto.AnalyzeStackRequest(
        resources=[
            proto.AnalyzerResource(
                type=resource.kind,
                properties=_struct(resource.props),
                urn=urns[resource.name],
                name=resource.name,
                options=proto.AnalyzerResourceOptions(),
                propertyDependencies={
                    prop: proto.AnalyzerPropertyDependencies(urns=[urns[name] for name in names])
                    for prop, names in resource.links.items()
                },
            )
            for resource in resources
        ]
    )
    return read(servicer(policies, config).AnalyzeStack(request, None))


def messages(violations: Sequence[Violation]) -> list[str]:
    """Take the messages without the descriptions that the SDK puts before them."""
    return [violation.message.partition("\n")[2] for violation in violations]


def servicer(
    policies: Sequence[Policy] = ALL, config: Mapping[str, Mapping[str, Any]] | None = None
) -> _PolicyAnalyzerServicer:
    """Set up what the engine talks to when it runs a pack."""
    analyzer = _PolicyAnalyzerServicer(
        "trainyard", "0.0.1", list(policies), EnforcementLevel.ADVISORY
    )
    if config:
        request = proto.ConfigureAnalyzerRequest()
        for policy in policies:
            if policy.name in config:
                entry = request.policyConfig[policy.name]
                entry.properties.update(config[policy.name])
                entry.enforcementLevel = proto.MANDATORY
        analyzer.Configure(request, None)
    return analyzer


def _struct(props: Mapping[str, Any]) -> struct_pb2.Struct:
    struct = struct_pb2.Struct()
    struct.update(dict(props))
    return struct


def read(response: proto.AnalyzeResponse) -> list[Violation]:
    """Read the servicer's answer."""
    return [
        Violation(
            diagnostic.policyName,
            proto.EnforcementLevel.Name(diagnostic.enforcementLevel),
            diagnostic.urn,
            diagnostic.message,
        )
        for diagnostic in response.diagnostics
    ]
