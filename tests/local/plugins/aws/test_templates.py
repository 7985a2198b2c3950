"""The stand-in takes what the program renders: a node group of each type of the catalog."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from components.catalog import instance_type
from components.catalog.nodes import image_type
from scripts.local.stacks import Place
from scripts.local.target.cloud import Cluster, group
from scripts.local.target.hardware import DEVICES, hardware
from scripts.local.target.launch import launch

if TYPE_CHECKING:
    from tests.local.plugins.aws.support import Engine, Values
    from tests.local.plugins.aws.world import World

GOLDEN = Path(__file__).parents[3] / "data" / "launch_templates"
INTERFACE = re.compile(r"card (?P<card>\d+) device (?P<device>\d+) (?P<kind>\S+)")


def template_of(world: World, name: str) -> Values:
    """Make inputs of the golden file, in which an interface is a line."""
    made: Values = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text(encoding="utf-8"))
    places = [match for line in made["networkInterfaces"] if (match := INTERFACE.fullmatch(line))]
    made["networkInterfaces"] = [
        {
            "networkCardIndex": int(place["card"]),
            "deviceIndex": int(place["device"]),
            "interfaceType": place["kind"],
            "securityGroups": [world.group.id],
            "deleteOnTermination": "true",
        }
        for place in places
    ]
    made["tagSpecifications"] = [
        {"resourceType": kind, "tags": {"pool": "train"}} for kind in made["tagSpecifications"]
    ]
    made["userData"] = base64.b64encode(made["userData"].encode()).decode()
    return made


def capacity_of(engine: Engine, world: World, name: str, template: Values) -> str:
    """Make what the template's capacity refers to; gives the capacity type of its group."""
    if "placement" in template:
        template["placement"] = {"groupName": world.fabric.id}
    if "instanceMarketOptions" not in template:
        return "ON_DEMAND"
    news = {
        "availabilityZone": "us-east-1a",
        "instanceCount": 2,
        "instancePlatform": "Linux/UNIX",
        "instanceType": name,
        "instanceMatchCriteria": "targeted",
    }
    made = engine.create("ec2.CapacityReservation", f"reservation-{name}", news)
    target = {"capacityReservationId": made.id}
    template["capacityReservationSpecification"] = {"capacityReservationTarget": target}
    return "CAPACITY_BLOCK"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.yaml")))
def test_the_template_of_every_type_starts_nodes_with_all_they_have(
    engine: Engine, world: World, name: str
) -> None:
    kind = instance_type(name)
    image = image_type(kind, "1.35")
    assert image is not None
    template = template_of(world, name)
    capacity = capacity_of(engine, world, name, template)
    made = engine.create("ec2.LaunchTemplate", f"golden-{name}", template)
    news = {
        "clusterName": world.cluster.id,
        "nodeGroupName": f"golden-{name.replace('.', '-')}",
        "nodeRoleArn": world.role.state["arn"],
        "subnetIds": world.subnets[:1],
        "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 2},
        "amiType": image.type,
        "capacityType": capacity,
        "launchTemplate": {"id": made.id, "version": "1"},
    }
    nodes = engine.create("eks.NodeGroup", f"golden-{name}", news)
    session = engine.provider._session
    assert session is not None
    described = session.call(
        "eks",
        "DescribeNodegroup",
        {"clusterName": world.cluster.id, "nodegroupName": news["nodeGroupName"]},
    )["nodegroup"]
    [version] = session.call(
        "ec2",
        "DescribeLaunchTemplateVersions",
        {"LaunchTemplateId": made.id, "Versions": ["1"]},
    )["LaunchTemplateVersions"]
    start = launch(version["LaunchTemplateData"])
    assert start.defect is None
    place = Place("111122223333", "us-east-1")
    found = group(described, Cluster(place, "world", "", "1.35"), start)
    has = hardware(kind, found.image_type, found.launch)
    assert kind.accelerator is not None
    assert has.devices == {
        DEVICES[kind.accelerator.vendor]: str(kind.accelerator.count),
        "vpc.amazonaws.com/efa": str(kind.efa_interfaces),
    }
    assert has.max_pods == start.config.max_pods
    assert has.hugepages_mib == 2 * 5128
    engine.delete(nodes)
