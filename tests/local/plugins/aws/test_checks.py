"""What a program is told before anything is created."""

from __future__ import annotations

import json

import pytest

from scripts.local.plugins.shared.wire import UNKNOWN, Secret
from tests.local.plugins.aws.support import AbortedError, Engine, Values

SUBNET = "aws:ec2/subnet:Subnet"
BASE: Values = {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"}


@pytest.mark.parametrize(
    ("kind", "news", "failures"),
    [
        (
            "ec2.Subnet",
            {**BASE, "cidrBlok": "10.0.0.0/24"},
            [f"cidrBlok: {SUBNET} takes no property 'cidrBlok'; did you mean 'cidrBlock'?"],
        ),
        (
            "ec2.Subnet",
            {**BASE, "ownerId": "1"},
            [f"ownerId: {SUBNET} takes no property 'ownerId'; AWS sets it; leave it out"],
        ),
        (
            "iam.RolePolicyAttachment",
            {"role": "r", "policyArn": "p", "zzz": 1},
            [
                (
                    "zzz: aws:iam/rolePolicyAttachment:RolePolicyAttachment takes no property 'zzz'"
                    "; use one of policyArn, role"
                )
            ],
        ),
        (
            "ec2.Subnet",
            {},
            ["cidrBlock: missing 'cidrBlock'", "vpcId: missing required property 'vpcId'"],
        ),
        (
            "eks.Cluster",
            {"roleArn": "r", "vpcConfig": {"securityGroupIds": "sg-1", "subnetId": "s"}},
            [
                "vpcConfig.securityGroupIds: expected a list, got a string",
                (
                    "vpcConfig.subnetId: aws:eks/cluster:Cluster takes no property "
                    "'vpcConfig.subnetId'; did you mean 'subnetIds'?"
                ),
                "vpcConfig.subnetIds: missing required property 'vpcConfig.subnetIds'",
            ],
        ),
        (
            "eks.NodeGroup",
            {
                "clusterName": "c",
                "nodeRoleArn": "r",
                "subnetIds": ["s"],
                "scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 0},
                "updateConfig": {"updateStrategy": "MINIMAL"},
            },
            [
                (
                    "updateConfig: exactly one of 'maxUnavailable' and 'maxUnavailablePercentage' "
                    "must be set"
                )
            ],
        ),
        (
            "route53.Record",
            {"zoneId": "z", "name": "a", "type": "A", "records": ["10.0.0.1"]},
            ["ttl: records need a ttl; set how many seconds they may be remembered"],
        ),
        (
            "route53.Record",
            {"zoneId": "z", "name": "a", "type": "A", "healthCheckId": "h"},
            [
                "aliases: one of 'aliases', 'records' must be set",
                (
                    "healthCheckId: the embedded target's stand-in for "
                    "aws:route53/record:Record does not carry 'healthCheckId'; leave it out on "
                    "this target"
                ),
            ],
        ),
        (
            "acm.Certificate",
            {"domainName": "a.org"},
            ["validationMethod: a certificate of ACM's own is validated by DNS or EMAIL"],
        ),
        (
            "ec2.Vpc",
            {"cidrBlock": "10.0.0.0/16", "enableDnsSupport": "perhaps", "tags": {"a": ["b"]}},
            [
                "enableDnsSupport: expected a boolean, got a string",
                "tags.a: expected a string, got a list",
            ],
        ),
        (
            "ec2.Vpc",
            {"cidrBlock": "10.0.0.0/16", "ipv6NetmaskLength": 56},
            [
                (
                    "ipv6NetmaskLength: the embedded target's stand-in for aws:ec2/vpc:Vpc does "
                    "not carry 'ipv6NetmaskLength'; leave it out on this target"
                )
            ],
        ),
        (
            "ec2.Subnet",
            {**BASE, "availabilityZone": "us-east-1a", "availabilityZoneId": "use1-az4"},
            [
                (
                    "availabilityZone: 'availabilityZone' and 'availabilityZoneId' exclude one "
                    "another; set one of them"
                )
            ],
        ),
        (
            "vpc.SecurityGroupIngressRule",
            {"securityGroupId": "sg-1", "ipProtocol": "-1"},
            [
                (
                    "cidrIpv4: one of 'cidrIpv4', 'cidrIpv6', 'prefixListId', "
                    "'referencedSecurityGroupId' must be set"
                )
            ],
        ),
        (
            "vpc.SecurityGroupEgressRule",
            {"securityGroupId": "s", "ipProtocol": "-1", "fromPort": 0, "cidrIpv4": "10.0.0.0/8"},
            ['fromPort: fromPort is set, but ipProtocol "-1" means all ports; leave fromPort out'],
        ),
        (
            "ec2.NatGateway",
            {"subnetId": "subnet-1"},
            [
                (
                    "allocationId: a public NAT gateway needs an address; set allocationId, or "
                    'connectivityType to "private"'
                )
            ],
        ),
        (
            "iam.Role",
            {"assumeRolePolicy": "{not json"},
            ["assumeRolePolicy: 'assumeRolePolicy' holds text that is not JSON"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_path(
    engine: Engine, kind: str, news: Values, failures: list[str]
) -> None:
    assert engine.check(kind, "web", news)[1] == failures


@pytest.mark.parametrize(
    ("kind", "news", "name", "made"),
    [
        ("iam.Role", {"assumeRolePolicy": "{}"}, "name", "Web-2d3a4ea"),
        ("s3.Bucket", {}, "bucket", "web-2d3a4ea"),
        ("kms.Alias", {"targetKeyId": "k"}, "name", "alias/Web-2d3a4ea"),
        ("sns.Topic", {"fifoTopic": True}, "name", "Web-2d3a4ea.fifo"),
    ],
)
def test_a_resource_without_a_name_gets_one_of_its_logical_name(
    engine: Engine, kind: str, news: Values, name: str, made: str
) -> None:
    inputs = engine.inputs(kind, "Web", news)
    assert inputs[name] == made
    assert name in inputs["__defaults"]
    assert engine.inputs(kind, "Other", news, inputs)[name] == made


def test_a_given_name_or_prefix_is_left_alone(engine: Engine) -> None:
    given = engine.inputs("iam.Role", "web", {"assumeRolePolicy": "{}", "namePrefix": "gpu-"})
    assert "name" not in given
    named = engine.inputs("sns.Topic", "web", {"name": "alerts"})
    assert named["name"] == "alerts"
    assert engine.inputs("sns.Topic", "web", {}, named)["name"] != "alerts"


def test_texts_and_numbers_are_taken_for_one_another(engine: Engine) -> None:
    news = {"subnetIds": "s", "storageCapacity": "1200", "fileSystemTypeVersion": 2.15}
    inputs = engine.inputs("fsx.LustreFileSystem", "fs", news)
    assert inputs["storageCapacity"] == 1200
    assert inputs["fileSystemTypeVersion"] == "2.15"


def test_a_document_may_be_an_object(engine: Engine) -> None:
    document = {"Version": "2012-10-17", "Statement": []}
    inputs = engine.inputs("iam.Role", "web", {"assumeRolePolicy": document})
    assert json.loads(inputs["assumeRolePolicy"]) == document
    unknown = {"assumeRolePolicy": {"Version": UNKNOWN}}
    assert engine.inputs("iam.Role", "web", unknown)["assumeRolePolicy"] is UNKNOWN


def test_default_tags_lie_under_the_own_ones(engine: Engine) -> None:
    news = {"cidrBlock": "10.0.0.0/16", "tags": {"stack": "mine", "Name": "v"}}
    inputs = engine.inputs("ec2.Vpc", "v", news)
    assert inputs["tags"] == {"stack": "mine", "Name": "v"}
    assert inputs["tagsAll"] == {"project": "trainyard", "stack": "mine", "Name": "v"}


def test_unknown_and_secret_values_pass(engine: Engine) -> None:
    news = {"vpcId": UNKNOWN, "cidrBlock": Secret("10.0.0.0/24"), "tags": Secret({"a": "b"})}
    inputs = engine.inputs("ec2.Subnet", "s", news)
    assert inputs["vpcId"] is UNKNOWN
    assert inputs["cidrBlock"] == Secret("10.0.0.0/24")
    assert inputs["tagsAll"] == Secret({"project": "trainyard", "stack": "test", "a": "b"})


def test_a_type_that_is_not_in_the_table_is_refused(engine: Engine) -> None:
    with pytest.raises(AbortedError) as caught:
        engine.check("ec2.Instance", "web", {})
    assert str(caught.value) == (
        "the embedded target's stand-in has no resource type aws:ec2/instance:Instance; it has "
        "those that Trainyard uses: see scripts/local/plugins/aws/rows"
    )
