import json

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.catalog import instance_type
from components.scheduler import Scheduler, SchedulerConfig, share
from components.waves import Capacity, capacity
from scripts.gate.jobs import JobMaker
from scripts.local.target.kueue import FRAMEWORKS
from tests.support.engine import Engine, run

P5 = capacity("train", instance_type("p5.48xlarge"), 16, efa=True)


def scheduler(*pools: Capacity, **settings: object) -> Engine:
    def program() -> None:
        made = Scheduler(
            "scheduler",
            SchedulerConfig.model_validate({"controller": "external", **settings}),
            region="us-east-1",
            kubeconfig="{}",
            pools=pools or (P5,),
        )
        made.open_to("research", pulumi.Output.from_input("research"))
        made.open_gate(pulumi.Output.from_input("trainyard-gate"))

    return run(program)


def test_every_queue_has_its_share_of_every_card() -> None:
    engine = scheduler()
    [group] = engine.named("scheduler-train", "ClusterQueue")["spec"]["resourceGroups"]
    [flavor] = group["flavors"]
    assert group["coveredResources"] == [
        "cpu",
        "memory",
        "nvidia.com/gpu",
        "vpc.amazonaws.com/efa",
        "hugepages-2Mi",
    ]
    assert {r["name"]: r["nominalQuota"] for r in flavor["resources"]} == {
        "cpu": "2150",
        "memory": "23488102Mi",
        "nvidia.com/gpu": "90",
        "vpc.amazonaws.com/efa": "358",
        "hugepages-2Mi": "112Gi",
    }


def test_all_cards_are_shared_out() -> None:
    engine = scheduler()
    quotas = [
        int(resource["nominalQuota"])
        for queue in engine.all("ClusterQueue")
        if "cohortName" in queue["spec"]
        for resource in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        if resource["name"] == "nvidia.com/gpu"
    ]
    assert sum(quotas) == 128


@given(
    st.integers(min_value=0, max_value=10**6),
    st.lists(st.integers(min_value=0, max_value=25), min_size=1, max_size=4),
)
def test_shares_are_whole_and_give_away_exactly_their_percent(
    amount: int, percents: list[int]
) -> None:
    parts = share(amount, percents)
    assert sum(parts) == amount * sum(percents) // 100
    for part, percent in zip(parts, percents, strict=True):
        assert amount * percent // 100 <= part <= amount * percent // 100 + 1


def test_only_proved_nodes_of_the_pool_count() -> None:
    spec = scheduler().named("scheduler-train", "ResourceFlavor")["spec"]
    assert spec["nodeLabels"] == {
        "trainyard.dev/pool": "train",
        "trainyard.dev/gate": "passed",
    }
    assert spec["topologyName"] == "fabric"


def test_pools_with_and_without_a_known_fabric_have_their_own_topology() -> None:
    g6e = capacity("cheap", instance_type("g6e.48xlarge"), 2, efa=False)
    engine = scheduler(P5, g6e)
    assert len(engine.named("scheduler-fabric", "Topology")["spec"]["levels"]) == 4
    assert engine.named("scheduler-zone", "Topology")["spec"]["levels"] == [
        {"nodeLabel": "topology.kubernetes.io/zone"},
        {"nodeLabel": "kubernetes.io/hostname"},
    ]


def test_pools_of_different_devices_share_one_group_in_which_each_has_every_resource() -> None:
    g6e = capacity("cheap", instance_type("g6e.48xlarge"), 2, efa=False)
    engine = scheduler(P5, g6e)
    [group] = engine.named("scheduler-train", "ClusterQueue")["spec"]["resourceGroups"]
    assert [flavor["name"] for flavor in group["flavors"]] == ["train", "cheap"]
    for flavor in group["flavors"]:
        assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]
    cheap = {r["name"]: r["nominalQuota"] for r in group["flavors"][1]["resources"]}
    assert (cheap["nvidia.com/gpu"], cheap["vpc.amazonaws.com/efa"]) == ("11", "0")


def test_a_queue_that_may_not_borrow_says_so_for_each_resource() -> None:
    engine = scheduler()
    [group] = engine.named("scheduler-debug", "ClusterQueue")["spec"]["resourceGroups"]
    assert {r["borrowingLimit"] for r in group["flavors"][0]["resources"]} == {"0"}


def test_a_tenant_finds_an_entrance_to_every_queue() -> None:
    entrances = [
        (queue["metadata"]["name"], queue["metadata"]["namespace"])
        for queue in scheduler().all("LocalQueue")
    ]
    assert [entrance for entrance in entrances if entrance[1] == "research"] == [
        ("train", "research"),
        ("simulate", "research"),
        ("debug", "research"),
        ("serve", "research"),
    ]


def test_queues_wait_until_the_webhook_of_a_new_controller_serves() -> None:
    engine = scheduler(controller="chart")
    wait = engine.urn("scheduler-webhook", "Command")
    assert wait in engine.dependencies[engine.urn("scheduler-fabric", "Topology")]
    release = engine.named("scheduler-kueue", "Chart")
    assert release["chart"] == "oci://registry.k8s.io/kueue/charts/kueue"
    assert release["version"] == "0.17.0"


