"""The policies over what this repository's own stacks declare, as the engine would send it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pulumi
import pytest
from pulumi.runtime import proto

from tests.policies.support import Violation, read, servicer
from tests.support.engine import Engine, Monitor
from tests.support.stacks import STACKS, build

# The SDK warns about its own old names when a module of it is first imported.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws")


@dataclass(frozen=True)
class Registered:
    """A resource with its URN."""

    request: Any
    urn: str


class Recorder(Monitor):
    """Keeps the requests, which hold unknowns and dependencies that the mocks do not tell."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.registered: list[Registered] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802, ANN401 - the SDK's own shape
        answer = super().RegisterResource(request)
        self.registered.append(Registered(request, answer.urn))
        return answer


@cache
def declared(stack: str) -> Sequence[Registered]:
    """Run the program as in the first preview of ``stack``, where no id is known."""
    engine = Engine(preview=True)
    engine.monitor = Recorder(engine)
    pulumi.runtime.set_mocks(
        engine, project="trainyard", stack=stack, preview=True, monitor=engine.monitor
    )
    pulumi.runtime.test(lambda: build(stack))()
    return engine.monitor.registered


def judge(resources: Sequence[Registered]) -> list[Violation]:
    """Run the whole pack."""
    providers = {
        item.urn: proto.AnalyzerProviderResource(
            type=item.request.type,
            properties=item.request.object,
            urn=item.urn,
            name=item.request.name,
        )
        for item in resources
        if item.request.type.startswith("pulumi:providers:")
    }
    pack = servicer()
    found: list[Violation] = []
    members: list[Any] = []
    for item in resources:
        shared = {
            "type": item.request.type,
            "properties": item.request.object,
            "urn": item.urn,
            "name": item.request.name,
            "options": proto.AnalyzerResourceOptions(),
            "provider": providers.get(item.request.provider.rpartition("::")[0]),
        }
        found += read(pack.Analyze(proto.AnalyzeRequest(**shared), None))
        dependencies = {
            prop: proto.AnalyzerPropertyDependencies(urns=list(sources.urns))
            for prop, sources in item.request.propertyDependencies.items()
        }
        members.append(proto.AnalyzerResource(**shared, propertyDependencies=dependencies))
    return [*found, *read(pack.AnalyzeStack(proto.AnalyzeStackRequest(resources=members), None))]


@pytest.mark.parametrize("stack", STACKS)
def test_the_first_preview_of_each_stack_passes_every_policy(stack: str) -> None:
    assert judge(declared(stack)) == []


@pytest.mark.parametrize(
    ("left_out", "policy"),
    [
        ("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule", "network-efa-self-rules"),
        ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "storage-buckets-guarded"),
        (
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            "storage-buckets-guarded",
        ),
    ],
)
def test_the_policies_see_what_the_stack_leaves_out(left_out: str, policy: str) -> None:
    kept = [item for item in declared("prod") if item.request.type != left_out]
    assert {violation.policy for violation in judge(kept)} == {policy}
