from dataclasses import replace

import pytest

from rules import types
from rules.buckets import BUCKETS as RULE
from tests.policies.bags import BUCKETS, CLOSED, SSE
from tests.policies.support import UNKNOWN, Declared, analyze_stack, messages

BUCKET, ENCRYPTION, BLOCK = BUCKETS
PLAIN = (
    f"data ({types.S3_BUCKET}): has no server-side encryption with 'aws:kms'; "
    "add a BucketServerSideEncryptionConfiguration with a KMS key for it"
)
OPEN = f"data ({types.S3_BUCKET}): has no public access block; add a BucketPublicAccessBlock for it"


def half_open(flags: str) -> str:
    return f"block ({types.S3_PUBLIC_ACCESS_BLOCK}): leaves {flags} off; set all four to true"


def rule(algorithm: str) -> dict[str, object]:
    default = {"applyServerSideEncryptionByDefault": {"sseAlgorithm": algorithm}}
    return {"rules": [{"bucketKeyEnabled": True, **default}]}


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ([BUCKET], [PLAIN, OPEN]),
        ([BUCKET, BLOCK], [PLAIN]),
        ([BUCKET, ENCRYPTION], [OPEN]),
        ([BUCKET, BLOCK, replace(ENCRYPTION, props=rule("AES256"))], [PLAIN]),
        ([BUCKET, BLOCK, replace(ENCRYPTION, props=rule(UNKNOWN))], [PLAIN]),
        ([BUCKET, BLOCK, replace(ENCRYPTION, props=rule("aws:kms:dsse"))], []),
        ([BUCKET, BLOCK, replace(ENCRYPTION, kind=types.S3_ENCRYPTION_V2)], []),
        ([BUCKET, BLOCK, replace(ENCRYPTION, links={})], [PLAIN]),
        (
            [BUCKET, ENCRYPTION, replace(BLOCK, props={**CLOSED, "blockPublicAcls": False})],
            [half_open("blockPublicAcls")],
        ),
        (
            [BUCKET, ENCRYPTION, replace(BLOCK, props={"blockPublicAcls": UNKNOWN})],
            [
                half_open(
                    "blockPublicAcls, blockPublicPolicy, ignorePublicAcls, restrictPublicBuckets"
                )
            ],
        ),
    ],
)
def test_what_a_guarded_bucket_has_beside_it(stack: list[Declared], expected: list[str]) -> None:
    violations = analyze_stack(stack, policies=[RULE])
    assert messages(violations) == expected
    assert {violation.level for violation in violations} <= {"MANDATORY"}


@pytest.mark.parametrize("kind", [types.S3_BUCKET, types.S3_BUCKET_V2])
@pytest.mark.parametrize("name", ["trainyard-data", "b-123"])
def test_what_belongs_to_a_bucket_may_say_so_by_its_name(kind: str, name: str) -> None:
    bucket = Declared(kind, "data", {"bucket": "trainyard-data", "id": "b-123"})
    parts = [
        replace(part, props={**part.props, "bucket": name}, links={})
        for part in (ENCRYPTION, BLOCK)
    ]
    assert analyze_stack([bucket, *parts], policies=[RULE]) == []
    assert len(analyze_stack([replace(bucket, props={}), *parts], policies=[RULE])) == 2


@pytest.mark.parametrize(
    "legacy",
    [
        {"serverSideEncryptionConfiguration": {"rule": SSE["rules"][0]}},
        {"serverSideEncryptionConfigurations": [SSE]},
    ],
)
def test_encryption_inside_the_bucket_counts(legacy: dict[str, object]) -> None:
    bucket = replace(BUCKET, props={**BUCKET.props, **legacy})
    assert analyze_stack([bucket, BLOCK], policies=[RULE]) == []


def test_each_bucket_needs_its_own() -> None:
    other = Declared(types.S3_BUCKET, "other", {"bucket": "trainyard-other"})
    assert len(analyze_stack([*BUCKETS, other], policies=[RULE])) == 2
