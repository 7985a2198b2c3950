"""The whole target, really started, in a home of its own."""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import boto3
import psutil
import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Node, Pod

from scripts.errors import FailedError, UsageError
from scripts.local.home import Home
from scripts.local.target import lifecycle, process, status
from scripts.local.target.cloud import credentials
from scripts.local.target.lifecycle import Target
from scripts.local.target.parts import ORDER
from scripts.local.target.ports import PortInUseError, load_ports
from scripts.local.toolchain import Tools, ensure

pytestmark = pytest.mark.slow

ACCOUNT = "000000000000"
STACK = f'config: {{"trainyard:site": {{account: "{ACCOUNT}", region: us-east-1}}}}\n'
PATIENCE_SECONDS = 90
NOT_READY = "node.kubernetes.io/not-ready"


KUEUE = ("kueue.x-k8s.io", "v1beta2")
Flavor = create_global_resource(*KUEUE, "ResourceFlavor", "resourceflavors")
ClusterQueue = create_global_resource(*KUEUE, "ClusterQueue", "clusterqueues")
LocalQueue = create_namespaced_resource(*KUEUE, "LocalQueue", "localqueues")
MPIJob = create_namespaced_resource("kubeflow.org", "v2beta1", "MPIJob", "mpijobs")

T = TypeVar("T")


def quiet(_text: str) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def tools() -> Tools:
    return ensure()


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stacks")
    (folder / "Pulumi.local.yaml").write_text(STACK)
    return folder


@pytest.fixture(scope="module")
def target(
    tmp_path_factory: pytest.TempPathFactory, tools: Tools, stacks: Path
) -> Iterator[Target]:
    home = Home(tmp_path_factory.mktemp("home"))
    try:
        yield lifecycle.up(home, tools, quiet, stacks)
    finally:
        lifecycle.down(home, quiet, wipe=True)


@pytest.fixture
def kubernetes(target: Target) -> Iterator[Client]:
    client = Client(config=KubeConfig.from_file(target.home.kubeconfig))
    yield client
    client.close()


def until(true: Callable[[], T | None], what: str) -> T:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := true()):
        assert time.monotonic() < deadline, f"not in {PATIENCE_SECONDS} s: {what}"
        time.sleep(0.2)
    return found


def pids(home: Home) -> dict[str, int]:
    records = {name: process.find(home, name) for name in ORDER}
    return {name: record.pid for name, record in records.items() if record}


class Aws:
    """A VPC, roles and a cluster in the simulated account."""

    def __init__(self, target: Target) -> None:
        keys = {name.lower(): value for name, value in credentials(ACCOUNT).items()}
        session = boto3.Session(**keys, region_name="us-east-1")
        self.ec2 = session.client("ec2", endpoint_url=target.aws)
        self.eks = session.client("eks", endpoint_url=target.aws)
        self._iam = session.client("iam", endpoint_url=target.aws)

    def role(self, name: str, service: str) -> str:
        allow = {
            "Effect": "Allow",
            "Principal": {"Service": service},
            "Action": "sts:AssumeRole",
        }
        document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
        made = self._iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)
        return made["Role"]["Arn"]

    def cluster(self) -> list[str]:
        vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnets = [
            self.ec2.create_subnet(
                VpcId=vpc, CidrBlock=f"10.0.{number * 16}.0/20", AvailabilityZone=f"us-east-1{zone}"
            )["Subnet"]["SubnetId"]
            for number, zone in enumerate("ab")
        ]
        self.eks.create_cluster(
            name="demo",
            roleArn=self.role("control-plane", "eks.amazonaws.com"),
            version="1.35",
            resourcesVpcConfig={"subnetIds": subnets},
            accessConfig={"authenticationMode": "API"},
        )
        return subnets

    def group_exists(self) -> bool:
        return bool(self.eks.list_nodegroups(clusterName="demo")["nodegroups"])

    def group(self, subnet: str, size: int) -> None:
        self.eks.create_nodegroup(
            clusterName="demo",
            nodegroupName="h100-1",
            nodeRole=self.role("nodes", "ec2.amazonaws.com"),
            amiType="AL2023_x86_64_NVIDIA",
            subnets=[subnet],
            instanceTypes=["p5.48xlarge"],
            scalingConfig={"minSize": 0, "maxSize": 8, "desiredSize": size},
            labels={"trainyard.dev/pool": "h100", "trainyard.dev/wave": "1"},
            taints=[{"key": "trainyard.dev/unproved", "value": "true", "effect": "NO_SCHEDULE"}],
        )


@pytest.fixture(scope="module")
def aws(target: Target) -> Aws:
    aws = Aws(target)
    subnet, _ = aws.cluster()
    aws.group(subnet, 2)
    return aws


@pytest.fixture
def nodes(aws: Aws, kubernetes: Client) -> list[str]:
    assert aws.group_exists()

    def ready() -> list[str] | None:
        found = list(kubernetes.list(Node))
        waiting = [node for node in found if NOT_READY in taints(node)]
        return [node.metadata.name for node in found] if len(found) == 2 and not waiting else None

    return until(ready, "two nodes are Ready")


