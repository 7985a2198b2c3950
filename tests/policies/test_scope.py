import pytest

from rules.documents import parse
from rules.plain import to_plain
from rules.scope import Width, concrete, holds, width


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", Width.EVERYTHING),
        ("arn:*", Width.EVERYTHING),
        ("arn:aws:*", Width.EVERYTHING),
        ("arn:aws:s*:::data", Width.EVERYTHING),
        ("arn:aws:s3:::*", Width.KIND),
        ("arn:aws:s3:::*/*", Width.KIND),
        ("arn:aws:s3:::*/secret.txt", Width.KIND),
        ("arn:aws:s3:::one-bucket/*", Width.NAMED),
        ("arn:aws:s3:::trainyard-*", Width.NAMED),
        ("arn:aws:secretsmanager:us-east-1:111122223333:secret:*", Width.KIND),
        ("arn:aws:secretsmanager:*:*:secret:trainyard/*", Width.NAMED),
        ("arn:aws:logs:us-east-1:111122223333:log-group:*:log-stream:*", Width.KIND),
        ("arn:aws:logs:us-east-1:111122223333:log-group:/aws/eks/*", Width.NAMED),
        ("arn:aws:iam::111122223333:role/*", Width.KIND),
        ("arn:aws:sns:us-east-1:111122223333:*", Width.KIND),
        ("arn:aws:sns:us-east-1:111122223333:??*", Width.KIND),
        ("arn:aws:autoscaling:r:1:autoScalingGroup:*:autoScalingGroupName/eks-*", Width.NAMED),
        ("arn:aws:eks:us-east-1:111122223333:cluster/trainyard", Width.NAMED),
        ("arn:aws:iam::111122223333:user/${aws:username}", Width.NAMED),
    ],
)
def test_how_wide_a_resource_pattern_is(pattern: str, expected: Width) -> None:
    assert width(pattern) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("111122223333", True),
        ("1*", False),
        ("*", False),
        ("", False),
        ("arn:aws:iam::*:role/*", False),
        ("arn:aws:iam::*:role/deploy", True),
        ("arn:aws:eks:us-east-1:111122223333:cluster/*", True),
        ("arn:aws:s3:::*", False),
    ],
)
def test_whether_a_conditions_value_says_something(value: str, *, expected: bool) -> None:
    assert concrete(value) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"StringEquals": {"aws:SourceAccount": "1"}}, True),
        ({"stringequals": {"AWS:sourceaccount": ["1", "2"]}}, True),
        ({"ForAnyValue:StringEquals": {"aws:SourceAccount": "1"}}, True),
        ({"ForAllValues:StringEquals": {"aws:SourceAccount": "1"}}, False),
        ({"StringEqualsIfExists": {"aws:SourceAccount": "1"}}, False),
        ({"StringNotEquals": {"aws:SourceAccount": "1"}}, False),
        ({"StringEquals": {"aws:SourceAccount": ["1", "*"]}}, False),
        ({"StringEquals": {"aws:SourceAccount": []}}, False),
        ({"StringEquals": {"aws:SourceVpc": "vpc-1"}}, False),
        ({"Null": {"aws:SourceAccount": "false"}}, False),
    ],
)
def test_which_conditions_hold_a_caller(condition: object, *, expected: bool) -> None:
    raw = to_plain({"Statement": {"Effect": "Allow", "Condition": condition}})
    [statement] = parse("policy", raw).statements
    assert holds(statement, "aws:sourceaccount".__eq__) is expected
