import base64
import json
from typing import Any

import pulumi
import pytest
from pulumi_command import local

from components.catalog import instance_types
from components.compute import AcceleratorPool
from components.pools import PoolConfig
from components.settings import parse
from components.waves import Wave
from tests.support.engine import Engine, run
from tests.support.golden import Golden
from tests.support.names import NAMES

BLOCK = {"source": "capacity-block", "id": "cr-01234567", "ends": "2026-12-14T11:30:00Z"}
RESERVED = {"source": "reservation", "id": "cr-01234567"}
LATER = {**BLOCK, "starts": "2026-12-01T11:30:00Z"}


def pool(**settings: object) -> tuple[Engine, list[Wave]]:
    """Run a pool of two waves, whose gates are commands that do nothing."""
    waves: list[Wave] = []
    chosen = {
        "name": "train",
        "instance_type": "p5.48xlarge",
        "zone": "use1-az4",
        "waves": [2, 14],
        **settings,
    }

    def prove(wave: Wave) -> pulumi.Resource:
        waves.append(wave)
        return local.Command(
            f"gate-{wave.number}", opts=pulumi.ResourceOptions(depends_on=[wave.group])
        )

    def program() -> None:
        AcceleratorPool(
            "pool",
            parse(PoolConfig, chosen, "test"),
            names=NAMES,
            kubernetes="1.35",
            image_release="1.35.6-20260818",
            pods_per_node=24,
            cluster_endpoint="https://cluster.example",
            cluster_authority="Q0E=",
            service_cidr="172.20.0.0/16",
            subnet_id="subnet-compute",
            security_group_ids=[pulumi.Output.from_input("sg-cluster")],
            node_role_arn="arn:role",
            volume_key_arn="arn:key",
            gate=prove,
            after=[],
        )

    return run(program), waves


def group_name(**settings: object) -> str:
    return pool(**settings)[0].named("pool-2", "NodeGroup")["nodeGroupName"]


def test_each_wave_is_a_node_group_with_the_labels_and_taints_of_the_contract() -> None:
    engine, _ = pool()
    first, second = engine.named("pool-1", "NodeGroup"), engine.named("pool-2", "NodeGroup")
    assert first["scalingConfig"] == {"minSize": 2, "desiredSize": 2, "maxSize": 2}
    assert second["scalingConfig"] == {"minSize": 14, "desiredSize": 14, "maxSize": 14}
    assert second["labels"] == {
        "trainyard.dev/pool": "train",
        "trainyard.dev/wave": "2",
        "trainyard.dev/image": "1.35.6-20260818",
    }
    assert second["taints"] == [
        {"key": "trainyard.dev/unproved", "value": "true", "effect": "NO_SCHEDULE"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
    ]
    assert second["subnetIds"] == ["subnet-compute"]
    assert (second["amiType"], second["releaseVersion"]) == (
        "AL2023_x86_64_NVIDIA",
        "1.35.6-20260818",
    )


def test_a_wave_waits_for_the_gate_of_the_one_before() -> None:
    engine, _ = pool()
    first, second = engine.urn("pool-1", "NodeGroup"), engine.urn("pool-2", "NodeGroup")
    gate = engine.urn("gate-1", "Command")
    assert first in engine.dependencies[gate]
    assert gate in engine.dependencies[second]
    assert gate not in engine.dependencies[first]


def test_a_gate_is_told_what_it_has_to_prove() -> None:
    _, waves = pool(ami_release="1.35.7-20261001")
    assert [(w.pool, w.number, w.nodes, w.instance_type) for w in waves] == [
        ("train", 1, 2, "p5.48xlarge"),
        ("train", 2, 14, "p5.48xlarge"),
    ]
    assert {w.image_release for w in waves} == {"1.35.7-20261001"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, [(1, True), (1, True)]),
        ({"waves": [3, 36]}, [(1, True), (3, True)]),
        ({"replace_bad": 2, "repair": {"enabled": False}}, [(2, False), (2, False)]),
        ({"replace_bad": 0, "capacity": BLOCK}, [(0, True), (0, True)]),
    ],
    ids=str,
)
def test_a_gate_is_told_how_many_bad_nodes_it_may_replace_and_whether_eks_does(
    settings: dict[str, object], told: list[tuple[int, bool]]
) -> None:
    _, waves = pool(**settings)
    assert [(wave.replace, wave.repaired) for wave in waves] == told


