"""An engine that records what a program declares, and answers as a fresh AWS would."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto.resource_pb2 import RegisterResourceRequest, RegisterResourceResponse
from pulumi.runtime.proto.source_pb2 import StackTrace

# The engine is told for each resource where it was declared. Nobody asks that here, and to find it
# takes a third of the time of a run.
pulumi.runtime.resource._get_stack_trace = StackTrace

# What AWS adds to the inputs, for the kinds whose outputs the program reads.
COMPUTED: Mapping[str, Mapping[str, Any]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 1},
    "aws:eks/cluster:Cluster": {
        "endpoint": "https://cluster.example",
        "certificateAuthority": {"data": "Q0E="},
    },
    "aws:fsx/lustreFileSystem:LustreFileSystem": {"dnsName": "fs.example", "mountName": "mount"},
    "aws:amp/workspace:Workspace": {"prometheusEndpoint": "https://metrics.example"},
    "aws:eks/nodeGroup:NodeGroup": {"resources": [{"autoscalingGroups": [{"name": "eks-group"}]}]},
    "command:local:Command": {"stdout": "verdict: pass"},
}


class Engine(pulumi.runtime.Mocks):
    """Records resources; in a preview, what only AWS can know stays unknown."""

    def __init__(self, *, preview: bool = False) -> None:
        self.preview = preview
        self.declared: list[pulumi.runtime.MockResourceArgs] = []
        self.dependencies: dict[str, list[str]] = {}
        self.parents: dict[str, str] = {}
        self.protected: dict[str, bool] = {}
        self.monitor = Monitor(self)

    def new_resource(
        self, args: pulumi.runtime.MockResourceArgs
    ) -> tuple[str | None, dict[str, Any]]:
        self.declared.append(args)
        outputs = dict(args.inputs)
        if self.preview:
            return None, outputs
        outputs |= {"arn": f"arn:mock:{args.typ}:{args.name}", "keyId": f"{args.name}-key"}
        outputs |= COMPUTED.get(args.typ, {})
        if args.typ == "aws:eks/cluster:Cluster":
            outputs["vpcConfig"] = {
                **args.inputs["vpcConfig"],
                "clusterSecurityGroupId": "sg-cluster",
            }
        return f"{args.name}-id", outputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"unexpected look-up {args.token}; the program knows all it needs")

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Return the inputs of every resource of a kind, by its last part: ``Subnet``."""
        return [r.inputs for r in self.declared if re.split("[:/]", r.typ)[-1] == kind]

    def only(self, kind: str) -> dict[str, Any]:
        """Return the inputs of the single resource of a kind."""
        [found] = self.all(kind)
        return found

    def named(self, name: str, kind: str) -> dict[str, Any]:
        """Return the inputs of the resource of a kind with this logical name."""
        [found] = [
            r.inputs
            for r in self.declared
            if r.name == name and re.split("[:/]", r.typ)[-1] == kind
        ]
        return found

    def urn(self, name: str, kind: str) -> str:
        """Return the URN of a resource."""
        [found] = [
            urn
            for urn in self.dependencies
            if urn.endswith(f"::{name}") and re.split("[:/$]", urn.split("::")[-2])[-1] == kind
        ]
        return found


class Monitor(MockMonitor):
    """Notes what each resource waits for, which the mocks do not tell."""

    def RegisterResource(  # noqa: N802 - the name of the call
        self, request: RegisterResourceRequest
    ) -> RegisterResourceResponse:
        answer = super().RegisterResource(request)
        self.mocks.dependencies[answer.urn] = list(request.dependencies)
        self.mocks.protected[answer.urn] = request.protect
        self.mocks.parents[answer.urn] = request.parent
        return answer


def run(program: Callable[[], Any], *, preview: bool = False, stack: str = "local") -> Engine:
    """Run ``program`` against a fresh engine, and wait until all is registered."""
    engine = Engine(preview=preview)
    pulumi.runtime.set_mocks(
        engine, project="trainyard", stack=stack, preview=preview, monitor=engine.monitor
    )
    pulumi.runtime.test(program)()
    return engine
