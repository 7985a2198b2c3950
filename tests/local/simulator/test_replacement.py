"""An instance of a node group is ended by its Auto Scaling group, also by the gate's own client."""

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.gate.instances import AutoScaling
from scripts.gate.ports import NodeState
from scripts.gate.replace import Replaced
from scripts.local.simulator.calls import AwsError
from scripts.local.simulator.faults import Faults
from scripts.local.stacks import Place
from scripts.local.target.cloud import Cloud
from scripts.local.target.node_objects import RUNNING
from scripts.local.target.reconciler import Reconciler
from tests.local.target.support import FakeRegistry

from .conftest import REGION, Account, nodegroup, refusal
from .test_node_groups import described

Cluster = dict[str, Any]


@pytest.fixture
def group(account: Account, cluster: Cluster) -> str:
    """Make a node group of one to four; gives the name of its Auto Scaling group."""
    scaling = {"minSize": 1, "maxSize": 4, "desiredSize": 2}
    made = nodegroup(account, cluster, scalingConfig=scaling)
    name: str = made["resources"]["autoScalingGroups"][0]["name"]
    return name


def launched(account: Account, **tags: str) -> str:
    """Run an instance as the target's reconciler does for a node group."""
    [instance] = account.client("ec2").run_instances(
        InstanceType="p5.48xlarge",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[
            {
                "ResourceType": "instance",
                "Tags": [
                    {"Key": "Name", "Value": "a"},
                    *({"Key": f"eks:{key}-name", "Value": value} for key, value in tags.items()),
                ],
            }
        ],
    )["Instances"]
    identity: str = instance["InstanceId"]
    return identity


def of_group(account: Account) -> str:
    return launched(account, cluster="train", nodegroup="wave-1")


def node(identity: str) -> NodeState:
    return NodeState(
        name="a",
        instance_type="p5.48xlarge",
        provider_id=f"aws:///{REGION}a/{identity}",
        wave="1",
        ready=True,
        passed=False,
        devices={},
    )


def gate(account: Account) -> AutoScaling:
    return AutoScaling(lambda service, _region: account.client(service))


def terminate(account: Account, identity: str, *, decrement: bool) -> dict[str, Any]:
    answer: dict[str, Any] = account.client("autoscaling").terminate_instance_in_auto_scaling_group(
        InstanceId=identity, ShouldDecrementDesiredCapacity=decrement
    )
    return answer["Activity"]


def state(account: Account, identity: str) -> str:
    found = account.client("ec2").describe_instances(InstanceIds=[identity])
    name: str = found["Reservations"][0]["Instances"][0]["State"]["Name"]
    return name


def members(account: Account, group: str) -> list[tuple[str, str]]:
    [found] = account.client("autoscaling").describe_auto_scaling_groups(
        AutoScalingGroupNames=[group]
    )["AutoScalingGroups"]
    return [(each["InstanceId"], each["LifecycleState"]) for each in found["Instances"]]


def test_an_instance_is_ended_and_its_group_stays_as_large(account: Account, group: str) -> None:
    first, second = of_group(account), of_group(account)
    activity = terminate(account, first, decrement=False)
    assert activity["AutoScalingGroupName"] == group
    assert activity["StatusCode"] == "InProgress"
    assert activity["Description"] == f"Terminating EC2 instance: {first}"
    assert state(account, first) == "terminated"
    assert members(account, group) == [(second, "InService")]
    assert described(account)["scalingConfig"]["desiredSize"] == 2


def test_with_a_decrement_the_group_shrinks_down_to_its_least_size(
    account: Account, group: str
) -> None:
    first, second = of_group(account), of_group(account)
    assert terminate(account, first, decrement=True)["AutoScalingGroupName"] == group
    assert described(account)["scalingConfig"]["desiredSize"] == 1
    refused = refusal(
        account.client("autoscaling").terminate_instance_in_auto_scaling_group,
        InstanceId=second,
        ShouldDecrementDesiredCapacity=True,
    )
    assert refused == (
        "ValidationError",
        (
            "Currently, desiredSize equals minSize (1). Terminating instance without replacement "
            "will violate group's min size constraint. Either set shouldDecrementDesiredCapacity "
            "flag to false or lower group's min size."
        ),
    )
    assert state(account, second) == "running"


