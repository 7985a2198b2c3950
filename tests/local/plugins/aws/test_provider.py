"""The provider's settings, look-ups, and what it says when AWS refuses."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import TYPE_CHECKING

import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from scripts.local.plugins.aws import session as sessions
from scripts.local.plugins.aws.provider import AwsProvider
from scripts.local.plugins.aws.rows import ROWS
from scripts.local.plugins.shared.wire import UNKNOWN, to_struct
from tests.local.plugins.aws.support import (
    ACCOUNT,
    AbortedError,
    Context,
    Engine,
    Made,
    Values,
    configured,
)
from tests.local.plugins.aws.world import TRUST, World

if TYPE_CHECKING:
    from collections.abc import Mapping


def refusal(environment: Mapping[str, str], settings: Values) -> str:
    with pytest.raises(AbortedError) as caught:
        configured(environment, settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("endpoint", "seen"),
    [
        ("", "AWS_ENDPOINT_URL is not set"),
        ("https://ec2.amazonaws.com", "AWS_ENDPOINT_URL is https://ec2.amazonaws.com"),
        ("http://127.0.0.1.example.org", "AWS_ENDPOINT_URL is http://127.0.0.1.example.org"),
    ],
)
def test_the_stand_in_never_speaks_to_aws(endpoint: str, seen: str) -> None:
    environment = {"AWS_ENDPOINT_URL": endpoint} if endpoint else {}
    assert refusal(environment, {}) == (
        f"{seen}, but this pulumi-resource-aws is the embedded target's stand-in and speaks only "
        "to a simulator on this machine; run it through `yard local`, or take it off PATH to use "
        "the real AWS provider"
    )


def test_another_account_than_the_allowed_one_is_refused(environment: Mapping[str, str]) -> None:
    assert refusal(environment, {"allowedAccountIds": '["444455556666"]'}) == (
        f"AWS account ID not allowed: the credentials belong to account {ACCOUNT}, and "
        "allowedAccountIds names 444455556666; use credentials of an allowed account"
    )
    assert refusal(environment, {"forbiddenAccountIds": f'["{ACCOUNT}"]'}) == (
        f"AWS account ID not allowed: the credentials belong to account {ACCOUNT}, and "
        f"forbiddenAccountIds names {ACCOUNT}; use credentials of another account"
    )
    assert configured(environment, {"allowedAccountIds": f'["{ACCOUNT}"]'})


def test_a_provider_without_a_region_says_how_to_set_one(environment: Mapping[str, str]) -> None:
    assert refusal(environment, {"region": ""}) == (
        "the AWS provider has no region; run `pulumi config set aws:region …`"
    )


def test_settings_of_the_default_provider_come_as_variables(environment: Mapping[str, str]) -> None:
    provider = AwsProvider(environment)
    provider.Configure(
        provider_pb2.ConfigureRequest(variables={"aws:config:region": "us-west-2"}), Context()
    )
    region = Engine(provider).invoke("aws:index/getRegion:getRegion")
    assert region["region"] == "us-west-2"


def test_unknown_and_foreign_settings_are_refused(environment: Mapping[str, str]) -> None:
    news = {
        "region": "us-east-1",
        "version": "7.51.1",
        "regoin": "x",
        "assumeRoles": "[]",
        "defaultTags": '{"tags": "a"}',
        "skipMetadataApiCheck": "true",
    }
    response = AwsProvider(environment).CheckConfig(
        provider_pb2.CheckRequest(news=to_struct(news)), Context()
    )
    assert [f"{it.property}: {it.reason}" for it in response.failures] == [
        (
            "assumeRoles: the embedded target's stand-in does not carry the provider's setting "
            "'assumeRoles'; it takes its endpoint and credentials from the environment, so leave "
            "it out"
        ),
        "defaultTags.tags: expected a map, got a string",
        "regoin: the AWS provider takes no property 'regoin'; did you mean 'region'?",
    ]


def test_another_region_replaces_the_provider(environment: Mapping[str, str]) -> None:
    response = AwsProvider(environment).DiffConfig(
        provider_pb2.DiffRequest(
            old_inputs=to_struct({"region": "us-east-1", "maxRetries": "3"}),
            news=to_struct({"region": "us-west-2", "maxRetries": "4"}),
        ),
        Context(),
    )
    assert list(response.diffs) == ["maxRetries", "region"]
    assert list(response.replaces) == ["region"]


def test_unknown_settings_allow_a_preview_and_nothing_else(environment: Mapping[str, str]) -> None:
    engine = configured(environment, {"region": UNKNOWN})
    assert engine.preview("ec2.Vpc", "v", {"cidrBlock": "10.0.0.0/16"})["arn"] is UNKNOWN
    with pytest.raises(AbortedError) as caught:
        engine.create("ec2.Vpc", "v", {"cidrBlock": "10.0.0.0/16"})
    assert str(caught.value) == "the AWS provider's settings are not known yet; this needs them"


def test_the_plugin_has_the_version_of_the_sdk(engine: Engine) -> None:
    info = engine.provider.GetPluginInfo(empty_pb2.Empty(), Context())
    assert info.version == "7.51.1"


def test_the_schema_names_every_type_and_nothing_that_is_missing(engine: Engine) -> None:
    text = engine.provider.GetSchema(provider_pb2.GetSchemaRequest(), Context()).schema
    schema = json.loads(text)
    assert (schema["name"], schema["version"]) == ("aws", "7.51.1")
    assert set(schema["resources"]) == set(ROWS)
    references = set(re.findall(r'"#/types/([^"]+)"', text))
    assert references <= set(schema["types"])
    subnet = schema["resources"]["aws:ec2/subnet:Subnet"]
    assert subnet["requiredInputs"] == ["vpcId"]
    assert subnet["inputProperties"]["cidrBlock"] == {"type": "string"}
    assert "ownerId" not in subnet["inputProperties"]


@pytest.mark.parametrize(
    ("kind", "news", "message"),
    [
        (
            "ec2.Subnet",
            {"vpcId": "vpc-0123456789abcdef0", "cidrBlock": "10.0.0.0/24"},
            (
                "CreateSubnet: api error InvalidVpcID.NotFound: "
                "The vpc ID 'vpc-0123456789abcdef0' does not exist"
            ),
        ),
        (
            "iam.RolePolicy",
            {"name": "p", "role": "nobody", "policy": "{}"},
            "PutRolePolicy: api error NoSuchEntity: Role nobody not found",
        ),
        (
            "s3.BucketVersioning",
            {"bucket": "nobodys", "versioningConfiguration": {"status": "Enabled"}},
            "PutBucketVersioning: api error NoSuchBucket: The specified bucket does not exist",
        ),
        (
            "ec2.SubnetCidrReservation",
            {
                "subnetId": "subnet-0123456789abcdef0",
                "cidrBlock": "10.0.0.0/28",
                "reservationType": "prefix",
            },
            (
                "CreateSubnetCidrReservation: api error InvalidSubnetID.NotFound: "
                "The subnet ID 'subnet-0123456789abcdef0' does not exist"
            ),
        ),
        (
            "route53.Zone",
            {"name": "a.org", "vpcs": [{"vpcId": "vpc-0123456789abcdef0"}]},
            (
                "CreateHostedZone: api error InvalidVPCId: The VPC vpc-0123456789abcdef0 in region "
                "us-east-1 that you provided does not exist."
            ),
        ),
        (
            "route53.Record",
            {"zoneId": "Z0", "name": "a", "type": "A", "records": ["10.0.0.1"], "ttl": 60},
            "GetHostedZone: api error NoSuchHostedZone: No hosted zone found with ID: Z0",
        ),
        (
            "acm.CertificateValidation",
            {"certificateArn": "arn:aws:acm:us-east-1:111122223333:certificate/none"},
            (
                "DescribeCertificate: api error ResourceNotFoundException: Could not find "
                "certificate arn:aws:acm:us-east-1:111122223333:certificate/none."
            ),
        ),
        (
            "autoscaling.Schedule",
            {
                "autoscalingGroupName": "eks-none",
                "scheduledActionName": "s",
                "recurrence": "0 1 * * *",
            },
            (
                "PutScheduledUpdateGroupAction: api error ValidationError: AutoScalingGroup name "
                "not found - eks-none"
            ),
        ),
        (
            "eks.Addon",
            {"clusterName": "none", "addonName": "vpc-cni"},
            "CreateAddon: api error ResourceNotFoundException: No cluster found for name: none.",
        ),
    ],
)
def test_a_wrong_reference_fails_in_awss_own_words(
    engine: Engine, kind: str, news: Values, message: str
) -> None:
    with pytest.raises(AbortedError) as caught:
        engine.create(kind, "wrong", news)
    assert str(caught.value) == message


def test_a_vpc_with_a_subnet_is_not_deleted(engine: Engine) -> None:
    session = engine.provider._session
    assert session is not None
    vpc = engine.create("ec2.Vpc", "full", {"cidrBlock": "10.8.0.0/16"})
    subnet = engine.create("ec2.Subnet", "in", {"vpcId": vpc.id, "cidrBlock": "10.8.0.0/24"})
    session.patience, before = 0, session.patience
    with pytest.raises(AbortedError) as caught:
        engine.delete(vpc)
    session.patience = before
    assert str(caught.value) == (
        f"DeleteVpc: api error DependencyViolation: The vpc '{vpc.id}' has dependencies and "
        "cannot be deleted."
    )
    engine.delete(subnet)
    engine.delete(vpc)


def test_a_reservation_of_addresses_lies_in_its_subnet_beside_the_others(engine: Engine) -> None:
    vpc = engine.create("ec2.Vpc", "cidr", {"cidrBlock": "10.6.0.0/16"})
    subnet = engine.create("ec2.Subnet", "cidr", {"vpcId": vpc.id, "cidrBlock": "10.6.0.0/24"})

    def reserve(block: str) -> Made:
        news = {"subnetId": subnet.id, "cidrBlock": block, "reservationType": "prefix"}
        return engine.create("ec2.SubnetCidrReservation", "cidr", news)

    made = [reserve("10.6.0.64/26"), reserve("10.6.0.128/25")]
    for block, message in (
        ("10.6.1.0/26", "Reservation CIDR should be within subnet CIDR block (10.6.0.0/24)"),
        (
            "10.6.0.96/28",
            "Reservation CIDR 10.6.0.96/28 has overlap with existing reserved CIDR block",
        ),
    ):
        with pytest.raises(AbortedError) as caught:
            reserve(block)
        assert str(caught.value) == (
            f"CreateSubnetCidrReservation: api error InvalidParameterValue: {message}"
        )
    for one in made:
        engine.delete(one)
    engine.delete(subnet)
    engine.delete(vpc)


def test_a_node_group_named_by_prefix_stands_beside_its_replacement(
    engine: Engine, world: World
) -> None:
    news = {
        "clusterName": world.cluster.id,
        "nodeGroupNamePrefix": "gpu-",
        "nodeRoleArn": world.role.state["arn"],
        "subnetIds": world.subnets[:1],
        "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 0},
        "capacityType": "SPOT",
        "instanceTypes": ["p5.48xlarge"],
        "amiType": "AL2023_x86_64_NVIDIA",
    }
    old = engine.create("eks.NodeGroup", "prefixed", news)
    other = {**news, "capacityType": "ON_DEMAND"}
    plan = engine.diff(old, other)
    assert (list(plan.replaces), plan.deleteBeforeReplace) == (["capacityType"], False)
    new = engine.create("eks.NodeGroup", "prefixed", other)
    names = {made.state["nodeGroupName"] for made in (old, new)}
    assert len(names) == 2
    assert all(name.startswith("gpu-") for name in names)
    groups = {made.state["resources"][0]["autoscalingGroups"][0]["name"] for made in (old, new)}
    assert len(groups) == 2
    engine.delete(old)
    assert engine.refresh(old) is None
    assert engine.refresh(new) is not None
    engine.delete(new)


def test_a_resource_that_exists_but_failed_later_keeps_its_id(engine: Engine) -> None:
    news = {
        "name": "half-made",
        "assumeRolePolicy": TRUST,
        "managedPolicyArns": ["arn:aws:iam::111122223333:policy/nobody"],
    }
    with pytest.raises(AbortedError) as caught:
        engine.create("iam.Role", "half", news)
    message = (
        "AttachRolePolicy: api error NoSuchEntity: Policy arn:aws:iam::111122223333:policy/nobody "
        "does not exist or is not attachable."
    )
    assert str(caught.value) == message
    failed = provider_pb2.ErrorResourceInitFailed()
    assert caught.value.details[0].Unpack(failed)
    assert (failed.id, list(failed.reasons)) == ("half-made", [message])


def test_drift_shows_in_the_inputs_of_a_refresh(engine: Engine) -> None:
    news = {"name": "drift", "assumeRolePolicy": TRUST, "description": "ours"}
    made = engine.create("iam.Role", "drift", news)
    session = engine.provider._session
    assert session is not None
    session.call("iam", "UpdateRole", {"RoleName": "drift", "Description": "theirs"})
    session.call("iam", "TagRole", {"RoleName": "drift", "Tags": [{"Key": "who", "Value": "x"}]})
    seen = engine.refresh(made)
    assert seen is not None
    assert seen.inputs["description"] == "theirs"
    assert seen.inputs["tags"] == {"who": "x"}
    assert set(engine.diff(seen, news).diffs) == {"description", "tags", "tagsAll"}
    mended = engine.refresh(engine.update(seen, news))
    assert mended is not None
    assert (mended.inputs["description"], mended.state["tags"]) == ("ours", {})


def test_an_api_that_is_down_is_named_with_the_way_out(
    environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    assert refusal({**environment, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, {}) == (
        "the AWS API simulator at http://127.0.0.1:9 does not answer; nothing more was changed. "
        "See `yard local status`, then run the command again"
    )


def test_throttling_is_sat_out_and_then_named(
    engine: Engine, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = f"{environment['AWS_ENDPOINT_URL']}/trainyard/faults"
    fault = {"kind": "throttle", "service": "iam", "probability": 1.0, "seconds": 30}
    headers = {"Content-Type": "application/json"}
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    fresh = configured(environment)
    ask = urllib.request.Request(  # noqa: S310 - the simulator of this test
        faults, json.dumps(fault).encode(), headers, method="POST"
    )
    with urllib.request.urlopen(ask):  # noqa: S310 - the simulator of this test
        pass
    try:
        with pytest.raises(AbortedError) as caught:
            fresh.create("iam.Role", "throttled", {"assumeRolePolicy": TRUST})
    finally:
        off = urllib.request.Request(faults, method="DELETE")  # noqa: S310 - as above
        with urllib.request.urlopen(off):  # noqa: S310 - as above
            pass
    assert re.fullmatch(
        rf"the AWS API simulator at {environment['AWS_ENDPOINT_URL']} answered CreateRole with "
        r"Throttling\w* \(.*\) 1 times; nothing more was changed. See `yard local status`, then "
        r"run the command again",
        str(caught.value),
    )
    made = engine.create("iam.Role", "throttled", {"assumeRolePolicy": TRUST})
    engine.delete(made)


def test_look_ups_answer_from_the_api(engine: Engine, world: World) -> None:
    caller = engine.invoke("aws:index/getCallerIdentity:getCallerIdentity")
    assert caller["accountId"] == ACCOUNT
    assert caller["arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/trainyard-deploy/embedded"
    assert engine.invoke("aws:index/getPartition:getPartition")["partition"] == "aws"
    region = engine.invoke("aws:index/getRegion:getRegion")
    assert (region["region"], region["description"]) == ("us-east-1", "US East (N. Virginia)")
    zones = engine.invoke(
        "aws:index/getAvailabilityZones:getAvailabilityZones",
        {"state": "available", "excludeNames": ["us-east-1e"]},
    )
    assert zones["names"] == [f"us-east-1{letter}" for letter in "abcdf"]
    assert zones["zoneIds"][0].startswith("use1-az")
    cluster = engine.invoke("aws:eks/getCluster:getCluster", {"name": world.cluster.id})
    assert cluster["endpoint"] == "https://127.0.0.1:6443"
    assert cluster["vpcConfig"]["vpcId"] == world.vpc.id


def test_a_look_up_that_is_not_there_is_refused(engine: Engine) -> None:
    with pytest.raises(AbortedError) as caught:
        engine.invoke("aws:ec2/getAmi:getAmi")
    assert str(caught.value) == (
        "the embedded target's stand-in has no look-up aws:ec2/getAmi:getAmi; it has "
        "aws:eks/getCluster:getCluster, aws:index/getAvailabilityZones:getAvailabilityZones, "
        "aws:index/getCallerIdentity:getCallerIdentity, aws:index/getPartition:getPartition, "
        "aws:index/getRegion:getRegion"
    )


def test_the_default_group_is_closed_when_adopted(engine: Engine) -> None:
    vpc = engine.create("ec2.Vpc", "closed", {"cidrBlock": "10.7.0.0/16"})
    group = engine.create("ec2.DefaultSecurityGroup", "closed", {"vpcId": vpc.id})
    assert group.id == vpc.state["defaultSecurityGroupId"]
    assert (group.state["ingress"], group.state["egress"]) == ([], [])
    engine.delete(group)
    engine.delete(vpc)