def taints(node: Node) -> set[str]:
    return {taint.key for taint in node.spec.taints or []}


def job(name: str, *, node: str | None = None, queue: str | None = None) -> Job:
    """Make a Job of one pod: pinned to ``node``, or suspended in ``queue``."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    pinned = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = {
        "restartPolicy": "Never",
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "check", "image": "any"}],
        "affinity": pinned if node else {},
    }
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return Job.from_dict(
        {
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"suspend": queue is not None, "template": {"spec": pod}},
        }
    )


def mpijob(name: str, *, gpus: int = 0, queue: str | None = None) -> MPIJob:
    """Make an MPIJob of two pods, the launcher being a worker too."""
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    pod = {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "check", "image": "any", "resources": {"limits": limits}}],
    }
    replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}}
    return MPIJob(
        metadata={
            "name": name,
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
        },
        spec={
            "runLauncherAsWorker": True,
            "launcherCreationPolicy": "WaitForWorkersReady",
            "slotsPerWorker": 8,
            "mpiReplicaSpecs": {"Launcher": replica, "Worker": replica},
        },
    )


def succeeded(kubernetes: Client, name: str) -> bool:
    found = kubernetes.get(MPIJob, name, namespace="default")
    conditions = (found.status or {}).get("conditions", [])
    return any(each["type"] == "Succeeded" and each["status"] == "True" for each in conditions)


def pods_of(kubernetes: Client, name: str) -> dict[str, Pod]:
    labels = {"training.kubeflow.org/job-name": name}
    found = kubernetes.list(Pod, namespace="default", labels=labels)
    return {each.metadata.labels["training.kubeflow.org/job-role"]: each for each in found}


def finished(kubernetes: Client, name: str) -> bool:
    return bool(kubernetes.get(Job, name, namespace="default").status.succeeded)


def test_every_part_is_well(target: Target) -> None:
    lines = status.lines(target.home, target.parts)
    assert {line.part: line.health for line in lines} == dict.fromkeys(ORDER, "pass")
    assert status.verdict(lines) == "pass"


def test_a_second_up_keeps_every_process(target: Target, tools: Tools, stacks: Path) -> None:
    before = pids(target.home)
    lifecycle.up(target.home, tools, quiet, stacks)
    assert pids(target.home) == before


def test_a_node_group_becomes_nodes(nodes: list[str], kubernetes: Client) -> None:
    node = kubernetes.get(Node, nodes[0])
    assert node.metadata.labels["trainyard.dev/pool"] == "h100"
    assert node.status.capacity["nvidia.com/gpu"] == "8"
    assert taints(node) == {"trainyard.dev/unproved"}


def test_a_job_on_a_node_completes_and_its_log_is_served(
    nodes: list[str], kubernetes: Client
) -> None:
    kubernetes.create(job("pinned", node=nodes[1]))
    until(lambda: finished(kubernetes, "pinned"), "the job completes")
    [pod] = kubernetes.list(Pod, namespace="default", labels={"job-name": "pinned"})
    assert pod.spec.nodeName == nodes[1]
    log = "\n".join(kubernetes.log(pod.metadata.name, namespace="default"))
    assert log.strip() == (
        f"simulated: container check of pod default/{pod.metadata.name} runs no program"
    )


def test_an_mpijob_ends_with_its_launcher_and_its_workers_run_until_then(
    nodes: list[str], kubernetes: Client
) -> None:
    kubernetes.create(mpijob("pair", gpus=8))
    until(lambda: succeeded(kubernetes, "pair"), "the launcher has ended")
    pods = pods_of(kubernetes, "pair")
    assert {role: pod.status.phase for role, pod in pods.items()} == {
        "launcher": "Succeeded",
        "worker": "Running",
    }
    assert {pod.spec.nodeName for pod in pods.values()} == set(nodes)
    kubernetes.delete(MPIJob, "pair", namespace="default")
    until(lambda: not pods_of(kubernetes, "pair"), "its pods go with it")


@pytest.fixture(scope="module")
def queue(target: Target) -> str:
    """Make a queue of ten pods."""
    quota = {"name": "plain", "resources": [{"name": "pods", "nominalQuota": 10}]}
    groups = [{"coveredResources": ["pods"], "flavors": [quota]}]
    queue = {"namespaceSelector": {}, "resourceGroups": groups}
    train = {"name": "train"}
    with Client(config=KubeConfig.from_file(target.home.kubeconfig)) as kubernetes:
        for item in (
            Flavor(metadata={"name": "plain"}, spec={}),
            ClusterQueue(metadata=train, spec=queue),
            LocalQueue(metadata=train | {"namespace": "default"}, spec={"clusterQueue": "train"}),
        ):
            kubernetes.create(item)
    return "train"


@pytest.mark.usefixtures("nodes")
def test_kueue_admits_a_suspended_job(kubernetes: Client, queue: str) -> None:
    kubernetes.create(job("queued", queue=queue))
    until(lambda: finished(kubernetes, "queued"), "the job is admitted and completes")


@pytest.mark.usefixtures("nodes")
def test_kueue_suspends_an_mpijob_and_admits_it(kubernetes: Client, queue: str) -> None:
    made = kubernetes.create(mpijob("queued-mpi", queue=queue))
    assert made["spec"]["runPolicy"]["suspend"]
    until(lambda: succeeded(kubernetes, "queued-mpi"), "the MPIJob is admitted and completes")


def test_a_part_that_died_is_seen_and_started_again(
    target: Target, tools: Tools, stacks: Path
) -> None:
    before = pids(target.home)
    os.kill(before["kwok"], signal.SIGKILL)
    until(lambda: process.find(target.home, "kwok") is None, "kwok is gone")
    lines = status.lines(target.home, target.parts)
    seen = {line.part: line.health for line in lines}
    assert seen == dict.fromkeys(ORDER, "pass") | {"kwok": "fail"}
    assert status.verdict(lines) == "fail"

    lifecycle.up(target.home, tools, quiet, stacks)
    assert status.verdict(status.lines(target.home, target.parts)) == "pass"
    changed = {name for name, pid in pids(target.home).items() if pid != before[name]}
    assert changed == {"kwok"}


def test_only_one_up_works_at_a_time(target: Target, tools: Tools, stacks: Path) -> None:
    with lifecycle.exclusive(target.home), pytest.raises(UsageError) as caught:
        lifecycle.up(target.home, tools, quiet, stacks)
    assert str(caught.value) == (
        f"another `yard local up` or `down` is working on {target.home.root};"
        " wait until it has ended"
    )


@pytest.mark.usefixtures("nodes")
def test_state_survives_down_and_up_and_down_leaves_no_process(
    target: Target, tools: Tools, stacks: Path, kubernetes: Client, aws: Aws
) -> None:
    before = pids(target.home)
    kubernetes.create(Namespace.from_dict({"metadata": {"name": "kept"}}))
    lifecycle.down(target.home, quiet, wipe=False)
    assert pids(target.home) == {}
    assert not [pid for pid in before.values() if psutil.pid_exists(pid)]

    lifecycle.up(target.home, tools, quiet, stacks)
    assert aws.eks.list_clusters()["clusters"] == ["demo"]
    assert kubernetes.get(Namespace, "kept").metadata.name == "kept"
    assert len(list(kubernetes.list(Node))) == 2


def test_pods_go_with_their_machine_also_when_another_takes_its_name(
    kubernetes: Client, aws: Aws
) -> None:
    before = next(iter(kubernetes.list(Node)))
    name, machine = before.metadata.name, before.spec.providerID
    container = {"name": "work", "image": "example.com/work@sha256:0"}
    pod = {"nodeName": name, "containers": [container], "tolerations": [{"operator": "Exists"}]}
    kubernetes.create(
        Pod.from_dict({"metadata": {"name": "old", "namespace": "default"}, "spec": pod})
    )
    aws.ec2.terminate_instances(InstanceIds=[machine.rpartition("/")[2]])
    until(
        lambda: all(node.spec.providerID != machine for node in kubernetes.list(Node)),
        "the machine is gone",
    )
    until(
        lambda: not [each for each in kubernetes.list(Pod) if each.metadata.name == "old"],
        "its pod is gone",
    )


def test_a_deleted_cluster_leaves_an_empty_control_plane(kubernetes: Client, aws: Aws) -> None:
    aws.eks.delete_nodegroup(clusterName="demo", nodegroupName="h100-1")
    aws.eks.delete_cluster(name="demo")
    until(lambda: not list(kubernetes.list(Node)), "the nodes are gone")
    with pytest.raises(ApiError):
        kubernetes.get(Namespace, "kept")
    assert not list(kubernetes.list(Job, namespace="default"))
    assert kubernetes.get(Namespace, "kueue-system").metadata.name == "kueue-system"


def test_a_port_that_another_program_took_is_told(
    tmp_path: Path, tools: Tools, stacks: Path
) -> None:
    home = Home(tmp_path)
    home.make()
    with socket.socket() as other:
        other.bind(("127.0.0.1", load_ports(home.ports)["simulator"]))
        other.listen()
        with pytest.raises(PortInUseError):
            lifecycle.up(home, tools, quiet, stacks)
    assert pids(home) == {}


def test_a_part_that_does_not_start_is_told_with_its_log(
    tmp_path: Path, tools: Tools, stacks: Path
) -> None:
    home = Home(tmp_path)
    home.make()
    (home.state / "etcd").write_text("not a folder")
    try:
        with pytest.raises(FailedError) as caught:
            lifecycle.up(home, tools, quiet, stacks)
    finally:
        lifecycle.down(home, quiet, wipe=False)
    first, *log, last = str(caught.value).splitlines()
    assert first == (f"etcd did not start: it ended; the end of its log ({home.logs}/etcd.log):")
    assert "not a directory" in "\n".join(log)
    assert last == (
        "the other parts are left as they are: see `yard local status`, mend, and run"
        " `yard local up` again"
    )
