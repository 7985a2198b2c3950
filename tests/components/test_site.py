from collections.abc import Callable
from typing import Any

import pytest

from components.settings import SettingsError, parse
from components.site_config import SiteConfig
from tests.support.stacks import STACKS, config, raw

Change = Callable[[dict[str, Any]], None]


def problems(*changes: Change, stack: str = "local") -> list[str]:
    settings = raw(stack)
    for change in changes:
        change(settings)
    with pytest.raises(SettingsError) as caught:
        parse(SiteConfig, settings, "file.yaml")
    return [str(problem) for problem in caught.value.problems]


def put(path: str, value: object, **more: object) -> Change:
    """Return a change that sets one key, ``pools.0.waves``, and ``more`` keys beside it."""

    def change(settings: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        inner: Any = settings
        for key in parents:
            inner = inner[int(key)] if isinstance(inner, list) else inner.setdefault(key, {})
        if isinstance(inner, list):
            inner[int(last)] = value
        else:
            inner.update({last: value, **more})

    return change


@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_of_the_repository_can_be_used(stack: str) -> None:
    assert config(stack).environment == stack
    assert all("reservation" in gap for gap in config(stack).unchecked())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            put("pools.0.waves", [4, 12]),
            (
                "pools.0.waves.0: is 4 of 16 nodes; the first wave has at most 2 (two, or a tenth "
                "of the pool), so move the rest to later waves"
            ),
        ),
        (
            put("pools.0.waves", [2, 400]),
            (
                "network.zones.0.compute_cidr: is 10.65.0.0/20, which has 1020 addresses and 191 "
                "prefixes, but 402 nodes with 24 pods each need 509 addresses and 1017 prefixes "
                "(with 40 more nodes during updates, 15 percent headroom); a /17 would do, or "
                "lower control_plane.pods_per_node"
            ),
        ),
        (
            put("pools.0.zone", "use1-az6"),
            (
                "pools.0.zone: is use1-az6, which has no compute subnet; use use1-az4, or give "
                "use1-az6 a compute_cidr under network.zones"
            ),
        ),
        (
            put("pools.0.instance_type", "p5en.48xlarge"),
            (
                "pools.0.zone: is use1-az4, where p5en.48xlarge is not sold (Karpenter "
                "instance-types.md 1d927085d; moto 5.2.5 DescribeInstanceTypes, 2026-12-01); use "
                "use1-az2 or use1-az6"
            ),
        ),
        (
            put("pools.0.instance_type", "m7i.4xlarge"),
            (
                "pools.0.instance_type: is m7i.4xlarge, which has no accelerator; use a type that "
                "has, or run plain work on the system nodes"
            ),
        ),
        (
            put("pools.0.capacity", {"source": "reservation"}),
            (
                "pools.0.capacity.id: and resource_group are both missing; give the id of one "
                "reservation, or the ARN of a resource group of them"
            ),
        ),
        (
            put("pools.0.waves", [45, 451]),
            (
                "pools.0.waves.1: is 451, but a node group holds 450 nodes; make more waves of it, "
                "or write a raised quota in control_plane.quotas.nodes_per_group"
            ),
        ),
        (
            put("pools.0.waves", [1] * 30),
            (
                "pools: make 31 node groups, the system group among them, but a cluster has 30 at "
                "most; use fewer and larger waves, or write a raised quota in "
                "control_plane.quotas.node_groups"
            ),
        ),
        (
            put("control_plane.quotas", {"nodes": 17}),
            (
                "pools: make 18 nodes, but a cluster is planned for 17 at most; use several "
                "clusters (`yard plan network` counts them), or raise control_plane.quotas.nodes"
            ),
        ),
        (
            put("pools.0.instance_type", "p6e-gb200.36xlarge", floor_gbps=700),
            (
                "pools.0.capacity: buys on-demand, but EC2 sells p6e-gb200.36xlarge as "
                "capacity-block only; use such a source"
            ),
        ),
        (
            put("pools.0.instance_type", "trn1.32xlarge", floor_gbps=10),
            (
                "pools.0.instance_type: is trn1.32xlarge with Trainium, for which this program has "
                "no device plugin and no gate; use a type with NVIDIA GPUs"
            ),
        ),
        (
            put("pools.0.ami", "ami-0123456789abcdef0", ami_release="1.35.6-20260818"),
            (
                "pools.0.ami_release: is 1.35.6-20260818, but ami names an image of your own; "
                "leave one of them out"
            ),
        ),
        (
            put("pools.0.interfaces", [{"card": 0, "device": 0, "kind": "efa-only"}]),
            (
                "pools.0.interfaces: lack a plain interface on card 0, device 0, the primary one "
                "of every node; add it"
            ),
        ),
        (
            put(
                "pools.0.interfaces",
                [
                    {"card": 0, "device": 0, "kind": "interface"},
                    {"card": 32, "device": 0, "kind": "interface"},
                ],
                efa=False,
                floor_gbps=10,
            ),
            "pools.0.interfaces: name card 32, but p5.48xlarge has 32, from 0; use those",
        ),
        (
            put("pools.0.ami_release", "1.34.2-20260818"),
            (
                "pools.0.ami_release: is 1.34.2-20260818, but the cluster runs 1.35; use a release "
                "that starts with 1.35."
            ),
        ),
        (
            put("pools.0.name", "system"),
            "pools.0.name: is system, which is taken; give it another name",
        ),
        (
            put("storage.capacity_gib", 3600),
            "storage.capacity_gib: is 3600, which FSx does not sell; use 2400 or 4800",
        ),
        (
            put("storage.efa", True),
            (
                "storage.capacity_gib: is 4800, which FSx does not sell with EFA at 250 MB/s for "
                "each TiB; use 19200"
            ),
        ),
        (
            put("storage.throughput", 200),
            "storage.throughput: is the number 200; use 125, 250, 500 or 1000",
        ),
        (
            put("network.neighbours.0.cidr", "10.64.0.0/12"),
            (
                "network.management_cidr: is 10.64.0.0/16, which shares addresses with "
                "neighbours.0.cidr 10.64.0.0/12 (neighbour office, an office); give one of "
                "them other addresses"
            ),
        ),
        (
            put("network.nat", "none"),
            (
                "network.endpoints: lacks ec2, ecr.api, ecr.dkr, eks, eks-auth, fsx, logs, sts, "
                "which nodes cannot do without when nat is none; add them, or choose another nat"
            ),
        ),
        (
            put("network.management_cidr", "10.64.0.0/22"),
            (
                "network.management_cidr: is a /22, but a VPC block is at most a /16 and the plan "
                "for seven zones needs at least a /21; use a length from 16 to 21"
            ),
        ),
        (
            put("control_plane.public_access", ["0.0.0.0/1"]),
            (
                "control_plane.public_access.0: is 0.0.0.0/1, a wide range for a cluster's API; "
                "use /24 or narrower, or leave the list empty and come through the network"
            ),
        ),
        (
            put("control_plane.kubernetes", "1.22"),
            (
                "control_plane.kubernetes: is '1.22', which the catalog does not know; use 1.35, "
                "or add it to components/catalog/versions.yaml"
            ),
        ),
        (
            put("control_plane.system_type", "g6.48xlarge"),
            (
                "control_plane.system_type: is g6.48xlarge, which carries 8 L4; system nodes need "
                "none, so use a type like m7i.xlarge"
            ),
        ),
        (
            put(
                "scheduler.queues", [{"name": "train", "share": 90}, {"name": "debug", "share": 20}]
            ),
            "scheduler.queues: share 110 percent (train 90, debug 20); take 10 from some of them",
        ),
        (
            put("tenants.1.name", "research"),
            "tenants.1.name: is research, a namespace that is taken; give it another name",
        ),
        (
            put("tenants.0.gpus", 129),
            "tenants.0.gpus: is 129, but all pools have 128 GPUs; use at most that",
        ),
        (
            put("vault.secrets.0.tenant", "nobody"),
            "vault.secrets.0.tenant: is nobody, which is no tenant; use research or simulation",
        ),
        (
            put("inference.pool", "other"),
            "inference.pool: is other, which is no pool; use train",
        ),
        (
            put("inference.replicas", 4),
            (
                "inference.replicas: is 4 with 4 GPUs each, but the queue serve has 12 GPUs of "
                "train; serve with fewer, or raise its share"
            ),
        ),
        (
            put("account", 0),
            "account: is the number 0; write a text in quotes",
        ),
    ],
)
def test_a_rule_tells_the_key_what_was_seen_and_the_way_out(change: Change, problem: str) -> None:
    assert problem in problems(change)


