"""The scheduler layer: Kueue, what there is to share, and the queues that share it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import pulumi
from pulumi_command import local
from pulumi_kubernetes import core, helm
from pydantic import Field

from components.catalog import chart
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
    """Kueue from its chart, or one that runs beside the control plane already."""

    chart: str | None = None
    """Where Kueue's chart is when not at its public place: a mirror, or a folder."""

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
    """Kueue's objects: places, flavors, queues and priorities."""

    ready: list[pulumi.Resource]

    def __init__(
        self,
        name: str,
        config: SchedulerConfig,
        *,
        kubeconfig: pulumi.Input[str],
        pools: Sequence[Capacity],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:scheduler:Scheduler", name, None, opts)
        self._name, self._config = name, config
        self._own = pulumi.ResourceOptions(parent=self)
        served = self._controller(kubeconfig) if config.controller == "chart" else []
        self._after = pulumi.ResourceOptions(parent=self, depends_on=served)

        flavors = self._flavors(pools)
        self.ready = [
            self._queue(queue, position, pools, flavors)
            for position, queue in enumerate(config.queues)
        ]
        for role, value in PRIORITIES.items():
            KueueObject(
                f"{name}-{role}-priority",
                "WorkloadPriorityClass",
                metadata={"name": role},
                content={"value": value, "description": f"Work of the queue {role}"},
                opts=self._after,
            )
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

    def _controller(self, kubeconfig: pulumi.Input[str]) -> list[pulumi.Resource]:
        """Install Kueue, and wait until its webhook answers."""
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
                }
            },
            opts=self._own,
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

    def _queue(
        self,
        queue: QueueConfig,
        position: int,
        pools: Sequence[Capacity],
        flavors: Mapping[str, pulumi.Resource],
    ) -> pulumi.Resource:
        shares = [other.share for other in self._config.queues]
        covered = list(dict.fromkeys(resource for pool in pools for resource in pool.amounts))
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


def _topology(pool: Capacity) -> str:
    """Return the name of a pool's topology: the fabric's layers where EC2 tells them."""
    return "fabric" if "topology.k8s.aws/network-node-layer-1" in pool.topology else "zone"
