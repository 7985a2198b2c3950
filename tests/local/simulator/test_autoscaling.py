"""Auto Scaling: the group behind a node group, and the schedules that scale it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scripts.local.simulator.app import Simulator
from scripts.local.simulator.autoscaling.cron import Cron
from scripts.local.simulator.autoscaling.schedules import ACTION

from .conftest import REGION, Account, nodegroup, refusal
from .test_node_groups import WHERE, described

Cluster = dict[str, Any]

SCALING = {"minSize": 0, "maxSize": 8, "desiredSize": 4}


@pytest.fixture
def group(account: Account, cluster: Cluster) -> str:
    """Make a node group of four; gives the name of its Auto Scaling group."""
    made = nodegroup(account, cluster, scalingConfig=SCALING)
    name: str = made["resources"]["autoScalingGroups"][0]["name"]
    return name


def schedule(account: Account, group: str, name: str = "night", **more: object) -> None:
    account.client("autoscaling").put_scheduled_update_group_action(
        AutoScalingGroupName=group, ScheduledActionName=name, **more
    )


def desired(account: Account) -> int:
    size: int = described(account)["scalingConfig"]["desiredSize"]
    return size


def pretend(simulator: Simulator, account: Account, group: str, name: str, **facts: object) -> None:
    """Change what is remembered of an action, as if time had passed."""
    table = simulator.records.table(account.number, REGION, ACTION)
    table[f"{group}|{name}"] |= facts


def test_the_group_of_a_node_group_is_there(account: Account, group: str) -> None:
    ec2, autoscaling = account.client("ec2"), account.client("autoscaling")
    tags = [
        {"Key": "eks:cluster-name", "Value": "train"},
        {"Key": "eks:nodegroup-name", "Value": "wave-1"},
    ]
    [instance] = ec2.run_instances(
        InstanceType="p5.48xlarge",
        MinCount=1,
        MaxCount=1,
        SubnetId=described(account)["subnets"][0],
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )["Instances"]
    [found] = autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[group])[
        "AutoScalingGroups"
    ]
    assert {key: found[key] for key in ("MinSize", "MaxSize", "DesiredCapacity")} == {
        "MinSize": 0,
        "MaxSize": 8,
        "DesiredCapacity": 4,
    }
    assert [one["InstanceId"] for one in found["Instances"]] == [instance["InstanceId"]]
    by_tag = [{"Name": "tag:eks:nodegroup-name", "Values": ["other"]}]
    assert autoscaling.describe_auto_scaling_groups(Filters=by_tag)["AutoScalingGroups"] == []


def test_a_size_that_is_changed_there_shows_at_the_node_group(account: Account, group: str) -> None:
    autoscaling = account.client("autoscaling")
    autoscaling.set_desired_capacity(AutoScalingGroupName=group, DesiredCapacity=6)
    assert described(account)["scalingConfig"] == {**SCALING, "desiredSize": 6}
    autoscaling.update_auto_scaling_group(AutoScalingGroupName=group, MaxSize=2)
    assert described(account)["scalingConfig"] == {"minSize": 0, "maxSize": 2, "desiredSize": 2}
    refused = {"AutoScalingGroupName": group, "DesiredCapacity": 3}
    assert refusal(autoscaling.set_desired_capacity, **refused) == (
        "ValidationError",
        "New SetDesiredCapacity value 3 is above max value 2 for the AutoScalingGroup.",
    )
    assert refusal(
        autoscaling.update_auto_scaling_group, AutoScalingGroupName=group, MinSize=3
    ) == ("ValidationError", "Max bound, 2, must be greater than or equal to min bound, 3")


def test_a_schedule_reads_back_and_goes_with_its_group(account: Account, group: str) -> None:
    autoscaling = account.client("autoscaling")
    facts = {
        "Recurrence": "0 20 * * 1-5",
        "TimeZone": "UTC",
        "MinSize": 0,
        "MaxSize": 8,
        "DesiredCapacity": 0,
    }
    schedule(account, group, **facts)
    schedule(account, group, **{**facts, "Recurrence": "0 21 * * *"})
    [found] = autoscaling.describe_scheduled_actions(AutoScalingGroupName=group)[
        "ScheduledUpdateGroupActions"
    ]
    assert {key: found[key] for key in facts} == {**facts, "Recurrence": "0 21 * * *"}
    account.client("eks").delete_nodegroup(**WHERE)
    left = autoscaling.describe_scheduled_actions()["ScheduledUpdateGroupActions"]
    assert left == []


def test_the_same_name_on_two_groups_is_two_schedules(
    account: Account, cluster: Cluster, group: str
) -> None:
    autoscaling = account.client("autoscaling")
    other = nodegroup(account, cluster, nodegroupName="wave-2")["resources"]["autoScalingGroups"][
        0
    ]["name"]
    for name, size in ((group, 0), (other, 1)):
        schedule(account, name, Recurrence="0 20 * * *", DesiredCapacity=size)
    autoscaling.delete_scheduled_action(AutoScalingGroupName=group, ScheduledActionName="night")
    [left] = autoscaling.describe_scheduled_actions()["ScheduledUpdateGroupActions"]
    assert (left["AutoScalingGroupName"], left["DesiredCapacity"]) == (other, 1)
    assert refusal(
        autoscaling.delete_scheduled_action, AutoScalingGroupName=group, ScheduledActionName="night"
    ) == ("ValidationError", "Scheduled action name not found")


def test_an_action_happens_once_it_is_due(
    simulator: Simulator, account: Account, group: str
) -> None:
    now = datetime.now(UTC)
    schedule(account, group, StartTime=now + timedelta(hours=1), DesiredCapacity=0)
    assert desired(account) == 4
    start = now - timedelta(minutes=1)
    looked = now - timedelta(minutes=5)
    pretend(simulator, account, group, "night", StartTime=start, _looked=looked)
    assert desired(account) == 0
    left = account.client("autoscaling").describe_scheduled_actions(AutoScalingGroupName=group)
    assert left["ScheduledUpdateGroupActions"] == []


def test_what_became_due_meanwhile_happens_in_its_order(
    simulator: Simulator, account: Account, group: str
) -> None:
    now = datetime.now(UTC)
    times = {"down": now - timedelta(hours=3), "up": now - timedelta(hours=2)}
    for name, size in (("up", 6), ("down", 0)):
        moment = times[name]
        schedule(
            account,
            group,
            name,
            Recurrence=f"{moment.minute} {moment.hour} * * *",
            DesiredCapacity=size,
        )
        pretend(simulator, account, group, name, _looked=now - timedelta(hours=4))
    assert desired(account) == 6
    account.client("autoscaling").set_desired_capacity(
        AutoScalingGroupName=group, DesiredCapacity=5
    )
    assert desired(account) == 5


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"Recurrence": "0 20 * * *"},
            "At least one of min size, max size and desired capacity must be specified",
        ),
        ({"DesiredCapacity": 0}, "A start time or a recurrence must be specified"),
        (
            {"DesiredCapacity": 0, "Recurrence": "0 25 * * *"},
            "Given recurrence string: 0 25 * * * is invalid",
        ),
        (
            {"DesiredCapacity": 0, "StartTime": datetime(2026, 1, 1, tzinfo=UTC)},
            "Given start time is in the past",
        ),
        (
            {
                "DesiredCapacity": 0,
                "Recurrence": "0 20 * * *",
                "EndTime": datetime(2026, 1, 1, tzinfo=UTC),
            },
            "Given end time must be after the start time",
        ),
        (
            {"DesiredCapacity": 0, "Recurrence": "0 20 * * *", "TimeZone": "Mars/Olympus"},
            "The time zone Mars/Olympus is invalid",
        ),
        (
            {"MinSize": 2, "MaxSize": 4, "DesiredCapacity": 5, "Recurrence": "0 20 * * *"},
            "Desired capacity 5 must be between the min size 2 and the max size 4",
        ),
    ],
)
def test_a_schedule_that_can_never_be_is_refused(
    account: Account, group: str, asked: dict[str, Any], message: str
) -> None:
    assert refusal(lambda **more: schedule(account, group, **more), **asked) == (
        "ValidationError",
        message,
    )


def test_a_group_that_is_not_there_has_no_schedule(account: Account) -> None:
    assert refusal(
        lambda **more: schedule(account, "eks-none", **more),
        Recurrence="0 20 * * *",
        DesiredCapacity=0,
    ) == ("ValidationError", "AutoScalingGroup name not found - eks-none")


@pytest.mark.parametrize(
    ("text", "moment", "recurs"),
    [
        ("0 20 * * *", "2026-12-01T20:00", True),
        ("0 20 * * *", "2026-12-01T20:01", False),
        ("*/15 * * * *", "2026-12-01T03:45", True),
        ("5/15 * * * *", "2026-12-01T03:50", True),
        ("0 8 * * mon-fri", "2026-12-01T08:00", True),
        ("0 8 * * 6,7", "2026-12-06T08:00", True),
        ("0 8 * * 6,7", "2026-12-04T08:00", False),
        ("0 8 1 jan *", "2027-01-01T08:00", True),
        ("0 8 13 * 5", "2026-12-04T08:00", True),
        ("0 8 13 * 5", "2026-12-13T08:00", True),
        ("0 8 13 * 5", "2026-12-14T08:00", False),
    ],
)
def test_a_recurrence_is_read_as_cron_reads_it(text: str, moment: str, recurs: bool) -> None:  # noqa: FBT001 - a column of the table
    assert Cron.parse(text).recurs(datetime.fromisoformat(moment)) is recurs


@pytest.mark.parametrize("text", ["", "0 20 * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "x"])
def test_a_recurrence_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Cron.parse(text)
