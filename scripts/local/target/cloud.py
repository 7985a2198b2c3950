"""Node groups and their instances in the simulated account, through plain boto3."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.config

from scripts.local.stacks import Place
from scripts.local.target.launch import Launch, launch
from scripts.local.target.node_objects import Group, Instance

__all__ = ["Cloud", "Cluster", "credentials"]

NODEGROUP_TAG = "eks:nodegroup-name"
CLUSTER_TAG = "eks:cluster-name"
GENERATION_TAG = "trainyard:generation"
INDEX_TAG = "trainyard:indexes"
"""First index and step of the instances of one RunInstances call, as ``first+step``: the launch
index of each says which one it has. A tag for each instance would take a call for each."""

LAUNCH_AT_ONCE = 100
"""Instances of one RunInstances call: keeps the answer small."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Cluster:
    """The live EKS cluster."""

    place: Place
    name: str
    born: str
    """When it was created: a new cluster of the same name is another one."""

    kubernetes: str


def credentials(account: str) -> dict[str, str]:
    """Give the simulator's credentials of an account, by their environment names."""
    return {"AWS_ACCESS_KEY_ID": f"EMBEDDED{account}", "AWS_SECRET_ACCESS_KEY": "embedded"}


class Cloud:
    """The calls of EKS and EC2 in one place."""

    def __init__(self, endpoint: str, place: Place) -> None:
        self.place = place
        keys = credentials(place.account)
        session: Any = boto3.Session(  # its overloads, one per service, lack EKS
            aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
            region_name=place.region,
        )
        # Few retries: whoever loops over this tries again anyway.
        config = botocore.config.Config(retries={"mode": "standard", "max_attempts": 2})

        self._eks = session.client("eks", endpoint_url=endpoint, config=config)
        self._ec2 = session.client("ec2", endpoint_url=endpoint, config=config)
        self._zones: dict[str, tuple[str, str]] = {}

    def cluster(self) -> Cluster | None:
        """Give the live cluster of this place, if it is here."""
        names = self._eks.list_clusters()["clusters"]
        if not names:
            return None
        described = self._eks.describe_cluster(name=names[0])["cluster"]
        born = str(described["createdAt"])
        return Cluster(self.place, names[0], born, str(described["version"]))

    def groups(self, cluster: Cluster) -> Iterator[Group]:
        """Give the node groups that have or shall have instances."""
        for page in self._eks.get_paginator("list_nodegroups").paginate(clusterName=cluster.name):
            for name in page["nodegroups"]:
                answer = self._eks.describe_nodegroup(clusterName=cluster.name, nodegroupName=name)
                described = answer["nodegroup"]
                if described["status"] != "DELETING":
                    yield group(described, cluster, launch(self._template(described)))

    def _template(self, described: Json) -> Json:
        """Give the data of a node group's launch template; empty without one."""
        template = described.get("launchTemplate")
        if not template:
            return {}
        key = "LaunchTemplateId" if "id" in template else "LaunchTemplateName"
        versions = self._ec2.describe_launch_template_versions(
            **{key: template.get("id") or template["name"]},
            Versions=[str(template.get("version", "$Default"))],
        )["LaunchTemplateVersions"]
        return versions[0]["LaunchTemplateData"]

    def instances(self, cluster: str) -> dict[str, list[tuple[str, Instance]]]:
        """Give the running instances with their generation, by node group."""
        found: dict[str, list[tuple[str, Instance]]] = {}
        pages = self._ec2.get_paginator("describe_instances").paginate(
            Filters=[
                {"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster]},
                # Not one that somebody else has started for the cluster.
                {"Name": "tag-key", "Values": [INDEX_TAG]},
                {"Name": "instance-state-name", "Values": ["pending", "running"]},
            ]
        )
        for page in pages:
            for reservation in page["Reservations"]:
                for described in reservation["Instances"]:
                    tags = {tag["Key"]: tag["Value"] for tag in described["Tags"]}
                    each = self._instance(described, tags[INDEX_TAG])
                    entry = tags[GENERATION_TAG], each
                    found.setdefault(tags[NODEGROUP_TAG], []).append(entry)
        return found

    def running(self) -> set[str]:
        """Give the ids of all running instances; much smaller than their descriptions."""
        pages = self._ec2.get_paginator("describe_instance_status").paginate()
        return {status["InstanceId"] for page in pages for status in page["InstanceStatuses"]}

    def launch(self, group: Group, indexes: Sequence[int]) -> list[Instance]:
        """Run an instance for each index, spread over the group's subnets."""
        launched: list[Instance] = []
        step = len(group.subnets)
        for number, subnet in enumerate(group.subnets):
            mine = [index for index in indexes if index % step == number]
            for part in runs(mine, step, LAUNCH_AT_ONCE):
                launched += self._launch(group, subnet, part, f"{part[0]}+{step}")
        return sorted(launched, key=lambda instance: instance.index)

    def _launch(
        self, group: Group, subnet: str, indexes: Sequence[int], tag: str
    ) -> list[Instance]:
        tags = {
            CLUSTER_TAG: group.cluster,
            NODEGROUP_TAG: group.name,
            f"kubernetes.io/cluster/{group.cluster}": "owned",
            GENERATION_TAG: group.generation,
            INDEX_TAG: tag,
        }
        answer = self._ec2.run_instances(
            **({"ImageId": group.launch.image} if group.launch.image else {}),
            InstanceType=group.instance_type,
            NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": subnet, "DeleteOnTermination": True}],
            MinCount=len(indexes),
            MaxCount=len(indexes),
            TagSpecifications=[{"ResourceType": "instance", "Tags": _tags(tags)}],
        )
        return [self._instance(described, tag) for described in answer["Instances"]]

    def terminate(self, ids: Iterable[str]) -> None:
        """End instances, also those that are gone already."""
        gone = list(ids)
        for start in range(0, len(gone), LAUNCH_AT_ONCE):
            self._ec2.terminate_instances(InstanceIds=gone[start : start + LAUNCH_AT_ONCE])

    def _instance(self, described: Json, tag: str) -> Instance:
        first, step = map(int, tag.split("+"))
        zone, zone_id = self._zone(described["SubnetId"])
        return Instance(
            id=described["InstanceId"],
            address=described["PrivateIpAddress"],
            dns_name=described["PrivateDnsName"],
            zone=zone,
            zone_id=zone_id,
            index=first + step * int(described["AmiLaunchIndex"]),
        )

    def _zone(self, subnet: str) -> tuple[str, str]:
        if subnet not in self._zones:
            [described] = self._ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
            self._zones[subnet] = described["AvailabilityZone"], described["AvailabilityZoneId"]
        return self._zones[subnet]


def runs(indexes: Sequence[int], step: int, longest: int) -> list[list[int]]:
    """Cut ascending indexes into runs that rise by ``step``."""
    found: list[list[int]] = []
    for index in indexes:
        if found and index == found[-1][-1] + step and len(found[-1]) < longest:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def group(described: Json, cluster: Cluster, start: Launch) -> Group:
    """Read a node group from EKS's description."""
    types: list[str] = described.get("instanceTypes") or []
    taints: list[dict[str, str]] = described.get("taints") or []
    template = described.get("launchTemplate")
    return Group(
        name=described["nodegroupName"],
        arn=described["nodegroupArn"],
        cluster=described["clusterName"],
        region=cluster.place.region,
        instance_type=start.instance_type or types[0],
        desired=int(described["scalingConfig"]["desiredSize"]),
        subnets=tuple(described["subnets"]),
        labels=described.get("labels") or {},
        taints=tuple((taint["key"], taint.get("value", ""), taint["effect"]) for taint in taints),
        capacity=described.get("capacityType", "ON_DEMAND"),
        # EKS names no version for a group with an image of one's own.
        kubernetes=str(described.get("version") or cluster.kubernetes),
        image_type=str(described.get("amiType", "")),
        image_release=str(described.get("releaseVersion", "")),
        template=(str(template["id"]), str(template.get("version", "1"))) if template else None,
        launch=start,
    )
