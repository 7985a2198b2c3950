from typing import Any

import pytest

from rules import types
from rules.encryption import ENCRYPTED
from tests.policies.bags import GOOD
from tests.policies.support import UNKNOWN, analyze, messages

KMS = "kmsKeyId is not set; name a KMS key of the stack"
MASTER = "kmsMasterKeyId is not set; name a KMS key of the stack"
SWITCH = "encrypted is not true; set it"
IMAGES = "encryptionConfigurations[0].encryptionType is not 'KMS'; set it and name a kmsKey"
WITHOUT = {
    types.CLOUDTRAIL_TRAIL: [KMS],
    types.EBS_VOLUME: [KMS, SWITCH],
    types.ECR_REPOSITORY: [IMAGES],
    types.EFS_FILE_SYSTEM: [KMS, SWITCH],
    types.FSX_ONTAP: [KMS],
    types.FSX_OPEN_ZFS: [KMS],
    types.FSX_WINDOWS: [KMS],
    types.SECRETSMANAGER_SECRET: [KMS],
    types.SNS_TOPIC: [MASTER],
    types.SQS_QUEUE: [MASTER],
}


@pytest.mark.parametrize(("kind", "expected"), WITHOUT.items())
def test_what_is_kept_without_a_key_is_named(kind: str, expected: list[str]) -> None:
    violations = analyze(kind, {}, policies=[ENCRYPTED])
    assert messages(violations) == [f"it ({kind}): {text}" for text in expected]
    assert {violation.level for violation in violations} == {"MANDATORY"}


def test_each_governed_kind_is_in_the_table() -> None:
    assert {*WITHOUT, types.FSX_LUSTRE} == ENCRYPTED.kinds


@pytest.mark.parametrize("kind", sorted(ENCRYPTED.kinds))
def test_a_key_that_is_made_in_the_same_update_counts(kind: str) -> None:
    bag = {k: UNKNOWN if "KeyId" in k else value for k, value in GOOD[kind].items()}
    assert analyze(kind, bag, policies=[ENCRYPTED]) == []


@pytest.mark.parametrize(
    ("bag", "expected"),
    [
        ({}, []),
        ({"deploymentType": "SCRATCH_2"}, []),
        ({"deploymentType": "PERSISTENT_1"}, [KMS]),
        ({"deploymentType": "PERSISTENT_2"}, [KMS]),
        ({"deploymentType": UNKNOWN}, [KMS]),
    ],
)
def test_lustre_needs_a_key_where_it_takes_one(bag: dict[str, Any], expected: list[str]) -> None:
    kind = types.FSX_LUSTRE
    assert messages(analyze(kind, bag, policies=[ENCRYPTED])) == [
        f"it ({kind}): {text}" for text in expected
    ]


@pytest.mark.parametrize("switch", [False, UNKNOWN])
def test_encryption_that_is_not_surely_on_is_off(switch: object) -> None:
    bag = {**GOOD[types.EBS_VOLUME], "encrypted": switch}
    assert messages(analyze(types.EBS_VOLUME, bag, policies=[ENCRYPTED])) == [
        f"it ({types.EBS_VOLUME}): {SWITCH}"
    ]


@pytest.mark.parametrize("name", ["AES256", UNKNOWN])
def test_images_are_under_a_key_of_ours(name: str) -> None:
    bag = {"encryptionConfigurations": [{"encryptionType": name}]}
    assert messages(analyze(types.ECR_REPOSITORY, bag, policies=[ENCRYPTED])) == [
        f"it ({types.ECR_REPOSITORY}): {IMAGES}"
    ]
