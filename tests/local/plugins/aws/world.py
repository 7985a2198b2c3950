"""What the resources of the tests stand on, made through the plugin itself when first asked for."""

from __future__ import annotations

import json
from functools import cached_property

from tests.local.plugins.aws.support import ACCOUNT, Engine, Made, Values

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": service},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
            }
            for service in ("eks.amazonaws.com", "ec2.amazonaws.com", "pods.eks.amazonaws.com")
        ],
    }
)


class World:
    """Shared resources by role; each is made once in a session."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def _make(self, kind: str, name: str, news: Values) -> Made:
        return self.engine.create(kind, f"world-{name}", news)

    @cached_property
    def vpc(self) -> Made:
        return self._make("ec2.Vpc", "vpc", {"cidrBlock": "10.0.0.0/16"})

    def _subnet(self, zone: str, block: str) -> Made:
        news = {"vpcId": self.vpc.id, "cidrBlock": block, "availabilityZone": zone}
        return self._make("ec2.Subnet", zone, news)

    @cached_property
    def subnets(self) -> list[str]:
        return [
            self._subnet("us-east-1a", "10.0.0.0/24").id,
            self._subnet("us-east-1b", "10.0.1.0/24").id,
        ]

    @cached_property
    def other_vpc(self) -> Made:
        return self._make("ec2.Vpc", "other-vpc", {"cidrBlock": "10.1.0.0/16"})

    @cached_property
    def gateway(self) -> Made:
        return self._make("ec2.InternetGateway", "gateway", {"vpcId": self.vpc.id})

    @cached_property
    def table(self) -> Made:
        return self._make("ec2.RouteTable", "table", {"vpcId": self.vpc.id})

    @cached_property
    def group(self) -> Made:
        return self._make("ec2.SecurityGroup", "group", {"vpcId": self.vpc.id})

    @cached_property
    def peer(self) -> Made:
        return self._make("ec2.SecurityGroup", "peer", {"vpcId": self.vpc.id})

    @cached_property
    def address(self) -> Made:
        return self._make("ec2.Eip", "address", {"domain": "vpc"})

    @cached_property
    def fabric(self) -> Made:
        return self._make("ec2.PlacementGroup", "fabric", {"strategy": "cluster"})

    @cached_property
    def template(self) -> Made:
        return self._make("ec2.LaunchTemplate", "template", {"instanceType": "p5.48xlarge"})

    @cached_property
    def role(self) -> Made:
        return self._make("iam.Role", "role", {"assumeRolePolicy": TRUST})

    @cached_property
    def other_role(self) -> Made:
        return self._make("iam.Role", "other", {"assumeRolePolicy": TRUST})

    @cached_property
    def cluster(self) -> Made:
        news = {
            "name": "world",
            "roleArn": self.role.state["arn"],
            "vpcConfig": {"subnetIds": self.subnets},
            "accessConfig": {
                "authenticationMode": "API",
                "bootstrapClusterCreatorAdminPermissions": True,
            },
        }
        return self._make("eks.Cluster", "cluster", news)

    @cached_property
    def node_group(self) -> Made:
        news = {
            "clusterName": self.cluster.id,
            "nodeGroupName": "world",
            "nodeRoleArn": self._make("iam.Role", "node", {"assumeRolePolicy": TRUST}).state["arn"],
            "subnetIds": self.subnets[:1],
            "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 2},
        }
        return self._make("eks.NodeGroup", "node-group", news)

    @cached_property
    def entry(self) -> Made:
        news = {"clusterName": self.cluster.id, "principalArn": self.other_role.state["arn"]}
        return self._make("eks.AccessEntry", "entry", news)

    @cached_property
    def key(self) -> Made:
        return self._make("kms.Key", "key", {})

    @cached_property
    def other_key(self) -> Made:
        return self._make("kms.Key", "other-key", {})

    @cached_property
    def bucket(self) -> Made:
        return self._make("s3.Bucket", "bucket", {"bucket": "world-bucket", "forceDestroy": True})

    @cached_property
    def locked_bucket(self) -> Made:
        news = {"bucket": "world-locked", "objectLockEnabled": True}
        return self._make("s3.Bucket", "locked", news)

    @cached_property
    def trail_bucket(self) -> Made:
        made = self._make("s3.Bucket", "trail", {"bucket": "world-trail"})
        statements = [
            {
                "Effect": "Allow",
                "Principal": {"Service": "cloudtrail.amazonaws.com"},
                "Action": action,
                "Resource": resource,
            }
            for action, resource in (
                ("s3:GetBucketAcl", "arn:aws:s3:::world-trail"),
                ("s3:PutObject", f"arn:aws:s3:::world-trail/AWSLogs/{ACCOUNT}/*"),
            )
        ]
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self._make("s3.BucketPolicy", "trail-policy", {"bucket": made.id, "policy": policy})
        return made

    @cached_property
    def file_system(self) -> Made:
        news = {
            "subnetIds": self.subnets[0],
            "storageCapacity": 1200,
            "deploymentType": "PERSISTENT_2",
            "perUnitStorageThroughput": 125,
        }
        return self._make("fsx.LustreFileSystem", "file-system", news)

    @cached_property
    def repository(self) -> Made:
        return self._make("ecr.Repository", "repository", {"name": "world/images"})

    @cached_property
    def zone(self) -> Made:
        return self._make("route53.Zone", "zone", {"name": "world.example.org"})

    @cached_property
    def certificate(self) -> Made:
        """A certificate that was issued: its record is in the zone."""
        news = {"domainName": "world.example.org", "validationMethod": "DNS"}
        made = self._make("acm.Certificate", "certificate", news)
        [proof] = made.state["domainValidationOptions"]
        record = {
            "zoneId": self.zone.id,
            "name": proof["resourceRecordName"],
            "type": proof["resourceRecordType"],
            "records": [proof["resourceRecordValue"]],
            "ttl": 60,
        }
        self._make("route53.Record", "proof", record)
        return made

    @cached_property
    def topic(self) -> Made:
        return self._make("sns.Topic", "topic", {})

    @cached_property
    def log_group(self) -> Made:
        return self._make("cloudwatch.LogGroup", "logs", {"name": "/world/logs"})
