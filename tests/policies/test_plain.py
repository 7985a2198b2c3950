import pulumi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi_policy.proxy import unknown_checking_proxy

from rules.plain import (
    UNKNOWN,
    has_unknown,
    is_on,
    is_set,
    many,
    section,
    sections,
    text,
    texts,
    to_plain,
)
from tests.policies.support import UNKNOWN as SENTINEL

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@settings(max_examples=50)
@given(JSON)
def test_plain_values_come_out_of_proxies_as_they_went_in(value: object) -> None:
    proxied = unknown_checking_proxy({"value": value})
    assert to_plain(proxied) == {"value": value}
    assert to_plain(value) == value


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (443.0, 443),
        (0.5, 0.5),
        (SENTINEL, UNKNOWN),
        (f"arn:aws:s3:::{SENTINEL}/*", UNKNOWN),
        (UNKNOWN, UNKNOWN),
        ({"a": {"b": [1.0, SENTINEL]}, "c": "d"}, {"a": {"b": [1, UNKNOWN]}, "c": "d"}),
        ([SENTINEL, "x"], [UNKNOWN, "x"]),
        ({"asset": pulumi.StringAsset("x")}, {"asset": None}),
    ],
)
def test_what_only_looks_plain_becomes_plain(given_: object, expected: object) -> None:
    assert to_plain(given_) == expected
    assert to_plain(unknown_checking_proxy({"value": given_})) == {"value": expected}


def test_readers_take_one_or_many_and_leave_out_what_does_not_fit() -> None:
    assert [many(None), many("a"), many(["a"])] == [[], ["a"], ["a"]]
    assert [section([{"a": 1}]), section({"a": 1}), section(UNKNOWN)] == [{"a": 1}, {"a": 1}, {}]
    assert sections([{"a": 1}, UNKNOWN, "x"]) == [{"a": 1}]
    assert texts(["a", UNKNOWN, 1]) == ["a"]
    assert [text("a"), text(UNKNOWN), text(None)] == ["a", "", ""]
    assert [is_on(True), is_on("True"), is_on("false"), is_on(UNKNOWN)] == [
        True,
        True,
        False,
        False,
    ]
    assert [is_set(UNKNOWN), is_set("x"), is_set(""), is_set([])] == [True, True, False, False]
    assert [has_unknown({"a": [UNKNOWN]}), has_unknown({"a": ["x"]})] == [True, False]
