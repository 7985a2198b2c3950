"""The scheduler layer: Kueue, the MPI operator, what there is to share, and who shares it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import pulumi
from pulumi_command import local
from pulumi_kubernetes import core, helm
from pydantic import Field

from components.catalog import chart, kueue_configuration
from components.mpi_operator import MpiOperator
from components.objects import KueueObject
from components.quantities import count, mebibytes
from components.settings import Problem, Section, rule
from components.waves import Capacity

__all__ = ["QueueConfig", "QueueName", "Scheduler", "SchedulerConfig", "share"]

QueueName = Literal["train", "simulate", "debug", "serve"]

WHOLE = 100
"""Percent."""

COHORT = "site"
"""Queues of one cohort lend each other what they do not use."""

GATE = "gate"
"""The gate's own queue: what proves nodes takes nothing from tenants, and waits for none."""

GATE_NAMESPACE = "trainyard-gate"

GATE_PRIORITIES = {
    "gate": (2000, "Gates, for which waves of nodes wait"),
    "gate-regression": (10, "Checks of open nodes when nothing else runs on them"),
}

PRIORITIES = {"serve": 1000, "debug": 800, "train": 500, "simulate": 100}
"""Services come before people who wait, people before long jobs, long jobs before batches."""

MEMORY = {"memory", "hugepages-2Mi"}
"""Resources that are counted in MiB."""

WEBHOOK_COMMAND = "python -m scripts.kueue_ready"
"""Ready pods of Kueue do not mean a webhook that serves (kueue#13036), so we ask it."""


class QueueConfig(Section):
    """One queue's part of the site."""

    name: QueueName
    """train for long jobs, simulate for batches, debug for people, serve for services."""

    share: Annotated[int, Field(ge=0, le=WHOLE)]
    """Percent of every pool that is its own."""

    borrow: bool = True
    """Whether it may use what others leave."""


def _usual_queues() -> tuple[QueueConfig, ...]:
    return (
        QueueConfig(name="train", share=70),
        QueueConfig(name="simulate", share=15),
        QueueConfig(name="debug", share=5, borrow=False),
        QueueConfig(name="serve", share=10, borrow=False),
    )


class SchedulerConfig(Section):
    """Queues and the controller behind them."""

    controller: Literal["chart", "external"] = "chart"
    """Kueue from its chart and the MPI operator, or ones that run beside the control plane."""

    chart: str | None = None
    """Where Kueue's chart is when not at its public place: a mirror, or a folder."""

    mpi_operator: str | None = None
    """Where the manifest of MPIJobs is when not at its public place: a mirror, or a file."""

    queues: tuple[QueueConfig, ...] = Field(default_factory=_usual_queues, min_length=1)
    """Queues, with the parts of the site that are their own."""

    @rule("queues")
    def _shares_fit(self) -> Iterator[Problem]:
        total = sum(queue.share for queue in self.queues)
        if total > WHOLE:
            parts = ", ".join(f"{queue.name} {queue.share}" for queue in self.queues)
            yield Problem(
                "queues", f"share {total} percent ({parts}); take {total - WHOLE} from some of them"
            )
        seen: set[str] = set()
        for position, queue in enumerate(self.queues):
            if queue.name in seen:
                yield Problem(f"queues.{position}.name", f"is {queue.name} again; keep one of them")
            seen.add(queue.name)


