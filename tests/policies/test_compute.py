from typing import Any

import pytest

from rules import types
from rules.compute import NODES, RESERVED
from tests.policies.bags import GOOD, TEMPLATE
from tests.policies.support import UNKNOWN, analyze, messages

LT = types.EC2_LAUNCH_TEMPLATE
TOKENS = "metadataOptions.httpTokens is not 'required'; set it, so that only IMDSv2 answers"
HOPS = (
    "metadataOptions.httpPutResponseHopLimit lets pods reach the node's role; "
    "set it to 1 and give pods a role through Pod Identity"
)
NO_DISK = (
    "blockDeviceMappings declares no volume, so the root volume is as the image left it; "
    "declare it with ebs.encrypted"
)
PUBLIC = (
    "associatePublicIpAddress asks for a public address; set it to false and "
    "let traffic leave through a NAT gateway or endpoints"
)
KEY = "keyName opens SSH to the nodes; leave it out and use Session Manager"
CARDS = [{"interfaceType": "efa", "securityGroups": ["sg-1"]}]


def twice(prop: str) -> str:
    return (
        f"{prop} stands beside networkInterfaces, which EC2 refuses when a node starts; "
        "put the groups into each interface's securityGroups"
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"metadataOptions": None}, [TOKENS]),
        ({"metadataOptions": {"httpTokens": "optional"}}, [TOKENS]),
        ({"metadataOptions": {"httpTokens": UNKNOWN}}, [TOKENS]),
        ({"metadataOptions": {"httpEndpoint": "disabled"}}, []),
        ({"metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 2}}, [HOPS]),
        ({"blockDeviceMappings": None}, [NO_DISK]),
        ({"blockDeviceMappings": [{"noDevice": "true"}]}, [NO_DISK]),
        (
            {"blockDeviceMappings": [{"ebs": {"encrypted": "true"}}, {"ebs": {"volumeSize": 9}}]},
            ["blockDeviceMappings[1].ebs.encrypted is not true; set it"],
        ),
        (
            {"blockDeviceMappings": [{"ebs": {"encrypted": UNKNOWN}}]},
            ["blockDeviceMappings[0].ebs.encrypted is not true; set it"],
        ),
        (
            {"networkInterfaces": [{"associatePublicIpAddress": "true"}]},
            [f"networkInterfaces[0].{PUBLIC}"],
        ),
        (
            {"networkInterfaces": [{"associatePublicIpAddress": UNKNOWN}]},
            [f"networkInterfaces[0].{PUBLIC}"],
        ),
        ({"networkInterfaces": [{"associatePublicIpAddress": "false"}]}, []),
        ({"vpcSecurityGroupIds": ["sg-1"]}, [twice("vpcSecurityGroupIds")]),
        ({"vpcSecurityGroupIds": UNKNOWN}, [twice("vpcSecurityGroupIds")]),
        ({"securityGroupNames": ["a"]}, [twice("securityGroupNames")]),
        ({"vpcSecurityGroupIds": ["sg-1"], "networkInterfaces": None}, []),
        ({"vpcSecurityGroupIds": [], "networkInterfaces": CARDS}, []),
        ({"keyName": "mine"}, [KEY]),
    ],
)
def test_what_a_hardened_launch_template_needs(change: dict[str, Any], expected: list[str]) -> None:
    bag = {key: value for key, value in {**TEMPLATE, **change}.items() if value is not None}
    violations = analyze(LT, bag, policies=[NODES])
    assert messages(violations) == [f"it ({LT}): {text}" for text in expected]
    assert {violation.level for violation in violations} <= {"MANDATORY"}


@pytest.mark.parametrize(
    "kind",
    [types.EC2_INSTANCE, types.EC2_LAUNCH_CONFIGURATION, types.EC2_SPOT_INSTANCE_REQUEST],
)
def test_single_machines_are_held_to_the_same(kind: str) -> None:
    bag = {
        "associatePublicIpAddress": True,
        "keyName": "mine",
        "ebsBlockDevices": [{"encrypted": True}, {"encrypted": False}],
    }
    assert messages(analyze(kind, bag, policies=[NODES])) == [
        f"it ({kind}): {text}"
        for text in [
            TOKENS,
            "rootBlockDevice.encrypted is not true; set it",
            "ebsBlockDevices[1].encrypted is not true; set it",
            PUBLIC,
            KEY,
        ]
    ]
    assert analyze(kind, GOOD[kind], policies=[NODES]) == []


@pytest.mark.parametrize("access", [{"ec2SshKey": "mine"}, UNKNOWN])
def test_a_node_group_has_no_remote_access(access: object) -> None:
    kind = types.EKS_NODE_GROUP
    assert messages(analyze(kind, {"remoteAccess": access}, policies=[NODES])) == [
        f"it ({kind}): remoteAccess opens SSH to the nodes; leave it out and use Session Manager"
    ]


NO_TARGET = (
    "capacityReservationSpecification.capacityReservationTarget names no reservation, so instances "
    "are bought on demand; give capacityReservationId or capacityReservationResourceGroupArn"
)
ONLY = {"capacityReservationPreference": "capacity-reservations-only"}


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        (None, []),
        (ONLY, []),
        ({"capacityReservationTarget": {"capacityReservationId": "cr-01234567"}}, []),
        ({"capacityReservationTarget": {"capacityReservationId": UNKNOWN}}, []),
        ({"capacityReservationTarget": {"capacityReservationResourceGroupArn": "arn:aws:x"}}, []),
        ({"capacityReservationTarget": {}}, [NO_TARGET]),
        ({"capacityReservationTarget": {"capacityReservationId": ""}}, [NO_TARGET]),
        ({"capacityReservationTarget": None}, [NO_TARGET]),
    ],
)
def test_a_target_of_reserved_capacity_names_it(
    specification: dict[str, Any] | None, expected: list[str]
) -> None:
    change = {} if specification is None else {"capacityReservationSpecification": specification}
    violations = analyze(LT, {**TEMPLATE, **change}, policies=[RESERVED])
    assert messages(violations) == [f"it ({LT}): {text}" for text in expected]