def test_how_many_may_be_replaced_changes_no_group() -> None:
    before, after = pool()[0], pool(replace_bad=5)[0]
    assert before.named("pool-2", "NodeGroup") == after.named("pool-2", "NodeGroup")


def test_security_groups_stand_in_the_interfaces_and_no_subnet_does() -> None:
    engine, _ = pool(layout="wide")
    template = engine.only("LaunchTemplate")
    assert "vpcSecurityGroupIds" not in template
    assert all(each["securityGroups"] == ["sg-cluster"] for each in template["networkInterfaces"])
    assert "subnetId" not in json.dumps(template)


@pytest.mark.parametrize(
    ("capacity", "capacity_type", "keys", "strategy"),
    [
        ({"source": "on-demand"}, "ON_DEMAND", {"placement"}, "DEFAULT"),
        ({"source": "spot"}, "SPOT", set[str](), "DEFAULT"),
        (
            {"source": "open-reservation"},
            "ON_DEMAND",
            {"capacityReservationSpecification"},
            "MINIMAL",
        ),
        (RESERVED, "ON_DEMAND", {"capacityReservationSpecification"}, "MINIMAL"),
        (
            BLOCK,
            "CAPACITY_BLOCK",
            {"capacityReservationSpecification", "instanceMarketOptions"},
            "MINIMAL",
        ),
    ],
)
def test_capacity_is_bought_as_the_settings_say(
    capacity: dict[str, str], capacity_type: str, keys: set[str], strategy: str
) -> None:
    engine, _ = pool(capacity=capacity)
    template, group = engine.only("LaunchTemplate"), engine.named("pool-1", "NodeGroup")
    bought = {"placement", "capacityReservationSpecification", "instanceMarketOptions"}
    assert bought & template.keys() == keys
    assert group["capacityType"] == capacity_type
    assert group["updateConfig"]["updateStrategy"] == strategy


def test_a_pool_without_fabric_is_not_squeezed_into_a_placement_group() -> None:
    engine, _ = pool(efa=False, floor_gbps=10)
    assert "placement" not in engine.only("LaunchTemplate")
    assert engine.all("PlacementGroup") == []


def test_disks_are_encrypted_and_metadata_wants_tokens() -> None:
    engine, _ = pool()
    template = engine.only("LaunchTemplate")
    [disk] = template["blockDeviceMappings"]
    assert (disk["ebs"]["encrypted"], disk["ebs"]["kmsKeyId"]) == ("true", "arn:key")
    assert template["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }
    assert "keyName" not in template


def test_growing_a_pool_leaves_the_waves_before_as_they_are() -> None:
    before, after = pool()[0], pool(waves=[2, 14, 30])[0]
    for name in ("pool-1", "pool-2"):
        assert before.named(name, "NodeGroup") == after.named(name, "NodeGroup")
    assert before.only("LaunchTemplate") == after.only("LaunchTemplate")
    assert after.named("pool-3", "NodeGroup")["scalingConfig"]["desiredSize"] == 30


@pytest.mark.parametrize(
    "settings",
    [
        {"instance_type": "p5en.48xlarge"},
        {"zone": "use1-az6"},
        {"capacity": {"source": "spot"}},
        {"layout": "wide"},
        {"ami": "ami-0123456789abcdef0"},
    ],
    ids=str,
)
def test_what_makes_another_group_makes_another_name_so_that_both_can_stand(
    settings: dict[str, object],
) -> None:
    assert group_name() != group_name(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"ami_release": "1.35.7-20261001"},
        {"root_gib": 300},
        {"waves": [2, 15]},
        {"repair": {"enabled": False}},
    ],
    ids=str,
)
def test_what_changes_in_place_keeps_the_name(settings: dict[str, object]) -> None:
    assert group_name() == group_name(**settings) == "train-2-b68937"


def test_another_end_of_a_block_is_no_other_group() -> None:
    assert group_name(capacity=BLOCK) == group_name(
        capacity={**BLOCK, "ends": "2026-12-21T11:30:00Z"}
    )


def test_an_update_takes_a_tenth_of_a_wave_at_once() -> None:
    engine, _ = pool(waves=[20, 450, 5, 1200])
    most = [
        engine.named(f"pool-{number}", "NodeGroup")["updateConfig"]["maxUnavailable"]
        for number in (1, 2, 3, 4)
    ]
    assert most == [2, 45, 1, 100]


