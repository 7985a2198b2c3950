"""The rows of the catalog against DescribeInstanceTypes, as the simulator ships it."""

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from components.catalog import instance_type, instance_types
from scripts.catalog.compare import facts
from scripts.verdicts import Verdict

NOT_THERE = {"p6e-gb200.36xlarge"}
"""Rows from other sources; EC2 does not tell of them to everybody."""

LEFT_OUT = {
    "dl2q": "no NVIDIA and no Neuron",
    "g4dn": "no BF16, and GPUDirect RDMA was never there",
    "gr6": "a g6 with more host memory, for graphics",
    "inf1": "the first Inferentia, which trains nothing",
    "p3dn": "no BF16, and current drivers leave it out",
}
"""Families with EFA and accelerators that nobody would build a cluster of."""


@pytest.mark.parametrize("name", sorted(set(instance_types()) - NOT_THERE))
def test_every_row_says_what_ec2_says(name: str) -> None:
    found = list(facts(instance_type(name), INSTANCE_TYPES[name]))
    assert [str(fact) for fact in found if fact.verdict is not Verdict.PASS] == []


@pytest.mark.parametrize("name", sorted(set(instance_types()) - NOT_THERE))
def test_zones_are_those_of_the_offerings(name: str) -> None:
    for region, zones in instance_type(name).offered_in.items():
        offered = INSTANCE_TYPE_OFFERINGS["availability-zone-id"][region]
        assert sorted(zones) == sorted(
            each["Location"] for each in offered if each["InstanceType"] == name
        )


def test_what_the_simulator_lacks_is_named_so() -> None:
    assert {name for name in instance_types() if name not in INSTANCE_TYPES} == NOT_THERE
    assert all("not in moto" in instance_type(name).source for name in NOT_THERE)


def test_every_accelerator_type_with_efa_is_here_or_left_out_for_a_reason() -> None:
    missing = {
        name.split(".")[0]
        for name, row in INSTANCE_TYPES.items()
        if row["NetworkInfo"].get("EfaSupported")
        and row.keys() & {"GpuInfo", "NeuronInfo", "InferenceAcceleratorInfo"}
        and name not in instance_types()
    }
    assert missing == set(LEFT_OUT)
