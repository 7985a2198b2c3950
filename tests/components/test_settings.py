import contextlib
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.settings import (
    Cidr,
    InstanceName,
    Problem,
    Section,
    SettingsError,
    ZoneId,
    parse,
    rule,
)


class Inner(Section):
    """A part."""

    count: int
    """How many."""

    kind: InstanceName = "p5.48xlarge"
    """Which."""

    @rule("count")
    def _few(self) -> Iterator[Problem]:
        if self.count > 3:
            yield Problem("count", f"is {self.count}; the most is 3")


class Outer(Section):
    """A whole."""

    inner: Inner
    """One part."""

    parts: tuple[Inner, ...] = ()
    """Some parts."""

    address: Cidr = Cidr("10.0.0.0/8")
    """Where."""

    zone: ZoneId = "use1-az1"
    """Which zone."""

    open: bool = False
    """Whether."""

    @rule("inner", "zone")
    def _together(self) -> Iterator[Problem]:
        if self.inner.count == 3 and self.zone == "use1-az2":
            yield Problem("zone", "is use1-az2, where three are too many; use another")


def refused(raw: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        parse(Outer, raw, "file.yaml")
    heading, *problems = str(caught.value).splitlines()
    assert heading == f"file.yaml: {len(problems)} to fix, nothing was changed"
    return [problem.strip() for problem in problems]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({}, "inner: is missing; add it"),
        ({"inner": 1}, "inner: is the number 1; write a section with keys of its own"),
        ({"inner": None}, "inner: is empty; write a section with keys of its own"),
        (
            {"inner": {"count": "1"}},
            "inner.count: is the text '1'; write a whole number without quotes",
        ),
        (
            {"inner": {"count": 1.5}},
            "inner.count: is the number 1.5; write a whole number without quotes",
        ),
        (
            {"inner": {"count": True}},
            "inner.count: is true; write a whole number without quotes",
        ),
        ({"inner": {"count": 4}}, "inner.count: is 4; the most is 3"),
        ({"inner": {"count": 1}, "adress": 1}, "adress: is not a setting; did you mean address?"),
        (
            {"inner": {"count": 1, "colour": 1}},
            "inner.colour: is not a setting; known here: count, kind",
        ),
        ({"inner": {"count": 1}, "open": "yes"}, "open: is the text 'yes'; write true or false"),
        (
            {"inner": {"count": 1}, "parts": {"count": 1}},
            "parts: is a section; write a list",
        ),
        (
            {"inner": {"count": 1}, "address": "10.0.0.1/8"},
            (
                "address: is the text '10.0.0.1/8', which is no network; write its first address "
                "and length, as in 10.0.0.0/16"
            ),
        ),
        (
            {"inner": {"count": 1}, "zone": "us-east-1a"},
            (
                "zone: is the text 'us-east-1a', which is not the id of a zone (names differ "
                "between accounts); write it like use1-az4"
            ),
        ),
        (
            {"inner": {"count": 1, "kind": "p5.48xlarg"}},
            (
                "inner.kind: is the text 'p5.48xlarg', which the catalog does not know; nearest: "
                "p5.48xlarge, p5e.48xlarge, p5.4xlarge (or add it to "
                "components/catalog/instances.yaml)"
            ),
        ),
        (
            {"inner": {"count": 1}, "zone": {"secure": "v1:abc"}},
            "zone: holds a secret; settings hold none, so keep its value in Secrets Manager",
        ),
        ([1, 2], "(whole file): is a list of 2; write a section with keys of its own"),
    ],
)
def test_a_mistake_is_told_with_its_key_what_was_seen_and_the_way_out(
    raw: object, problem: str
) -> None:
    assert refused(raw) == [problem]


def test_all_problems_come_at_once_also_of_rules_beside_a_bad_field() -> None:
    raw = {
        "inner": {"count": 3},
        "parts": [{"count": 9, "kind": "p5.84xlarge"}, {"cont": 1}],
        "zone": "use1-az2",
        "open": 1,
    }
    assert refused(raw) == [
        "open: is the number 1; write true or false",
        "parts.0.count: is 9; the most is 3",
        (
            "parts.0.kind: is the text 'p5.84xlarge', which the catalog does not know; nearest: "
            "p5.4xlarge, p5.48xlarge, p5e.48xlarge (or add it to components/catalog/instances.yaml)"
        ),
        "parts.1.cont: is not a setting; did you mean count?",
        "parts.1.count: is missing; add it",
        "zone: is use1-az2, where three are too many; use another",
    ]


@pytest.mark.parametrize(
    "value",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN PRIVATE KEY-----",
        "ghp_0123456789abcdefghij",
        "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY12",
    ],
)
def test_what_looks_like_a_secret_is_never_repeated(value: str) -> None:
    problems = refused({"inner": {"count": 1}, "zone": value, "open": value, "token": value})
    assert value not in "\n".join(problems)
    assert problems[0] == (
        "open: is a value that is not shown here, because it looks like a secret; write true or "
        "false"
    )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["inner", "parts", "count", "kind", "zone", "x"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
def test_whatever_the_file_holds_it_is_settings_or_a_settings_error(raw: object) -> None:
    with contextlib.suppress(SettingsError):
        parse(Outer, raw, "file.yaml")


def test_settings_cannot_be_changed_later() -> None:
    outer = parse(Outer, json.loads('{"inner": {"count": 1}}'), "file.yaml")
    with pytest.raises(ValueError, match="frozen"):
        outer.open = True  # pyright: ignore[reportAttributeAccessIssue] - refused at run time