def test_nodes_leave_before_their_block_ends() -> None:
    engine, _ = pool(capacity=BLOCK)
    drain = engine.named("pool-2-drain", "Schedule")
    assert drain == {
        "autoscalingGroupName": "eks-group",
        "scheduledActionName": "train-2-drain",
        "startTime": "2026-12-14T10:50:00Z",
        "minSize": 0,
        "desiredCapacity": 0,
        "maxSize": 14,
    }
    assert len(engine.all("Schedule")) == 2


def test_capacity_that_starts_later_has_empty_groups_a_schedule_and_no_gate() -> None:
    engine, waves = pool(capacity=LATER)
    assert waves == []
    assert engine.named("pool-2", "NodeGroup")["scalingConfig"] == {
        "minSize": 0,
        "desiredSize": 0,
        "maxSize": 14,
    }
    start = engine.named("pool-2-start", "Schedule")
    assert (start["startTime"], start["desiredCapacity"]) == ("2026-12-01T11:30:00Z", 14)
    assert engine.named("pool-2-drain", "Schedule")["desiredCapacity"] == 0


def test_an_image_of_our_own_stands_in_the_template_and_the_group_names_no_release() -> None:
    engine, waves = pool(ami="ami-0123456789abcdef0")
    template, group = engine.only("LaunchTemplate"), engine.named("pool-1", "NodeGroup")
    assert template["imageId"] == "ami-0123456789abcdef0"
    assert group["amiType"] == "CUSTOM"
    assert not {"version", "releaseVersion"} & group.keys()
    assert "apiServerEndpoint: https://cluster.example" in decoded(template)
    assert {wave.image_release for wave in waves} == {"ami-0123456789abcdef0"}


def test_repair_waits_and_stops_when_too_many_seem_unhealthy() -> None:
    repair = pool()[0].named("pool-1", "NodeGroup")["nodeRepairConfig"]
    assert repair["maxParallelNodesRepairedCount"] == 1
    assert repair["maxUnhealthyNodeThresholdPercentage"] == 20
    actions = {
        each["nodeUnhealthyReason"]: (each["minRepairWaitTimeMins"], each["repairAction"])
        for each in repair["nodeRepairConfigOverrides"]
    }
    assert actions["NvidiaDoubleBitError"] == (30, "Replace")
    assert actions["DCGMError"] == (30, "NoAction")
    off = pool(repair={"enabled": False})[0].named("pool-1", "NodeGroup")["nodeRepairConfig"]
    assert off == {"enabled": False}


def test_the_interfaces_of_the_settings_overrule_the_catalog() -> None:
    chosen = [
        {"card": 0, "device": 0, "kind": "interface"},
        {"card": 1, "device": 1, "kind": "efa-only"},
    ]
    template = pool(interfaces=chosen)[0].only("LaunchTemplate")
    assert [
        (each["networkCardIndex"], each["deviceIndex"], each["interfaceType"])
        for each in template["networkInterfaces"]
    ] == [(0, 0, "interface"), (1, 1, "efa-only")]


@pytest.mark.parametrize(
    "name", [name for name, kind in instance_types().items() if kind.efa_interfaces]
)
def test_the_template_of_every_type_is_the_one_that_was_reviewed(name: str, golden: Golden) -> None:
    kind = instance_types()[name]
    capacity = {"source": "on-demand"} if "on-demand" in kind.usage_classes else BLOCK
    engine, _ = pool(instance_type=name, capacity=capacity, floor_gbps=1)
    template = engine.only("LaunchTemplate")
    golden.check(f"launch_templates/{name}.yaml", readable(template))


def decoded(template: dict[str, Any]) -> str:
    return base64.b64decode(template["userData"]).decode()


def readable(template: dict[str, Any]) -> dict[str, Any]:
    """Return a template as a reviewer wants it: an interface a line, user data as text."""
    shown = {key: value for key, value in template.items() if key not in {"tags", "name"}}
    shown["networkInterfaces"] = [
        "card {networkCardIndex:.0f} device {deviceIndex:.0f} {interfaceType}".format_map(each)
        for each in template["networkInterfaces"]
    ]
    shown["tagSpecifications"] = [each["resourceType"] for each in template["tagSpecifications"]]
    shown["userData"] = decoded(template)
    # The recording engine gives every number as a float.
    disk = shown["blockDeviceMappings"][0]["ebs"]
    disk["volumeSize"] = int(disk["volumeSize"])
    hops = shown["metadataOptions"]["httpPutResponseHopLimit"]
    shown["metadataOptions"]["httpPutResponseHopLimit"] = int(hops)
    return shown