def test_the_queue_controller_has_room_for_the_jobs_of_a_thousand_nodes() -> None:
    values = scheduler(controller="chart").named("scheduler-kueue", "Chart")["values"]
    told = json.loads(values["managerConfig"]["controllerManagerConfigYaml"])
    assert told["clientConnection"] == {"qps": 200, "burst": 400}
    kinds = told["controller"]["groupKindConcurrency"]
    assert {kind: count for kind, count in kinds.items() if count > 1} == {
        "Job.batch": 5,
        "MPIJob.kubeflow.org": 5,
        "Pod": 5,
        "Workload.kueue.x-k8s.io": 5,
    }
    assert set(FRAMEWORKS) <= {*told["integrations"]["frameworks"]}, "what the target admits"


def test_an_external_controller_is_not_installed() -> None:
    engine = scheduler()
    assert engine.all("Chart") == []
    assert engine.all("Command") == []
    assert engine.all("MpiOperator") == []


@pytest.mark.parametrize(("name", "value"), [("serve", 1000), ("simulate", 100)])
def test_priorities_put_services_first_and_batches_last(name: str, value: int) -> None:
    engine = scheduler()
    assert engine.named(f"scheduler-{name}-priority", "WorkloadPriorityClass")["value"] == value


def test_gates_may_use_all_of_every_pool_in_a_queue_apart_from_tenants() -> None:
    g6e = capacity("cheap", instance_type("g6e.48xlarge"), 2, efa=False)
    spec = scheduler(P5, g6e).named("scheduler-gate", "ClusterQueue")["spec"]
    assert {key: spec[key] for key in spec if key != "resourceGroups"} == {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "trainyard-gate"}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    [group] = spec["resourceGroups"]
    quotas = {
        flavor["name"]: {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
        for flavor in group["flavors"]
    }
    assert quotas == {
        "gate.train": {
            "cpu": "3072",
            "memory": "32Ti",
            "nvidia.com/gpu": "128",
            "vpc.amazonaws.com/efa": "512",
            "hugepages-2Mi": "160Gi",
        },
        "gate.cheap": {
            "cpu": "384",
            "memory": "3Ti",
            "nvidia.com/gpu": "16",
            "vpc.amazonaws.com/efa": "0",
            "hugepages-2Mi": "0",
        },
    }


def test_a_gate_asks_for_no_more_of_a_node_than_the_queue_counts_for_it() -> None:
    instance = instance_type("p5.48xlarge")
    one = capacity("train", instance, 1, efa=True).amounts
    image = f"tests@sha256:{'0' * 64}"
    maker = JobMaker(run="r", pool="train", wave="1", namespace="n", image=image, instance=instance)
    template = maker.node_check("n0", "n0", 60).manifest["spec"]["template"]
    [container] = template["spec"]["containers"]
    asked = container["resources"]["requests"]
    assert asked.keys() == one.keys()
    assert int(asked["nvidia.com/gpu"]) == one["nvidia.com/gpu"]
    assert int(asked["vpc.amazonaws.com/efa"]) == one["vpc.amazonaws.com/efa"]
    assert template["spec"]["nodeSelector"] == {"trainyard.dev/pool": "train"}


def test_the_gates_flavors_know_a_pool_by_its_label_and_ask_for_no_passed_gate() -> None:
    flavor = scheduler().named("scheduler-gate.train", "ResourceFlavor")
    assert flavor["metadata"] == {"name": "gate.train"}
    assert flavor["spec"] == {"nodeLabels": {"trainyard.dev/pool": "train"}}


@pytest.mark.parametrize(("name", "value"), [("gate", 2000), ("gate-regression", 10)])
def test_gates_come_before_all_tenants_and_regression_after_them(name: str, value: int) -> None:
    engine = scheduler()
    made = engine.named(f"scheduler-{name}-priority", "WorkloadPriorityClass")
    assert (made["metadata"], made["value"]) == ({"name": name}, value)
    others = [
        other["value"]
        for other in engine.all("WorkloadPriorityClass")
        if not other["metadata"]["name"].startswith("gate")
    ]
    assert value > max(others) or value < min(others)


def test_the_entrance_to_the_gates_queue_comes_last() -> None:
    engine = scheduler(controller="chart")
    urn = engine.urn("scheduler-gate-entrance", "LocalQueue")
    entrance = engine.named("scheduler-gate-entrance", "LocalQueue")
    assert entrance["metadata"] == {"name": "gate", "namespace": "trainyard-gate"}
    assert entrance["spec"] == {"clusterQueue": "gate"}
    for name, kind in (
        ("scheduler-gate", "ClusterQueue"),
        ("scheduler-gate-priority", "WorkloadPriorityClass"),
        ("scheduler-gate-regression-priority", "WorkloadPriorityClass"),
        ("scheduler-mpi-operator", "Deployment"),
    ):
        assert engine.urn(name, kind) in engine.dependencies[urn]
