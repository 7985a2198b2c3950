import base64
import json

import pulumi
import pytest
from pulumi_command import local

from components.catalog import instance_type, instance_types
from components.compute import AcceleratorPool, PoolConfig, interfaces
from components.waves import Wave
from tests.support.engine import Engine, run
from tests.support.stacks import NAMES


def pool(**settings: object) -> tuple[Engine, list[Wave]]:
    """Run a pool of two waves, whose gates are commands that do nothing."""
    waves: list[Wave] = []
    chosen = {
        "name": "train",
        "instance_type": "p5.48xlarge",
        "zone": "use1-az4",
        "waves": (2, 14),
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
            PoolConfig.model_validate(chosen),
            names=NAMES,
            kubernetes="1.35",
            image_release="1.35.6-20260818",
            subnet_id="subnet-compute",
            security_group_ids=[pulumi.Output.from_input("sg-cluster")],
            node_role_arn="arn:role",
            volume_key_arn="arn:key",
            gate=prove,
            after=[],
        )

    return run(program), waves


def test_each_wave_is_a_node_group_with_the_labels_and_taints_of_the_contract() -> None:
    engine, _ = pool()
    first, second = engine.named("pool-1", "NodeGroup"), engine.named("pool-2", "NodeGroup")
    assert first["scalingConfig"] == {"minSize": 2, "desiredSize": 2, "maxSize": 2}
    assert second["scalingConfig"] == {"minSize": 14, "desiredSize": 14, "maxSize": 14}
    assert second["labels"] == {"trainyard.dev/pool": "train", "trainyard.dev/wave": "2"}
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
    ("name", "first", "count"),
    [
        ("p5.48xlarge", [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 33),
        ("p4d.24xlarge", [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 5),
        ("p6-b300.48xlarge", [(0, 0, "interface"), (1, 0, "efa-only"), (2, 0, "efa-only")], 17),
        ("g6.48xlarge", [(0, 0, "interface"), (0, 1, "efa-only")], 2),
    ],
)
def test_interfaces_follow_the_cards(
    name: str, first: list[tuple[int, int, str]], count: int
) -> None:
    made = interfaces(instance_type(name), [], efa=True, further_device_index=0)
    layout = [
        (each["network_card_index"], each["device_index"], each["interface_type"]) for each in made
    ]
    assert layout[: len(first)] == first
    assert len(layout) == count


@pytest.mark.parametrize("further", [0, 1])
@pytest.mark.parametrize(
    "name", [name for name, kind in instance_types().items() if kind.efa_interfaces]
)
def test_every_efa_interface_is_used_once_and_one_address_is_taken(name: str, further: int) -> None:
    kind = instance_type(name)
    made = interfaces(kind, [], efa=True, further_device_index=further)
    places = [(each["network_card_index"], each["device_index"]) for each in made]
    assert len(set(places)) == len(places)
    assert max(device for _, device in places) <= 1
    assert sum(each["interface_type"] == "efa-only" for each in made) == kind.efa_interfaces
    assert sum(each["interface_type"] == "interface" for each in made) == 1


def test_security_groups_stand_in_the_interfaces_and_no_subnet_does() -> None:
    engine, _ = pool()
    template = engine.only("LaunchTemplate")
    assert "vpcSecurityGroupIds" not in template
    assert all(each["securityGroups"] == ["sg-cluster"] for each in template["networkInterfaces"])
    assert "subnetId" not in json.dumps(template)


@pytest.mark.parametrize(
    ("settings", "capacity_type", "keys"),
    [
        ({}, "ON_DEMAND", {"placement"}),
        ({"capacity": "spot"}, "SPOT", set[str]()),
        (
            {"capacity": "reservation", "reservation": "cr-01234567"},
            "ON_DEMAND",
            {"capacityReservationSpecification"},
        ),
        (
            {"capacity": "capacity-block", "reservation": "cr-01234567"},
            "CAPACITY_BLOCK",
            {"capacityReservationSpecification", "instanceMarketOptions"},
        ),
    ],
)
def test_capacity_is_bought_as_the_settings_say(
    settings: dict[str, str], capacity_type: str, keys: set[str]
) -> None:
    engine, _ = pool(**settings)
    template = engine.only("LaunchTemplate")
    bought = {"placement", "capacityReservationSpecification", "instanceMarketOptions"}
    assert bought & template.keys() == keys
    assert engine.named("pool-1", "NodeGroup")["capacityType"] == capacity_type
    if "capacityReservationSpecification" in keys:
        assert template["capacityReservationSpecification"] == {
            "capacityReservationTarget": {"capacityReservationId": "cr-01234567"}
        }


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


def test_a_node_joins_its_disks_and_sets_huge_pages_aside_for_the_fabric() -> None:
    engine, _ = pool()
    text = base64.b64decode(engine.only("LaunchTemplate")["userData"]).decode()
    assert "    localStorage:\n      strategy: RAID0\n" in text
    assert "sysctl -w vm.nr_hugepages=5128" in text
    without, _ = pool(efa=False, floor_gbps=10)
    assert "hugepages" not in base64.b64decode(without.only("LaunchTemplate")["userData"]).decode()