@pytest.mark.parametrize("tags", [{}, {"cluster": "train", "nodegroup": "other"}], ids=str)
def test_an_instance_of_no_group_is_not_found(
    account: Account, group: str, tags: dict[str, str]
) -> None:
    identity = launched(account, **tags)
    refused = refusal(
        account.client("autoscaling").terminate_instance_in_auto_scaling_group,
        InstanceId=identity,
        ShouldDecrementDesiredCapacity=False,
    )
    assert refused == (
        "ValidationError",
        f"Instance Id not found - No managed instance found for instance ID {identity}",
    )
    assert members(account, group) == []


def test_an_instance_of_a_group_of_ones_own_is_ended_there(account: Account) -> None:
    autoscaling = account.client("autoscaling")
    [subnet] = account.two_subnets()[:1]
    autoscaling.create_launch_configuration(
        LaunchConfigurationName="own", ImageId="ami-12c6146b", InstanceType="t3.micro"
    )
    autoscaling.create_auto_scaling_group(
        AutoScalingGroupName="own",
        LaunchConfigurationName="own",
        MinSize=1,
        MaxSize=1,
        VPCZoneIdentifier=subnet,
    )
    [(first, _)] = members(account, "own")
    terminate(account, first, decrement=False)
    [(second, _)] = members(account, "own")
    assert first != second


def test_the_gate_has_an_instance_replaced(account: Account, group: str) -> None:
    identity = of_group(account)
    replacing = gate(account)
    assert replacing.replace([node(identity)]) == Replaced({"a": node(identity).provider_id})
    assert members(account, group) == []
    assert replacing.trouble() == ""


def test_another_instance_takes_its_place_in_the_group(
    account: Account, group: str, tmp_path: Path
) -> None:
    cloud = Cloud(account.url, Place(account.number, REGION))
    found, rounds = cloud.cluster(), count(0.0, 100.0)
    assert found is not None
    registry = FakeRegistry()
    reconciler = Reconciler(
        registry=registry,
        find_cluster=lambda: (cloud, found),
        cloud_at=lambda _place: cloud,
        empty_control_plane=lambda: 0,
        load_faults=lambda: (),
        known=tmp_path / "cluster.json",
        say=lambda _line: None,
        clock=lambda: next(rounds),
    )
    reconciler.round()
    before = [instance for _, instance in cloud.instances("train")["wave-1"]]
    first, second = sorted(before, key=lambda instance: instance.index)
    gate(account).replace([node(first.id)])
    reconciler.round()
    after = [instance for _, instance in cloud.instances("train")["wave-1"]]
    [new] = [instance for instance in after if instance != second]
    assert (new.index, len(members(account, group))) == (first.index, 2)
    assert new.id != first.id
    assert registry.nodes == dict.fromkeys((new.dns_name, second.dns_name), RUNNING)
    assert new.dns_name != first.dns_name, "a fault by name was that machine's, not the place's"


def test_an_instance_that_has_gone_already_is_no_error(account: Account, group: str) -> None:
    identity = of_group(account)
    account.client("ec2").terminate_instances(InstanceIds=[identity])
    for gone in (identity, "i-0123456789abcdef0"):
        replaced = gate(account).replace([node(gone)])
        assert replaced == Replaced({"a": node(gone).provider_id})
    assert members(account, group) == []


def test_an_instance_that_no_group_would_replace_is_left_and_told(account: Account) -> None:
    identity = launched(account)
    replaced = gate(account).replace([node(identity)])
    why = f"{identity} is in no Auto Scaling group, so nothing would take its place"
    assert replaced == Replaced({}, {"a": why})
    assert state(account, identity) == "running"


def test_throttling_is_outlived_by_clients_of_the_environment(
    account: Account, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = of_group(account)
    throttles = [AwsError("Throttling", "Rate exceeded", status=400)] * 3
    struck: list[str] = []

    def strike(_faults: Faults, service: str) -> AwsError | None:
        struck.append(service)
        return throttles.pop() if throttles else None

    monkeypatch.setattr(Faults, "strike", strike)
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _seconds: None))
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", f"EMBEDDED{account.number}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "embedded")
    assert AutoScaling().replace([node(identity)]).left == {}
    assert struck == ["autoscaling"] * 4
    assert members(account, group) == []
