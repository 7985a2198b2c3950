"""One life for each resource type: what it is created with, and what an update changes."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.local.plugins.aws.support import Made, Values
    from tests.local.plugins.aws.world import World


@dataclass(frozen=True)
class Case:
    """The life of one resource type."""

    kind: str
    make: Callable[[World], Values]
    change: Callable[[World], Values] = lambda _: {}
    """What an update lays over the inputs; nothing where every change is a replacement."""

    import_id: Callable[[Made], str] = lambda made: made.id
    stays: bool = False
    """Whether AWS keeps it after its deletion."""

    not_imported: frozenset[str] = field(default_factory=frozenset)
    """Inputs that the API does not show."""


def _open(world: World) -> Values:
    return {
        "fromPort": 988,
        "toPort": 988,
        "protocol": "tcp",
        "securityGroups": [world.peer.id],
        "self": True,
        "description": "lustre",
    }


def _all_out() -> Values:
    return {"fromPort": 0, "toPort": 0, "protocol": "-1", "cidrBlocks": ["0.0.0.0/0"]}


EC2_AND_EKS_CASES = (
    Case(
        "ec2.Vpc",
        lambda _: {"cidrBlock": "10.9.0.0/16", "enableDnsHostnames": True, "tags": {"Name": "v"}},
        lambda _: {"enableDnsHostnames": False, "tags": {"Name": "w"}},
    ),
    Case(
        "ec2.VpcIpv4CidrBlockAssociation",
        lambda w: {"vpcId": w.vpc.id, "cidrBlock": "10.77.0.0/16"},
    ),
    Case(
        "ec2.Subnet",
        lambda w: {
            "vpcId": w.vpc.id,
            "cidrBlock": "10.0.9.0/24",
            "availabilityZoneId": "use1-az4",
            "tags": {"Name": "s"},
        },
        lambda _: {"mapPublicIpOnLaunch": True},
    ),
    Case(
        "ec2.SubnetCidrReservation",
        lambda w: {
            "subnetId": w.subnets[0],
            "cidrBlock": "10.0.0.128/25",
            "reservationType": "prefix",
            "description": "pods",
        },
        import_id=lambda made: f"{made.inputs['subnetId']}:{made.id}",
    ),
    Case(
        "ec2.InternetGateway",
        lambda _: {"tags": {"Name": "g"}},
        lambda _: {"tags": {"Name": "h"}},
    ),
    Case("ec2.Eip", lambda _: {"domain": "vpc"}, lambda _: {"tags": {"Name": "e"}}),
    Case(
        "ec2.NatGateway",
        lambda w: {"subnetId": w.subnets[0], "allocationId": w.address.id},
        lambda _: {"tags": {"Name": "n"}},
    ),
    Case(
        "ec2.RouteTable",
        lambda w: {
            "vpcId": w.vpc.id,
            "routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": w.gateway.id}],
        },
        lambda w: {"routes": [{"cidrBlock": "192.0.2.0/24", "gatewayId": w.gateway.id}]},
    ),
    Case(
        "ec2.Route",
        lambda w: {
            "routeTableId": w.table.id,
            "destinationCidrBlock": "0.0.0.0/0",
            "gatewayId": w.gateway.id,
        },
    ),
    Case(
        "ec2.RouteTableAssociation",
        lambda w: {"routeTableId": w.table.id, "subnetId": w.subnets[0]},
        import_id=lambda made: f"{made.inputs['subnetId']}/{made.inputs['routeTableId']}",
    ),
    Case(
        "ec2.VpcEndpoint",
        lambda w: {
            "vpcId": w.vpc.id,
            "serviceName": "com.amazonaws.us-east-1.ecr.api",
            "vpcEndpointType": "Interface",
            "subnetIds": [w.subnets[0]],
            "securityGroupIds": [w.group.id],
            "privateDnsEnabled": True,
        },
        lambda w: {"subnetIds": w.subnets},
    ),
    Case(
        "ec2.FlowLog",
        lambda w: {
            "vpcId": w.vpc.id,
            "trafficType": "ALL",
            "logDestination": w.bucket.state["arn"],
            "logDestinationType": "s3",
        },
        lambda _: {"tags": {"Name": "f"}},
    ),
    Case(
        "ec2.DefaultSecurityGroup",
        lambda w: {"vpcId": w.vpc.id},
        lambda _: {"egress": [_all_out()]},
        stays=True,
    ),
    Case(
        "ec2.SecurityGroup",
        lambda w: {"vpcId": w.vpc.id, "description": "fabric", "ingress": [_open(w)]},
        lambda _: {"egress": [_all_out()]},
    ),
    Case(
        "vpc.SecurityGroupIngressRule",
        lambda w: {
            "securityGroupId": w.group.id,
            "ipProtocol": "-1",
            "referencedSecurityGroupId": w.group.id,
            "description": "self",
        },
        lambda _: {"description": "itself"},
    ),
    Case(
        "vpc.SecurityGroupEgressRule",
        lambda w: {
            "securityGroupId": w.group.id,
            "ipProtocol": "tcp",
            "fromPort": 443,
            "toPort": 443,
            "cidrIpv4": "0.0.0.0/0",
        },
        lambda _: {"cidrIpv4": "10.0.0.0/8"},
    ),
    Case(
        "ec2.LaunchTemplate",
        lambda w: {
            "name": "gpu",
            "imageId": "ami-12345678",
            "instanceType": "p5.48xlarge",
            "userData": base64.b64encode(b"#!/bin/sh").decode(),
            "updateDefaultVersion": True,
            "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
            "instanceMarketOptions": {"marketType": "capacity-block"},
            "placement": {"groupName": "fabric"},
            "blockDeviceMappings": [
                {
                    "deviceName": "/dev/xvda",
                    "ebs": {"volumeSize": 200, "volumeType": "gp3", "encrypted": "true"},
                }
            ],
            "networkInterfaces": [
                {
                    "deviceIndex": min(card, 1),
                    "networkCardIndex": card,
                    "interfaceType": "efa-only" if card else "efa",
                    "securityGroups": [w.group.id],
                    "deleteOnTermination": "true",
                }
                for card in range(4)
            ],
            "tagSpecifications": [{"resourceType": "instance", "tags": {"pool": "gpu"}}],
        },
        lambda _: {"instanceType": "p5e.48xlarge"},
        not_imported=frozenset({"updateDefaultVersion"}),
    ),
    Case(
        "ec2.PlacementGroup",
        lambda _: {"strategy": "cluster"},
        lambda _: {"tags": {"Name": "p"}},
    ),
    Case(
        "ec2.CapacityReservation",
        lambda _: {
            "availabilityZone": "us-east-1a",
            "instanceCount": 2,
            "instancePlatform": "Linux/UNIX",
            "instanceType": "p5.48xlarge",
            "instanceMatchCriteria": "targeted",
        },
        lambda _: {"instanceCount": 4},
    ),
    Case(
        "eks.NodeGroup",
        lambda w: {
            "clusterName": w.cluster.id,
            "nodeGroupName": "gpu-1",
            "nodeRoleArn": w.role.state["arn"],
            "subnetIds": [w.subnets[0]],
            "scalingConfig": {"minSize": 1, "maxSize": 4, "desiredSize": 2},
            "capacityType": "ON_DEMAND",
            "launchTemplate": {"id": w.template.id, "version": "1"},
            "labels": {"trainyard.dev/pool": "gpu", "trainyard.dev/wave": "1"},
            "taints": [{"key": "trainyard.dev/unproved", "value": "true", "effect": "NO_SCHEDULE"}],
            "updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"},
            "nodeRepairConfig": {
                "enabled": True,
                "maxParallelNodesRepairedCount": 1,
                "maxUnhealthyNodeThresholdPercentage": 20,
                "nodeRepairConfigOverrides": [
                    {
                        "minRepairWaitTimeMins": 10,
                        "nodeMonitoringCondition": "AcceleratedHardwareReady",
                        "nodeUnhealthyReason": "NvidiaXID79Error",
                        "repairAction": "Replace",
                    }
                ],
            },
        },
        lambda _: {
            "scalingConfig": {"minSize": 1, "maxSize": 8, "desiredSize": 3},
            "labels": {"trainyard.dev/pool": "gpu"},
            "taints": [],
            "updateConfig": {"maxUnavailablePercentage": 50, "updateStrategy": "DEFAULT"},
            "nodeRepairConfig": {"enabled": True, "maxParallelNodesRepairedPercentage": 5},
        },
    ),
    Case(
        "autoscaling.Schedule",
        lambda w: {
            "autoscalingGroupName": w.node_group.state["resources"][0]["autoscalingGroups"][0][
                "name"
            ],
            "scheduledActionName": "drain",
            "recurrence": "0 20 * * 5",
            "timeZone": "UTC",
            "minSize": -1,
            "maxSize": -1,
            "desiredCapacity": 0,
        },
        lambda _: {"recurrence": "0 21 * * 5", "minSize": 0},
        import_id=lambda made: f"{made.inputs['autoscalingGroupName']}/{made.id}",
    ),
    Case(
        "eks.Addon",
        lambda w: {
            "clusterName": w.cluster.id,
            "addonName": "vpc-cni",
            "configurationValues": '{"env": {"ENABLE_PREFIX_DELEGATION": "true"}}',
            "resolveConflictsOnCreate": "OVERWRITE",
        },
        lambda _: {"configurationValues": "{}"},
        not_imported=frozenset({"resolveConflictsOnCreate"}),
    ),
    Case(
        "eks.AccessEntry",
        lambda w: {
            "clusterName": w.cluster.id,
            "principalArn": w.role.state["arn"],
            "kubernetesGroups": ["trainyard:viewers"],
        },
        lambda _: {"kubernetesGroups": ["trainyard:viewers", "trainyard:submitters"]},
    ),
    Case(
        "eks.AccessPolicyAssociation",
        lambda w: {
            "clusterName": w.cluster.id,
            "principalArn": w.entry.inputs["principalArn"],
            "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
            "accessScope": {"type": "namespace", "namespaces": ["train"]},
        },
    ),
    Case(
        "eks.PodIdentityAssociation",
        lambda w: {
            "clusterName": w.cluster.id,
            "namespace": "kube-system",
            "serviceAccount": "fsx",
            "roleArn": w.role.state["arn"],
        },
        lambda w: {"roleArn": w.other_role.state["arn"]},
        import_id=lambda made: f"{made.inputs['clusterName']},{made.id}",
    ),
)