class Scheduler(pulumi.ComponentResource):
    """Kueue's objects: places, flavors, queues and priorities; and who runs MPIJobs."""

    ready: list[pulumi.Resource]
    gate_ready: list[pulumi.Resource]
    """What a gate's Jobs need besides their LocalQueue."""

    def __init__(
        self,
        name: str,
        config: SchedulerConfig,
        *,
        region: str,
        kubeconfig: pulumi.Input[str],
        pools: Sequence[Capacity],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:scheduler:Scheduler", name, None, opts)
        self._name, self._config = name, config
        self._own = pulumi.ResourceOptions(parent=self)
        served: list[pulumi.Resource] = []
        runs: list[pulumi.Resource] = []
        if config.controller == "chart":
            operator = MpiOperator(
                f"{name}-mpi-operator", region=region, source=config.mpi_operator, opts=self._own
            )
            served = self._controller(kubeconfig, [operator.definition])
            runs = [operator.controller]
        self._after = pulumi.ResourceOptions(parent=self, depends_on=served)

        flavors = self._flavors(pools)
        self.ready = [
            self._queue(queue, position, pools, flavors)
            for position, queue in enumerate(config.queues)
        ]
        for role, value in PRIORITIES.items():
            self._priority(role, value, f"Work of the queue {role}")
        self.gate_ready = [
            *runs,
            self._gate_queue(pools),
            *(self._priority(role, *told) for role, told in GATE_PRIORITIES.items()),
        ]
        self.register_outputs({})

    def open_to(self, label: str, namespace: pulumi.Input[str]) -> None:
        """Give ``namespace`` an entrance to every queue."""
        for queue in self._config.queues:
            KueueObject(
                f"{self._name}-{label}-{queue.name}",
                "LocalQueue",
                metadata={"name": queue.name, "namespace": namespace},
                content={"spec": {"clusterQueue": queue.name}},
                opts=pulumi.ResourceOptions(parent=self, depends_on=self.ready),
            )

    def open_gate(self, namespace: pulumi.Input[str]) -> pulumi.Resource:
        """Give the gate's namespace an entrance to the gate's queue; gates wait for it."""
        return KueueObject(
            f"{self._name}-{GATE}-entrance",
            "LocalQueue",
            metadata={"name": GATE, "namespace": namespace},
            content={"spec": {"clusterQueue": GATE}},
            opts=pulumi.ResourceOptions(parent=self, depends_on=self.gate_ready),
        )

    def _controller(
        self, kubeconfig: pulumi.Input[str], after: Sequence[pulumi.Resource]
    ) -> list[pulumi.Resource]:
        """Install Kueue once its kinds of jobs are there, and wait until its webhook answers."""
        where, version = chart("kueue")
        namespace = core.v1.Namespace(
            f"{self._name}-kueue",
            metadata={
                "name": "kueue-system",
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
            opts=self._own,
        )
        release = helm.v4.Chart(
            f"{self._name}-kueue",
            chart=self._config.chart or where,
            version=version,
            name="kueue",
            namespace=namespace.metadata.name,
            values={
                "controllerManager": {
                    "replicas": 2,
                    "manager": {
                        "image": {
                            "repository": "registry.k8s.io/kueue/kueue",
                            "tag": f"v{version}",
                            "pullPolicy": "IfNotPresent",
                        }
                    },
                },
                "managerConfig": {
                    "controllerManagerConfigYaml": json.dumps(kueue_configuration()),
                },
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(after)),
        )
        served = local.Command(
            f"{self._name}-webhook",
            create=WEBHOOK_COMMAND,
            stdin=kubeconfig,
            logging=local.Logging.STDERR,
            triggers=[version],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[release]),
        )
        return [served]

    def _flavors(self, pools: Sequence[Capacity]) -> dict[str, pulumi.Resource]:
        """Name what each pool has; only nodes that passed their gate count."""
        topologies: dict[tuple[str, ...], pulumi.Resource] = {}
        flavors: dict[str, pulumi.Resource] = {}
        for pool in pools:
            role = _topology(pool)
            if pool.topology not in topologies:
                topologies[pool.topology] = KueueObject(
                    f"{self._name}-{role}",
                    "Topology",
                    metadata={"name": role},
                    content={"spec": {"levels": [{"nodeLabel": key} for key in pool.topology]}},
                    opts=self._after,
                )
            flavors[pool.pool] = KueueObject(
                f"{self._name}-{pool.pool}",
                "ResourceFlavor",
                metadata={"name": pool.pool},
                content={
                    "spec": {
                        "topologyName": role,
                        "nodeLabels": {
                            "trainyard.dev/pool": pool.pool,
                            "trainyard.dev/gate": "passed",
                        },
                        "tolerations": [
                            {
                                "key": "nvidia.com/gpu",
                                "operator": "Equal",
                                "value": "present",
                                "effect": "NoSchedule",
                            }
                        ],
                    }
                },
                opts=pulumi.ResourceOptions(parent=self, depends_on=[topologies[pool.topology]]),
            )
        return flavors

    def _priority(self, name: str, value: int, description: str) -> pulumi.Resource:
        return KueueObject(
            f"{self._name}-{name}-priority",
            "WorkloadPriorityClass",
            metadata={"name": name},
            content={"value": value, "description": description},
            opts=self._after,
        )

    def _gate_queue(self, pools: Sequence[Capacity]) -> pulumi.Resource:
        """Let gates use all of every pool, besides what tenants have of it.

        They look at nodes that no tenant may use yet, and at open ones only while those are idle.
        The flavors know a pool by its label alone, for its nodes have not passed.
        """
        flavors = {
            pool.pool: KueueObject(
                f"{self._name}-{_gate_flavor(pool)}",
                "ResourceFlavor",
                metadata={"name": _gate_flavor(pool)},
                content={"spec": {"nodeLabels": {"trainyard.dev/pool": pool.pool}}},
                opts=self._after,
            )
            for pool in pools
        }
        covered = _covered(pools)
        members = [
            {
                "name": _gate_flavor(pool),
                "resources": [
                    {
                        "name": resource,
                        "nominalQuota": _quantity(resource, pool.amounts.get(resource, 0)),
                    }
                    for resource in covered
                ],
            }
            for pool in pools
        ]
        return KueueObject(
            f"{self._name}-{GATE}",
            "ClusterQueue",
            metadata={"name": GATE},
            content={
                "spec": {
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": GATE_NAMESPACE}
                    },
                    "queueingStrategy": "BestEffortFIFO",
                    # A wave that waits goes before checks that can be made at any time.
                    "preemption": {"withinClusterQueue": "LowerPriority"},
                    "resourceGroups": [{"coveredResources": covered, "flavors": members}],
                }
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(flavors.values())),
        )

    def _queue(
        self,
        queue: QueueConfig,
        position: int,
        pools: Sequence[Capacity],
        flavors: Mapping[str, pulumi.Resource],
    ) -> pulumi.Resource:
        shares = [other.share for other in self._config.queues]
        covered = _covered(pools)
        limit = {} if queue.borrow else {"borrowingLimit": "0"}
        members = [
            {
                "name": pool.pool,
                "resources": [
                    {
                        "name": resource,
                        "nominalQuota": _quantity(
                            resource, share(pool.amounts.get(resource, 0), shares)[position]
                        ),
                        **limit,
                    }
                    for resource in covered
                ],
            }
            for pool in pools
        ]
        return KueueObject(
            f"{self._name}-{queue.name}",
            "ClusterQueue",
            metadata={"name": queue.name},
            content={
                "spec": {
                    "cohortName": COHORT,
                    "namespaceSelector": {"matchLabels": {"trainyard.dev/tenant": "true"}},
                    "queueingStrategy": "BestEffortFIFO",
                    "preemption": {
                        "reclaimWithinCohort": "Any",
                        "withinClusterQueue": "LowerPriority",
                    },
                    # One group: Kueue takes no resource in two.
                    "resourceGroups": [{"coveredResources": covered, "flavors": members}],
                }
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(flavors.values())),
        )


