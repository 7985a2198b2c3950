"""One life for each resource type: what it is created with, and what an update changes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.local.plugins.aws.support import ACCOUNT, Made, Values
from tests.local.plugins.aws.world import TRUST, World

if TYPE_CHECKING:
    from collections.abc import Callable


def policy(action: str, resource: str, **more: object) -> str:
    """Write an IAM document with one statement."""
    statement = {"Effect": "Allow", "Action": action, "Resource": resource, **more}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def image_rule(days: int) -> str:
    """Write a lifecycle policy of ECR."""
    selection = {
        "tagStatus": "untagged",
        "countType": "sinceImagePushed",
        "countUnit": "days",
        "countNumber": days,
    }
    rule = {"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}
    return json.dumps({"rules": [rule]})


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


CASES = (
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
            "updateConfig": {"maxUnavailable": 1},
        },
        lambda _: {
            "scalingConfig": {"minSize": 1, "maxSize": 8, "desiredSize": 3},
            "labels": {"trainyard.dev/pool": "gpu"},
            "taints": [],
        },
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
    Case(
        "iam.Role",
        lambda _: {
            "assumeRolePolicy": TRUST,
            "description": "nodes",
            "inlinePolicies": [
                {"name": "read", "policy": policy("s3:GetObject", "arn:aws:s3:::data/*")}
            ],
        },
        lambda _: {"description": "node", "maxSessionDuration": 7200},
    ),
    Case(
        "iam.RolePolicy",
        lambda w: {"role": w.role.id, "policy": policy("s3:GetObject", "arn:aws:s3:::data/*")},
        lambda _: {"policy": policy("s3:PutObject", "arn:aws:s3:::data/*")},
    ),
    Case(
        "iam.RolePolicyAttachment",
        lambda w: {
            "role": w.role.id,
            "policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy",
        },
    ),
    Case(
        "kms.Key",
        lambda _: {
            "description": "secrets",
            "deletionWindowInDays": 7,
            "enableKeyRotation": True,
            "policy": policy("kms:*", "*", Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:root"}),
        },
        lambda _: {"description": "all secrets", "enableKeyRotation": False},
        not_imported=frozenset({"deletionWindowInDays"}),
    ),
    Case(
        "kms.Alias",
        lambda w: {"name": "alias/gpu", "targetKeyId": w.key.id},
        lambda w: {"targetKeyId": w.other_key.id},
    ),
    Case(
        "cloudwatch.LogGroup",
        lambda _: {"name": "/aws/eks/gpu/cluster", "retentionInDays": 90},
        lambda _: {"retentionInDays": 365},
    ),
    Case(
        "cloudwatch.MetricAlarm",
        lambda w: {
            "name": "checker-dead",
            "comparisonOperator": "LessThanThreshold",
            "evaluationPeriods": 3,
            "metricName": "heartbeat",
            "namespace": "Trainyard",
            "period": 60,
            "statistic": "Sum",
            "threshold": 1,
            "dimensions": {"pool": "gpu"},
            "alarmActions": [w.topic.id],
            "treatMissingData": "breaching",
        },
        lambda _: {"threshold": 2},
    ),
    Case(
        "fsx.LustreFileSystem",
        lambda w: {
            "subnetIds": w.subnets[0],
            "storageCapacity": 2400,
            "deploymentType": "PERSISTENT_2",
            "perUnitStorageThroughput": 250,
            "securityGroupIds": [w.group.id],
            "dataCompressionType": "LZ4",
            "kmsKeyId": w.key.state["arn"],
            "metadataConfiguration": {"mode": "AUTOMATIC"},
        },
        lambda _: {"storageCapacity": 4800},
        not_imported=frozenset({"securityGroupIds"}),
    ),
    Case(
        "fsx.DataRepositoryAssociation",
        lambda w: {
            "fileSystemId": w.file_system.id,
            "fileSystemPath": "/data",
            "dataRepositoryPath": f"s3://{w.bucket.id}/data/",
            "s3": {
                "autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]},
                "autoExportPolicy": {"events": ["NEW"]},
            },
        },
        lambda _: {
            "s3": {
                "autoImportPolicy": {"events": ["NEW"]},
                "autoExportPolicy": {"events": ["NEW", "CHANGED"]},
            }
        },
    ),
    Case(
        "s3.Bucket",
        lambda _: {"bucket": "trainyard-data", "forceDestroy": True, "tags": {"tier": "hot"}},
        lambda _: {"tags": {"tier": "cold"}},
        not_imported=frozenset({"forceDestroy"}),
    ),
    Case(
        "s3.BucketVersioning",
        lambda w: {"bucket": w.bucket.id, "versioningConfiguration": {"status": "Enabled"}},
        lambda _: {"versioningConfiguration": {"status": "Suspended"}},
        stays=True,
    ),
    Case(
        "s3.BucketServerSideEncryptionConfiguration",
        lambda w: {
            "bucket": w.bucket.id,
            "rules": [
                {
                    "applyServerSideEncryptionByDefault": {
                        "sseAlgorithm": "aws:kms",
                        "kmsMasterKeyId": w.key.state["arn"],
                    },
                    "bucketKeyEnabled": True,
                }
            ],
        },
        lambda _: {
            "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}],
        },
        stays=True,
    ),
    Case(
        "s3.BucketPublicAccessBlock",
        lambda w: {"bucket": w.bucket.id, "blockPublicAcls": True, "blockPublicPolicy": True},
        lambda _: {"ignorePublicAcls": True, "restrictPublicBuckets": True},
    ),
    Case(
        "s3.BucketLifecycleConfiguration",
        lambda w: {
            "bucket": w.bucket.id,
            "rules": [
                {
                    "id": "cold",
                    "status": "Enabled",
                    "filter": {"prefix": "checkpoints/"},
                    "transitions": [{"days": 30, "storageClass": "GLACIER_IR"}],
                    "noncurrentVersionExpiration": {"noncurrentDays": 90},
                    "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
                }
            ],
        },
        lambda _: {
            "rules": [
                {
                    "id": "cold",
                    "status": "Enabled",
                    "filter": {"prefix": "checkpoints/"},
                    "expiration": {"days": 365},
                }
            ]
        },
    ),
    Case(
        "s3.BucketPolicy",
        lambda w: {
            "bucket": w.bucket.id,
            "policy": policy("s3:GetObject", f"{w.bucket.state['arn']}/*", Principal="*"),
        },
        lambda w: {
            "policy": policy("s3:PutObject", f"{w.bucket.state['arn']}/*", Principal="*"),
        },
    ),
    Case(
        "s3.BucketObjectLockConfiguration",
        lambda w: {
            "bucket": w.locked_bucket.id,
            "rule": {"defaultRetention": {"mode": "COMPLIANCE", "days": 30}},
        },
        lambda _: {"rule": {"defaultRetention": {"mode": "COMPLIANCE", "days": 60}}},
    ),
    Case(
        "ecr.Repository",
        lambda w: {
            "name": "trainyard/checks",
            "imageTagMutability": "IMMUTABLE",
            "imageScanningConfiguration": {"scanOnPush": True},
            "encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": w.key.state["arn"]}],
            "forceDelete": True,
        },
        lambda _: {"imageScanningConfiguration": {"scanOnPush": False}},
        not_imported=frozenset({"forceDelete"}),
    ),
    Case("ecr.LifecyclePolicy", lambda w: {"repository": w.repository.id, "policy": image_rule(7)}),
    Case(
        "secretsmanager.Secret",
        lambda w: {
            "name": "trainyard/registry",
            "description": "pull token",
            "kmsKeyId": w.key.state["arn"],
            "recoveryWindowInDays": 7,
        },
        lambda _: {"description": "push token"},
        not_imported=frozenset({"recoveryWindowInDays"}),
    ),
    Case("amp.Workspace", lambda _: {"alias": "metrics"}, lambda _: {"alias": "more-metrics"}),
    Case(
        "sns.Topic",
        lambda w: {"name": "alerts", "kmsMasterKeyId": w.key.id},
        lambda _: {"displayName": "Trainyard"},
    ),
    Case(
        "sns.TopicPolicy",
        lambda w: {
            "arn": w.topic.id,
            "policy": policy(
                "sns:Publish", w.topic.id, Principal={"Service": "cloudwatch.amazonaws.com"}
            ),
        },
        lambda w: {
            "policy": policy(
                "sns:Publish", w.topic.id, Principal={"Service": "budgets.amazonaws.com"}
            ),
        },
        stays=True,
    ),
    Case(
        "cloudtrail.Trail",
        lambda w: {
            "name": "audit",
            "s3BucketName": w.trail_bucket.id,
            "enableLogFileValidation": True,
            "isMultiRegionTrail": True,
        },
        lambda _: {"enableLogging": False},
    ),
    Case(
        "budgets.Budget",
        lambda w: {
            "name": "monthly",
            "budgetType": "COST",
            "timeUnit": "MONTHLY",
            "limitAmount": "100000",
            "limitUnit": "USD",
            "costFilters": [{"name": "TagKeyValue", "values": ["user:project$trainyard"]}],
            "notifications": [
                {
                    "comparisonOperator": "GREATER_THAN",
                    "notificationType": "FORECASTED",
                    "threshold": 80,
                    "thresholdType": "PERCENTAGE",
                    "subscriberSnsTopicArns": [w.topic.id],
                }
            ],
        },
        lambda _: {"limitAmount": "120000"},
        not_imported=frozenset({"notifications", "tagsAll"}),
    ),
)
