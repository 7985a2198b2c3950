"""What a preview and a diff say."""

from __future__ import annotations

import json

import pytest
from pulumi.runtime.proto import provider_pb2

from scripts.local.plugins.shared.wire import UNKNOWN, Secret
from tests.local.plugins.aws.support import Engine, Made, Values, token_of

Kind = provider_pb2.PropertyDiff


def remembered(engine: Engine, kind: str, news: Values, **state: object) -> Made:
    """Remember a resource as if it had been created with these inputs."""
    inputs = engine.inputs(kind, "web", news)
    return Made(kind, "web", "id-1", inputs, {**inputs, **state}, engine.urn(kind, "web"))


def found(engine: Engine, made: Made, news: Values) -> dict[str, str]:
    return {
        path: Kind.Kind.Name(it.kind) for path, it in engine.diff(made, news).detailedDiff.items()
    }


NODE_GROUP: Values = {
    "clusterName": "c",
    "nodeGroupName": "gpu",
    "nodeRoleArn": "arn:aws:iam::111122223333:role/r",
    "subnetIds": ["subnet-1", "subnet-2"],
    "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 1},
    "launchTemplate": {"id": "lt-1", "version": "1"},
    "labels": {"trainyard.dev/pool": "gpu"},
}


@pytest.mark.parametrize(
    ("kind", "old", "new", "differences", "delete_first"),
    [
        (
            "ec2.Subnet",
            {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"},
            {"cidrBlock": "10.0.1.0/24", "mapPublicIpOnLaunch": True},
            {"cidrBlock": "UPDATE_REPLACE", "mapPublicIpOnLaunch": "UPDATE"},
            False,
        ),
        (
            "eks.NodeGroup",
            NODE_GROUP,
            {"scalingConfig": {"minSize": 1, "maxSize": 4, "desiredSize": 1}},
            {"scalingConfig.maxSize": "UPDATE"},
            False,
        ),
        (
            "eks.NodeGroup",
            NODE_GROUP,
            {"launchTemplate": {"id": "lt-1", "version": "2"}, "labels": {"a.b/c": "d"}},
            {
                "launchTemplate.version": "UPDATE",
                'labels["trainyard.dev/pool"]': "DELETE",
                'labels["a.b/c"]': "ADD",
            },
            False,
        ),
        (
            "eks.NodeGroup",
            NODE_GROUP,
            {"launchTemplate": {"id": "lt-2", "version": "1"}},
            {"launchTemplate.id": "UPDATE_REPLACE"},
            True,
        ),
        ("eks.NodeGroup", NODE_GROUP, {"subnetIds": ["subnet-2", "subnet-1"]}, {}, False),
        (
            "eks.NodeGroup",
            NODE_GROUP,
            {"subnetIds": ["subnet-2", "subnet-3"]},
            {"subnetIds[0]": "DELETE_REPLACE", "subnetIds[1]": "ADD_REPLACE"},
            True,
        ),
        (
            "eks.NodeGroup",
            NODE_GROUP,
            {"instanceTypes": ["p5.48xlarge"]},
            {"instanceTypes": "ADD_REPLACE"},
            True,
        ),
        (
            "eks.NodeGroup",
            NODE_GROUP,
            {"nodeGroupName": "gpu-b", "amiType": "CUSTOM", "capacityType": "SPOT"},
            {
                "nodeGroupName": "UPDATE_REPLACE",
                "amiType": "ADD_REPLACE",
                "capacityType": "ADD_REPLACE",
            },
            False,
        ),
        (
            "eks.NodeGroup",
            {**NODE_GROUP, "nodeGroupName": None, "nodeGroupNamePrefix": "gpu-"},
            {"nodeGroupName": None, "subnetIds": ["subnet-3"]},
            {"subnetIds[0]": "UPDATE_REPLACE", "subnetIds[1]": "DELETE_REPLACE"},
            False,
        ),
        (
            "eks.NodeGroup",
            NODE_GROUP,
            {
                "updateConfig": {"maxUnavailable": 2, "updateStrategy": "MINIMAL"},
                "nodeRepairConfig": {"enabled": True},
            },
            {"updateConfig": "ADD", "nodeRepairConfig": "ADD"},
            False,
        ),
        (
            "eks.NodeGroup",
            {**NODE_GROUP, "updateConfig": {"maxUnavailable": 2, "updateStrategy": "MINIMAL"}},
            {"updateConfig": {"maxUnavailable": 2}},
            {},
            False,
        ),
        (
            "autoscaling.Schedule",
            {"autoscalingGroupName": "a", "scheduledActionName": "s", "recurrence": "0 1 * * *"},
            {"autoscalingGroupName": "b"},
            {"autoscalingGroupName": "UPDATE_REPLACE"},
            False,
        ),
        (
            "ec2.SubnetCidrReservation",
            {"subnetId": "s", "cidrBlock": "10.0.0.0/25", "reservationType": "prefix"},
            {"reservationType": "explicit", "description": "pods"},
            {"description": "ADD_REPLACE", "reservationType": "UPDATE_REPLACE"},
            False,
        ),
        (
            "route53.Record",
            {"zoneId": "z", "name": "a", "type": "A", "records": ["10.0.0.1"], "ttl": 60},
            {"type": "CNAME", "records": ["b.example.org"], "ttl": 30},
            {"records[0]": "UPDATE", "ttl": "UPDATE", "type": "UPDATE"},
            False,
        ),
        (
            "route53.Zone",
            {"name": "example.org", "vpcs": [{"vpcId": "vpc-1"}]},
            {"vpcs": [{"vpcId": "vpc-2"}]},
            {"vpcs[0].vpcId": "UPDATE"},
            False,
        ),
        (
            "route53.Zone",
            {"name": "example.org", "vpcs": [{"vpcId": "vpc-1"}]},
            {"vpcs": []},
            {"vpcs[0]": "DELETE_REPLACE"},
            True,
        ),
        (
            "acm.Certificate",
            {"domainName": "a.org", "validationMethod": "DNS", "options": {"export": "ENABLED"}},
            {"domainName": "b.org", "options": {"export": "DISABLED"}},
            {"domainName": "UPDATE_REPLACE", "options.export": "UPDATE_REPLACE"},
            False,
        ),
        (
            "eks.Cluster",
            {
                "name": "c",
                "roleArn": "r",
                "vpcConfig": {"subnetIds": ["s-1"]},
                "encryptionConfig": {"provider": {"keyArn": "k"}, "resources": ["secrets"]},
            },
            {"encryptionConfig": {"provider": {"keyArn": "l"}, "resources": ["secrets"]}},
            {"encryptionConfig.provider.keyArn": "UPDATE_REPLACE"},
            True,
        ),
        (
            "fsx.LustreFileSystem",
            {"subnetIds": "s", "storageCapacity": 2400},
            {"storageCapacity": 4800},
            {"storageCapacity": "UPDATE"},
            False,
        ),
        (
            "fsx.LustreFileSystem",
            {"subnetIds": "s", "storageCapacity": 2400},
            {"storageCapacity": 1200},
            {"storageCapacity": "UPDATE_REPLACE"},
            False,
        ),
        (
            "vpc.SecurityGroupIngressRule",
            {"securityGroupId": "s", "ipProtocol": "-1", "cidrIpv4": "10.0.0.0/8"},
            {"cidrIpv4": None, "referencedSecurityGroupId": "s"},
            {"cidrIpv4": "DELETE_REPLACE", "referencedSecurityGroupId": "ADD_REPLACE"},
            False,
        ),
        (
            "ecr.LifecyclePolicy",
            {"repository": "r", "policy": '{"rules": []}'},
            {"policy": '{"rules": [{}]}'},
            {"policy": "UPDATE_REPLACE"},
            True,
        ),
        (
            "ec2.LaunchTemplate",
            {"name": "t", "networkInterfaces": [{"networkCardIndex": 0}, {"networkCardIndex": 1}]},
            {"networkInterfaces": [{"networkCardIndex": 1}, {"networkCardIndex": 0}]},
            {
                "networkInterfaces[0].networkCardIndex": "UPDATE",
                "networkInterfaces[1].networkCardIndex": "UPDATE",
            },
            False,
        ),
        ("kms.Key", {"description": "a"}, {"description": None}, {}, False),
        (
            "iam.Role",
            {"assumeRolePolicy": "{}", "description": "a"},
            {"description": None},
            {"description": "DELETE"},
            False,
        ),
        (
            "ec2.Subnet",
            {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"},
            {"vpcId": UNKNOWN},
            {"vpcId": "UPDATE_REPLACE"},
            False,
        ),
        (
            "ec2.Vpc",
            {"cidrBlock": "10.0.0.0/16"},
            {"region": "us-west-2"},
            {"region": "UPDATE_REPLACE"},
            False,
        ),
    ],
)
def test_a_change_is_an_update_or_a_replacement(
    engine: Engine,
    kind: str,
    old: Values,
    new: Values,
    differences: dict[str, str],
    delete_first: bool,  # noqa: FBT001 - a column of the table
) -> None:
    made = remembered(engine, kind, {k: v for k, v in old.items() if v is not None})
    news = {name: value for name, value in {**old, **new}.items() if value is not None}
    response = engine.diff(made, news)
    assert found(engine, made, news) == differences
    assert response.deleteBeforeReplace is delete_first
    assert bool(response.replaces) == any(how.endswith("REPLACE") for how in differences.values())


def test_a_policy_is_compared_by_what_it_says(engine: Engine) -> None:
    def document(action: object, *, order: bool) -> str:
        statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
        items = statement.items() if order else reversed(statement.items())
        return json.dumps(
            {"Version": "2012-10-17", "Statement": [dict(items)]}, indent=order or None
        )

    policy = document(["s3:GetObject", "s3:ListBucket"], order=True)
    made = remembered(engine, "iam.RolePolicy", {"role": "r", "policy": policy})
    same = document(["s3:ListBucket", "s3:GetObject"], order=False)
    assert found(engine, made, {"role": "r", "policy": same}) == {}
    other = document("s3:GetObject", order=True)
    assert found(engine, made, {"role": "r", "policy": other}) == {"policy": "UPDATE"}


def test_changed_default_tags_change_every_tagged_resource(engine: Engine) -> None:
    made = remembered(engine, "ec2.Vpc", {"cidrBlock": "10.0.0.0/16"})
    made.inputs["tagsAll"] = {"project": "other"}
    assert found(engine, made, {"cidrBlock": "10.0.0.0/16"}) == {
        "tagsAll.project": "UPDATE",
        "tagsAll.stack": "ADD",
    }


def test_a_preview_knows_what_the_program_says_and_no_more(engine: Engine) -> None:
    news = {"name": "c", "roleArn": "r", "vpcConfig": {"subnetIds": [UNKNOWN]}}
    state = engine.preview("eks.Cluster", "c", news)
    assert state["name"] == "c"
    assert state["region"] == "us-east-1"
    assert state["tagsAll"] == {"project": "trainyard", "stack": "test"}
    assert state["vpcConfig"] == {
        "subnetIds": [UNKNOWN],
        "endpointPrivateAccess": False,
        "endpointPublicAccess": True,
        "clusterSecurityGroupId": UNKNOWN,
        "controlPlaneEgressMode": UNKNOWN,
        "publicAccessCidrs": UNKNOWN,
        "vpcId": UNKNOWN,
    }
    for name in ("arn", "endpoint", "certificateAuthority", "version"):
        assert state[name] is UNKNOWN
    assert "encryptionConfig" not in state


def test_a_preview_of_a_template_update_does_not_know_the_next_version(engine: Engine) -> None:
    news = {"name": "t", "instanceType": "p5.48xlarge"}
    made = remembered(engine, "ec2.LaunchTemplate", news, latestVersion=3, arn="arn:x")
    changed = engine.update(made, {**news, "instanceType": "p4d.24xlarge"}, preview=True)
    assert changed.state["latestVersion"] is UNKNOWN
    assert changed.state["arn"] == "arn:x"
    tagged = engine.update(made, {**news, "tags": {"a": "b"}}, preview=True)
    assert tagged.state["latestVersion"] == 3


def test_a_secret_stays_secret_in_every_output(engine: Engine) -> None:
    news = {"description": Secret("canary"), "tags": {"owner": Secret("canary")}}
    state = engine.create("kms.Key", "hidden", news).state
    hidden = {name for name, value in state.items() if isinstance(value, Secret)}
    assert hidden == {"description", "tags", "tagsAll"}
    assert "canary" not in str(state)
    planned = engine.preview("kms.Key", "hidden", news)
    assert "canary" not in str(planned)


def test_every_type_can_be_previewed_without_the_api(engine: Engine) -> None:
    state = engine.preview("iam.Role", "r", {"assumeRolePolicy": UNKNOWN})
    assert state["assumeRolePolicy"] is UNKNOWN
    assert token_of("iam.Role") == "aws:iam/role:Role"


def test_a_preview_of_a_certificate_does_not_know_its_records(engine: Engine) -> None:
    news = {"domainName": "chat.example.org", "validationMethod": "DNS"}
    state = engine.preview("acm.Certificate", "c", news)
    for name in ("arn", "domainValidationOptions", "status", "subjectAlternativeNames"):
        assert state[name] is UNKNOWN
    zone = engine.preview("route53.Zone", "z", {"name": "example.org"})
    assert zone["nameServers"] is UNKNOWN
    assert zone["comment"] == "Managed by Pulumi"
    record = {
        "zoneId": UNKNOWN,
        "name": UNKNOWN,
        "type": UNKNOWN,
        "records": [UNKNOWN],
        "ttl": 60,
    }
    assert engine.preview("route53.Record", "r", record)["fqdn"] is UNKNOWN


def test_a_preview_of_a_node_group_does_not_know_its_auto_scaling_group(engine: Engine) -> None:
    state = engine.preview("eks.NodeGroup", "g", NODE_GROUP)
    assert state["resources"] is UNKNOWN
    assert state["nodeGroupName"] == "gpu"
    schedule = {
        "autoscalingGroupName": UNKNOWN,
        "scheduledActionName": "drain",
        "startTime": "2027-01-01T00:00:00Z",
        "desiredCapacity": 0,
    }
    state = engine.preview("autoscaling.Schedule", "s", schedule)
    assert state["arn"] is UNKNOWN
    assert state["autoscalingGroupName"] is UNKNOWN