def test_rules_between_layers_are_judged_beside_a_mistake_elsewhere() -> None:
    found = problems(put("owner", 5), put("pools.0.zone", "use1-az6"), put("regoin", "x"))
    assert found == [
        "owner: is the number 5; write a text in quotes",
        (
            "pools.0.zone: is use1-az6, which has no compute subnet; use use1-az4, or give "
            "use1-az6 a compute_cidr under network.zones"
        ),
        "regoin: is not a setting; did you mean region?",
    ]


def test_a_region_that_the_catalog_does_not_know_is_said_to_be_unchecked() -> None:
    settings = raw("local")
    settings["region"] = "eu-north-1"
    assert parse(SiteConfig, settings, "file.yaml").unchecked() == [
        (
            "pools.0.zone: not checked, the catalog does not know where p5.48xlarge is sold in "
            "eu-north-1; `yard catalog verify` asks EC2"
        )
    ]


def test_a_list_that_is_long_enough_is_not_called_short_for_a_mistake_inside() -> None:
    [problem] = problems(put("pools.0.root_gib", 1))
    assert problem == "pools.0.root_gib: is the number 1; the least is 50"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            put("vault.recovery_days", 3),
            "vault.recovery_days: is 3, which Secrets Manager does not offer; use 0, or 7 to 30",
        ),
        (
            put("vault.recovery_days", 0),
            (
                "vault.recovery_days: is 0 in prod, where a deleted secret must be had back; "
                "use 7 to 30"
            ),
        ),
    ],
)
def test_a_deleted_secret_of_prod_can_be_had_back(change: Change, problem: str) -> None:
    assert problems(change, stack="prod") == [problem]


def test_a_pool_that_no_floor_can_judge_is_refused() -> None:
    [problem] = problems(put("pools.0.efa", value=False))
    assert problem == (
        "pools.0.floor_gbps: is missing, and the catalog has no floor for p5.48xlarge without EFA; "
        "give the lowest all-reduce bus bandwidth in GB/s that is good, or no wave can pass"
    )
