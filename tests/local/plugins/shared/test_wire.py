from __future__ import annotations

import pytest
from google.protobuf import struct_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.local.plugins.shared import wire
from scripts.local.plugins.shared.wire import UNKNOWN, Archive, Asset, Secret

HASHES = st.binary(min_size=32, max_size=32).map(bytes.hex)
ASSETS = st.builds(Asset, hash=HASHES, path=st.text(min_size=1))
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.just(UNKNOWN)
    | ASSETS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.builds(Secret, inner)
        | st.builds(Archive, hash=HASHES, assets=st.dictionaries(st.text(), ASSETS))
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)  # other work on the machine must not fail it
@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_every_value_survives_the_way_to_the_engine_and_back(props: wire.Props) -> None:
    sent = wire.to_struct(props).SerializeToString()
    received = struct_pb2.Struct.FromString(sent)
    assert wire.from_struct(received) == props


@pytest.mark.parametrize(
    "sentinel",
    [
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    ],
)
def test_an_unknown_of_any_type_is_unknown(sentinel: str) -> None:
    struct = struct_pb2.Struct()
    struct.update({"value": sentinel})
    assert wire.from_struct(struct) == {"value": UNKNOWN}


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"value": "v"}, "v"),
        ({"value": "v", "secret": True}, Secret("v")),
        ({}, UNKNOWN),
        ({"secret": True}, Secret(UNKNOWN)),
        ({"value": ["v"], "dependencies": ["urn"]}, ["v"]),
    ],
)
def test_an_output_is_its_value(fields: dict[str, object], value: wire.Value) -> None:
    struct = struct_pb2.Struct()
    struct.update({"o": {wire.SIGNATURE: "d0e6a833031e9bbcd3f4e8bde6ca49a4"} | fields})
    assert wire.from_struct(struct) == {"o": value}


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"urn": "urn", "id": "id"}, "id"),
        ({"urn": "urn"}, "urn"),
        ({"urn": "urn", "id": ""}, "urn"),
    ],
)
def test_a_reference_to_a_resource_is_its_id_or_its_urn(
    fields: dict[str, object], value: str
) -> None:
    struct = struct_pb2.Struct()
    struct.update({"r": {wire.SIGNATURE: "5cf8f73096256a8f31e491e813e4eb8e"} | fields})
    assert wire.from_struct(struct) == {"r": value}


def test_a_signature_that_nobody_knows_is_refused() -> None:
    struct = struct_pb2.Struct()
    struct.update({"x": {wire.SIGNATURE: "beef"}})
    with pytest.raises(ValueError, match="signature") as caught:
        wire.from_struct(struct)
    assert str(caught.value) == ("a map has the signature 'beef', which this plugin does not know")


def test_a_whole_number_becomes_an_int() -> None:
    struct = struct_pb2.Struct()
    struct.update({"n": 3.0, "f": 3.5})
    assert repr(wire.from_struct(struct)["n"]) == "3"
    assert repr(wire.from_struct(struct)["f"]) == "3.5"


def test_a_secret_does_not_show_its_value() -> None:
    assert repr([Secret("canary")]) == "[Secret()]"


def test_plain_takes_the_wrappers_off_at_every_depth() -> None:
    value: wire.Value = Secret({"a": [Secret(1), {"b": Secret(UNKNOWN)}]})
    assert wire.plain(value) == {"a": [1, {"b": UNKNOWN}]}


@pytest.mark.parametrize(
    ("value", "unknown", "secret"),
    [
        ("v", False, False),
        ([{"a": UNKNOWN}], True, False),
        ({"a": [Secret("v")]}, False, True),
        (Secret([UNKNOWN]), True, True),
    ],
)
def test_unknowns_and_secrets_are_found_at_every_depth(
    value: wire.Value, *, unknown: bool, secret: bool
) -> None:
    assert (wire.has_unknown(value), wire.has_secret(value)) == (unknown, secret)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Asset(hash="a", path="x"), Asset(hash="a"), True),
        (Asset(hash="a", path="x"), Asset(hash="b", path="x"), False),
        (Asset(text="t"), Asset(text="t"), True),
        (Asset(text="t"), Asset(text="u"), False),
        (Archive(hash="a"), Archive(hash="a", path="p"), True),
        (Archive(assets={"n": Asset(hash="a")}), Archive(assets={"n": Asset(hash="b")}), False),
        (Asset(hash="a"), Archive(hash="a"), False),
    ],
)
def test_files_are_the_same_when_their_hashes_are(
    one: wire.Value, other: wire.Value, *, same: bool
) -> None:
    assert (one == other) is same
