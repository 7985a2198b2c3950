import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES

from components.catalog import instance_type
from scripts.catalog.compare import Checked, check
from scripts.catalog.ec2 import Answer
from scripts.verdicts import Verdict

P5EN = instance_type("p5en.48xlarge")
ZONES = P5EN.offered_in["us-east-2"]

Change = Callable[[dict[str, Any]], object]


def checked(change: Change | None = None, zones: tuple[str, ...] = ZONES) -> Checked:
    """Check p5en.48xlarge against what EC2 says after ``change``."""
    info = copy.deepcopy(INSTANCE_TYPES[P5EN.name])
    if change:
        change(info)
    return check(P5EN, Answer("us-east-2", {P5EN.name: info}, {P5EN.name: zones}))


def network(**facts: object) -> Change:
    return lambda info: info["NetworkInfo"].update(facts)


def second_card(**facts: object) -> Change:
    return lambda info: info["NetworkInfo"]["NetworkCards"][1].update(facts)


def test_a_row_that_ec2_confirms_passes() -> None:
    found = checked()
    assert found.verdict is Verdict.PASS
    assert str(found) == "pass: p5en.48xlarge: as EC2 says in us-east-2 (15 facts)"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda info: info["ProcessorInfo"].update(SupportedArchitectures=["arm64"]),
            "architecture: x86_64 here, EC2 says arm64",
        ),
        (
            lambda info: info["VCpuInfo"].update(DefaultVCpus=96),
            "vCPU: 192 here, EC2 says 96",
        ),
        (
            lambda info: info["MemoryInfo"].update(SizeInMiB=1_572_352),
            "memory (GiB): 2048 here, EC2 says 1535.5",
        ),
        (
            lambda info: info["GpuInfo"]["Gpus"][0].update(Count=4),
            "accelerators: 8 x 144384 MiB (nvidia) here, EC2 says 4 x 144384 MiB (nvidia)",
        ),
        (
            lambda info: info.pop("GpuInfo"),
            "accelerators: 8 x 144384 MiB (nvidia) here, EC2 says none",
        ),
        (
            lambda info: info.update(InstanceStorageSupported=False),
            "local NVMe (GB): 30400 here, EC2 says 0",
        ),
        (
            lambda info: info["PlacementGroupInfo"].update(SupportedStrategies=["spread"]),
            "cluster placement group: yes here, EC2 says no",
        ),
        (
            lambda info: info.update(SupportedUsageClasses=["capacity-block"]),
            "sold as: capacity-block, on-demand, spot here, EC2 says capacity-block",
        ),
        (
            network(NetworkPerformance="16x 100 Gigabit"),
            "network (Gbit/s): 3200 here, EC2 says 1600",
        ),
        (network(EfaSupported=False), "EFA interfaces: 16 here, EC2 says 0"),
        (
            network(EfaInfo={"MaximumEfaInterfaces": 15}),
            "EFA interfaces: 16 here, EC2 says 15",
        ),
        (network(MaximumNetworkCards=17), "network cards: 16 here, EC2 says 17"),
        (
            network(Ipv4AddressesPerInterface=64),
            "IPv4 addresses an interface: 50 here, EC2 says 64",
        ),
        (
            second_card(MaximumNetworkInterfaces=2),
            "interfaces a card: 4 here, EC2 says 4 on 0,2-15, 2 on 1",
        ),
        (
            second_card(InterfaceTypes=["interface"]),
            "cards that take EFA: 0-15 here, EC2 says 0,2-15",
        ),
    ],
)
def test_a_fact_that_differs_is_named_with_both_sides(change: Change, line: str) -> None:
    found = checked(change)
    assert found.verdict is Verdict.FAIL
    assert str(found) == f"fail: p5en.48xlarge: not as EC2 says in us-east-2\n  {line}"


def test_a_card_that_takes_no_plain_interface_differs_from_the_wide_layout() -> None:
    def change(info: dict[str, Any]) -> None:
        info["NetworkInfo"]["NetworkCards"][4]["InterfaceTypes"] = ["efa-only"]

    assert [str(fact) for fact in checked(change).open_facts] == [
        "cards with addresses, wide: 0,4,8,12 here, EC2 says not 4"
    ]


def test_a_zone_that_is_sold_no_more_differs() -> None:
    assert [str(fact) for fact in checked(zones=ZONES[:1]).open_facts] == [
        "zones: use2-az1, use2-az2, use2-az3 here, EC2 says use2-az1"
    ]
    assert [str(fact) for fact in checked(zones=()).open_facts] == [
        "zones: use2-az1, use2-az2, use2-az3 here, EC2 says none"
    ]


def test_a_region_that_the_catalog_does_not_know_is_noted_and_not_judged() -> None:
    info = INSTANCE_TYPES[P5EN.name]
    found = check(P5EN, Answer("eu-north-1", {P5EN.name: info}, {P5EN.name: ("eun1-az1",)}))
    assert str(found) == (
        "pass: p5en.48xlarge: as EC2 says in eu-north-1 (14 facts)\n"
        "  note: the catalog has no zones of eu-north-1; EC2 says eun1-az1"
    )


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda info: info.pop("VCpuInfo"), "vCPU: 192"),
        (lambda info: info.pop("MemoryInfo"), "memory (GiB): 2048"),
        (lambda info: info.pop("ProcessorInfo"), "architecture: x86_64"),
        (lambda info: info.pop("PlacementGroupInfo"), "cluster placement group: yes"),
        (network(NetworkPerformance="Very High"), "network (Gbit/s): 3200"),
        (network(EfaInfo={}), "EFA interfaces: 16"),
    ],
)
def test_what_ec2_does_not_say_is_unknown_and_never_a_pass(change: Change, name: str) -> None:
    found = checked(change)
    assert found.verdict is Verdict.UNKNOWN
    assert str(found) == (
        "unknown: p5en.48xlarge: not checked in full in us-east-2\n"
        f"  {name} here, not checked: EC2 does not say"
    )


def test_cards_that_ec2_does_not_describe_are_unknown() -> None:
    found = checked(lambda info: info["NetworkInfo"].pop("NetworkCards"))
    assert found.verdict is Verdict.UNKNOWN
    assert [fact.name for fact in found.open_facts] == [
        "interfaces a card",
        "cards that take EFA",
        "cards with addresses, wide",
    ]


def test_a_type_that_the_region_does_not_know_is_not_checked() -> None:
    found = check(P5EN, Answer("eu-west-3", {}, {}))
    assert found.verdict is Verdict.UNKNOWN
    assert str(found) == (
        "unknown: p5en.48xlarge: not checked: EC2 does not know it in eu-west-3; ask where it is "
        "sold (--region)"
    )


def test_a_wrong_word_of_ec2_that_is_known_is_no_difference() -> None:
    trn2 = instance_type("trn2.48xlarge")
    info = INSTANCE_TYPES[trn2.name]
    answer = Answer("us-east-2", {trn2.name: info}, {trn2.name: trn2.offered_in["us-east-2"]})
    assert check(trn2, answer).verdict is Verdict.PASS
    assert trn2.accelerator is not None
    naive = replace(trn2, accelerator=replace(trn2.accelerator, ec2_says=None))
    assert check(naive, answer).verdict is Verdict.FAIL


def test_a_difference_outranks_what_is_not_said() -> None:
    def change(info: dict[str, Any]) -> None:
        info.pop("MemoryInfo")
        info["VCpuInfo"]["DefaultVCpus"] = 8

    found = checked(change)
    assert found.verdict is Verdict.FAIL
    assert [fact["name"] for fact in found.as_json()["facts"]] == ["vCPU", "memory (GiB)"]
