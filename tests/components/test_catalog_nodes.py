import pytest

from components.catalog import instance_type, instance_types
from components.catalog.nodes import image_type, image_types, repairs


@pytest.mark.parametrize(
    ("name", "kubernetes", "expected"),
    [
        ("p5.48xlarge", "1.35", "AL2023_x86_64_NVIDIA"),
        ("p6e-gb200.36xlarge", "1.35", "AL2023_ARM_64_NVIDIA"),
        ("p6e-gb200.36xlarge", "1.30", None),
        ("trn2.48xlarge", "1.35", "AL2023_x86_64_NEURON"),
        ("m7i.xlarge", "1.35", "AL2023_x86_64_STANDARD"),
        ("m7g.xlarge", "1.35", "AL2023_ARM_64_STANDARD"),
    ],
)
def test_the_image_type_follows_accelerator_and_architecture(
    name: str, kubernetes: str, expected: str | None
) -> None:
    found = image_type(instance_type(name), kubernetes)
    assert (found.type if found else None) == expected


@pytest.mark.parametrize("name", sorted(instance_types()))
def test_no_accelerator_gets_an_image_without_its_driver(name: str) -> None:
    kind = instance_type(name)
    found = image_type(kind, "1.35")
    assert found is not None
    assert found.architecture == kind.architecture
    assert found.vendor == (kind.accelerator.vendor if kind.accelerator else None)


def test_every_image_type_says_where_it_was_read() -> None:
    assert all(each.source and each.date and each.confidence for each in image_types())


def test_a_reason_that_rests_on_dcgm_alone_replaces_no_node() -> None:
    reasons = repairs().reasons["nvidia"]
    assert {reason for reason, action in reasons.items() if action == "NoAction"} == {
        "DCGMDiagnosticFailure",
        "DCGMError",
        "NvidiaDeviceCountMismatch",
    }
    assert all(
        action in {"NoAction", "Reboot", "Replace"}
        for vendor in repairs().reasons.values()
        for action in vendor.values()
    )
