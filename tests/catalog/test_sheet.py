import json
from dataclasses import replace

import pytest

from components.catalog import instance_type, instance_types
from scripts.catalog.sheet import as_json, layouts, sheet

LEAN = """\
g6e.24xlarge
  accelerators  4 x L40S, 44 GiB each (nvidia)
  machine       x86_64, 96 vCPU, 768 GiB, 3800 GB of local NVMe
  network       200 Gbit/s, 2 cards, EFA on 0-1
  a card        10 interfaces of 50 addresses
  pods          at most 443, 250 with prefixes
  bought        on demand, reservation, spot
  grouped       on demand (cluster placement group)

cards, lean layout (lean 3 interfaces, 1 with an address; wide 4 interfaces, 2 with an address)
  card  device 0  device 1
     0  address   EFA-only
     1  EFA-only  -

zones
  us-east-1     use1-az1, use1-az2, use1-az4, use1-az6
  us-east-2     use2-az1, use2-az2, use2-az3
  us-west-2     usw2-az1, usw2-az2, usw2-az3, usw2-az4
  elsewhere     not known, ask EC2: yard catalog verify g6e.24xlarge --region REGION

floors
  all_reduce, nodes 1: 10 GB/s from 4 GiB on (confidence low)
  all_reduce, nodes 2 and more: 10 GB/s from 4 GiB on (confidence low)
  all_gather, nodes 1 and more: 10 GB/s from 4 GiB on (confidence low)
  reduce_scatter, nodes 1 and more: 10 GB/s from 4 GiB on (confidence low)
  alltoall, nodes 1: 4 GB/s from 4 GiB on (confidence low)
  alltoall, nodes 2 and more: 3 GB/s from 4 GiB on (confidence low)

source: Karpenter instance-types.md 1d927085d; moto 5.2.5 DescribeInstanceTypes
read 2026-12-01; confidence high, layout high"""

WIDE = """\
cards, wide layout (lean 17 interfaces, 1 with an address; wide 33 interfaces, 17 with an address)
  card  device 0  device 1
     0  address   -
     1  EFA-only  address
"""

PLAIN = """\
  accelerators  none
  machine       x86_64, 4 vCPU, 16 GiB, no local NVMe
  network       1 card, no EFA
  a card        4 interfaces of 15 addresses
  pods          at most 58, 110 with prefixes
  bought        on demand, reservation, spot
  grouped       on demand (cluster placement group)

cards, lean layout (lean 1 interface, 1 with an address; wide 1 interface, 1 with an address)
  card  device 0  device 1
     0  address   -

zones
  us-east-1     use1-az1, use1-az2, use1-az4, use1-az5, use1-az6

floors
  none is known: a pool of this type gives its own (floor_gbps)
"""


def test_the_sheet_of_a_type_shows_everything_that_is_known() -> None:
    assert sheet(instance_type("g6e.24xlarge"), "lean", None) == LEAN


def test_wide_puts_an_address_beside_the_fabric() -> None:
    assert WIDE in sheet(instance_type("p6-b300.48xlarge"), "wide", None)


def test_a_type_without_accelerators_has_a_sheet_too() -> None:
    assert PLAIN in sheet(instance_type("m7i.xlarge"), "lean", "us-east-1")


def test_a_region_that_is_not_known_says_how_to_ask() -> None:
    text = sheet(instance_type("p5.48xlarge"), "lean", "eu-north-1")
    assert (
        "zones\n  eu-north-1    not known, ask EC2: "
        "yard catalog verify p5.48xlarge --region eu-north-1\n\nfloors"
    ) in text


@pytest.mark.parametrize("name", sorted(instance_types()))
def test_both_layouts_of_every_type_can_be_drawn(name: str) -> None:
    kind = instance_type(name)
    for shown in layouts(kind):
        lines = sheet(kind, shown, None).splitlines()
        first = lines.index("  card  device 0  device 1") + 1
        drawn = lines[first : first + kind.network_cards]
        assert [int(line.split()[0]) for line in drawn] == list(range(kind.network_cards))
        assert sum(line.count("EFA-only") for line in drawn) == kind.efa_interfaces


def test_json_holds_the_facts_both_layouts_and_the_floors() -> None:
    data = json.loads(json.dumps(as_json(instance_type("p5.48xlarge"))))
    assert data["accelerator"]["name"] == "H100"
    assert (data["max_pods"], data["max_pods_with_prefixes"]) == (51, 250)
    assert {name: each["addresses"] for name, each in data["layouts"].items()} == {
        "lean": 1,
        "wide": 8,
    }
    assert data["layouts"]["lean"]["interfaces"][1] == {
        "card": 0,
        "device": 1,
        "kind": "efa-only",
    }
    assert [row["nodes"] for row in data["floors"]] == [1, 2, 3, 1, 2, 1, 2, 1, 2, 3, 5, 9]


def test_json_of_one_region_says_null_where_nothing_is_known() -> None:
    kind = replace(instance_type("p5.48xlarge"), offered_in={"us-east-1": ("use1-az1",)})
    assert as_json(kind, "us-east-1")["offered_in"] == {"us-east-1": ("use1-az1",)}
    assert as_json(kind, "eu-north-1")["offered_in"] == {"eu-north-1": None}