def share(amount: int, percents: Sequence[int]) -> list[int]:
    """Split ``amount`` by ``percents`` into whole numbers.

    Together they get exactly their percent of it, rounded down; what rounding leaves goes to those
    whose part was cut most, the first of equals.
    """
    exact = [amount * percent for percent in percents]
    parts = [value // WHOLE for value in exact]
    left = sum(exact) // WHOLE - sum(parts)
    most_cut = sorted(range(len(parts)), key=lambda n: exact[n] % WHOLE, reverse=True)
    for position in most_cut[:left]:
        parts[position] += 1
    return parts


def _quantity(resource: str, amount: int) -> str:
    return mebibytes(amount) if resource in MEMORY else count(amount)


def _covered(pools: Sequence[Capacity]) -> list[str]:
    """Return the resources that any pool has."""
    return list(dict.fromkeys(resource for pool in pools for resource in pool.amounts))


def _gate_flavor(pool: Capacity) -> str:
    # No pool has a dot in its name, so this is no other pool's own flavor.
    return f"{GATE}.{pool.pool}"


def _topology(pool: Capacity) -> str:
    """Return the name of a pool's topology: the fabric's layers where EC2 tells them."""
    return "fabric" if "topology.k8s.aws/network-node-layer-1" in pool.topology else "zone"
