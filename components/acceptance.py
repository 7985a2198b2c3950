"""The acceptance layer: each wave of nodes proves itself before anything runs on it."""

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import pulumi
from pulumi_command import local
from pydantic import Field

from components.buckets import PrivateBucket
from components.catalog import image
from components.keys import CustomerKey, through
from components.namespaces import closed_namespace
from components.naming import Names
from components.regression import Regression, RegressionConfig, WaveGate
from components.settings import Dns, PinnedImage, Problem, Section, rule
from components.waves import Wave

__all__ = ["JUDGES", "Acceptance", "AcceptanceConfig"]

NAMESPACE = "trainyard-gate"

CLAIM = "shared"
"""Name of the claim of the shared file system, in this namespace as in any other."""

ROOT = Path(__file__).parents[1]
JUDGES = (
    "scripts/baseline",
    "scripts/blacklist",
    "scripts/gate",
    "scripts/jobs",
    "scripts/nccl",
    "scripts/node",
    "scripts/records",
    "scripts/storage",
    "scripts/errors.py",
    "scripts/text.py",
    "scripts/verdicts.py",
    "components/catalog/__init__.py",
    "components/catalog/floors.py",
    "components/catalog/floors.yaml",
    "components/catalog/instances.yaml",
    "components/catalog/nodes.py",
    "components/catalog/regression.yaml",
    "components/catalog/repairs.yaml",
    "components/catalog/replacement.py",
    "components/catalog/replacement.yaml",
)
"""What decides a verdict; when it changes, every wave is judged again."""

SUFFIXES = {".py", ".sh", ".yaml"}

LEAST_SECONDS = {3: 2 * 3600, 4: 3 * 3600}
"""Level of DCGM's diagnostics -> the time that a gate with it needs. On eight GPUs level 3 takes up
to half an hour and level 4 up to two hours and a quarter; with a hang, twice that."""


class DcgmConfig(Section):
    """DCGM's diagnostics on every node, before it meets others."""

    image: PinnedImage
    """Image with `dcgmi` and its diagnostics, by digest; dcgm-exporter's images have none."""

    level: Annotated[int, Field(ge=1, le=4)] = 2
    """How thorough: 1 takes seconds, 2 minutes, 3 half an hour, 4 hours."""


class TrainingConfig(Section):
    """A small training on each pool once all its waves are open."""

    image: PinnedImage
    """Image with PyTorch for CUDA and the EFA plugin, by digest."""

    nodes: Annotated[int, Field(ge=2, le=4)] = 2
    """Nodes that train together."""

    pools: tuple[Dns, ...] = ()
    """Pools that train; all with nodes enough when left out."""

    timeout_seconds: Annotated[int, Field(ge=300, le=4 * 3600)] = 3600
    """Longest time for it, waiting in the queue included."""


class AcceptanceConfig(Section):
    """How waves are judged."""

    image: PinnedImage | None = None
    """Image of the checks when it is not the catalog's; by digest, so that all are proved alike."""

    timeout_seconds: Annotated[int, Field(ge=60, le=4 * 3600)] = 3600
    """Longest time for one wave; a gate that runs out of it knows nothing, and opens nothing."""

    dcgm: DcgmConfig | None = None
    """DCGM's diagnostics; not run when left out, because no public image is known by digest."""

    training: TrainingConfig | None = None
    """A small training at the end; none when left out."""

    regression: RegressionConfig | None = None
    """Tests of open nodes on a schedule; none when left out."""

    @rule("dcgm", "timeout_seconds", "regression")
    def _there_is_time(self) -> Iterator[Problem]:
        level = self.dcgm.level if self.dcgm else 0
        least = LEAST_SECONDS.get(level, 0)
        times = {"timeout_seconds": self.timeout_seconds}
        if self.regression:
            times["regression.timeout_seconds"] = self.regression.timeout_seconds
        for key, seconds in times.items():
            if seconds < least:
                yield Problem(
                    key,
                    f"is {seconds}, too short for level {level} of DCGM's diagnostics; use "
                    f"{least} or more, or a lower level",
                )

    def strangers(self, pools: Sequence[str]) -> Iterator[Problem]:
        """Yield a problem for each pool that a setting names and that is none of ``pools``."""
        named = {
            "training": self.training.pools if self.training else (),
            "regression": self.regression.pools if self.regression else (),
        }
        for part, chosen in named.items():
            for position, pool in enumerate(chosen):
                if pool not in pools:
                    yield Problem(
                        f"{part}.pools.{position}",
                        f"is {pool}, which is no pool; use {' or '.join(pools)}",
                    )


class Acceptance(pulumi.ComponentResource):
    """The namespace of the checks, a bucket for baselines, and a gate for each wave."""

    verdicts: dict[str, pulumi.Output[str]]
    trainings: dict[str, pulumi.Input[str]]

    def __init__(
        self,
        name: str,
        config: AcceptanceConfig,
        *,
        names: Names,
        kubeconfig: pulumi.Input[str],
        cluster_name: pulumi.Input[str],
        storage_mbps: float,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:acceptance:Acceptance", name, None, opts)
        self._name, self._config, self._kubeconfig = name, config, kubeconfig
        self._names, self._storage_mbps = names, storage_mbps
        self._own = pulumi.ResourceOptions(parent=self)
        self._image = config.image or image("nccl-tests", names.region)
        # The checks read the kernel's log, which no stricter level lets them do.
        self.namespace = closed_namespace(name, NAMESPACE, self._own, level="privileged")
        bucket = self._baselines()
        self._after = [*after, *bucket.ready]
        self._regression = self._scheduled(config.regression, cluster_name)
        self._waves: dict[str, list[Wave]] = {}
        self._gates: dict[str, list[pulumi.Resource]] = {}
        self.verdicts, self.trainings = {}, {}
        if config.dcgm is None:
            pulumi.log.warn(
                "acceptance.dcgm: off, so nodes open without DCGM's diagnostics; name an image "
                "with dcgmi by digest to run them"
            )
        self.register_outputs({"namespace": self.namespace})

    @property
    def gates(self) -> list[pulumi.Resource]:
        """The gates of all waves."""
        return [gate for gates in self._gates.values() for gate in gates]

    def needs(self, *resources: pulumi.Resource) -> None:
        """Let every gate wait for these too: they need our namespace, so they come after it."""
        self._after += resources

    def prove(self, wave: Wave) -> pulumi.Resource:
        """Run the gate of ``wave`` once its nodes are there.

        A gate that fails ends the update, so that nothing waiting for it is made.
        """
        label = f"{wave.pool}-{wave.number}"
        command = self._command(wave)
        gate = local.Command(
            f"{self._name}-{label}",
            create=command,
            stdin=self._kubeconfig,
            logging=local.Logging.STDERR,
            add_previous_output_in_env=False,
            triggers=[
                judges(),
                *_nodes(wave),
                command,
                self.namespace,
            ],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[wave.group, *self._after]),
        )
        self.verdicts[label] = gate.stdout
        self._waves.setdefault(wave.pool, []).append(wave)
        self._gates.setdefault(wave.pool, []).append(gate)
        return gate

    def finish(self) -> None:
        """Train on the pools that are open, and test their nodes on the schedule from now on."""
        self.trainings = dict(self._trainings())
        regression = self._config.regression
        if self._regression is None or regression is None:
            return
        for pool, waves in self._waves.items():
            if pool in (regression.pools or self._waves):
                tests = [WaveGate(pool, (*self._words(wave), *_flags(wave))) for wave in waves]
                self._regression.of_pool(tests, self._gates[pool])

    def _baselines(self) -> PrivateBucket:
        """Make the bucket of the baselines, in which nothing expires.

        It is not the data bucket: whoever mounts the shared file system may write there.
        """
        key = CustomerKey(
            f"{self._name}-key",
            self._names,
            statements=[through(["s3"], self._names)],
            opts=self._own,
        )
        return PrivateBucket(
            f"{self._name}-baselines",
            names=self._names,
            role="baselines",
            key_arn=key.arn,
            # Every accepted run leaves records; elsewhere than in production they go with the site.
            force_destroy=not self._names.protect,
            opts=self._own,
        )

    def _scheduled(
        self, config: RegressionConfig | None, cluster_name: pulumi.Input[str]
    ) -> Regression | None:
        if config is None:
            return None
        return Regression(
            f"{self._name}-regression",
            config,
            names=self._names,
            namespace=self.namespace,
            cluster_name=cluster_name,
            bucket_arn=self._names.bucket_arn("baselines"),
            opts=self._own,
        )

    def _trainings(self) -> Iterator[tuple[str, pulumi.Input[str]]]:
        """Yield what came of the small training on each pool, or why there was none."""
        config = self._config.training
        for pool, waves in self._waves.items():
            nodes = sum(wave.nodes for wave in waves)
            if config is None:
                yield pool, "not run: acceptance.training names no image"
            elif config.pools and pool not in config.pools:
                yield pool, "not run: the pool is not among acceptance.training.pools"
            elif nodes < config.nodes:
                yield pool, f"not run: it takes {config.nodes} nodes, and the pool has {nodes}"
            else:
                yield pool, self._train(pool, config).stdout

    def _train(self, pool: str, config: TrainingConfig) -> local.Command:
        waves = self._waves[pool]
        options: dict[str, str | int] = {
            "pool": pool,
            "nodes": config.nodes,
            "type": waves[0].instance_type,
            "image": config.image,
            "claim": CLAIM,
            "kubeconfig": "-",
            "namespace": NAMESPACE,
            "report-dir": "reports",
            "timeout": config.timeout_seconds,
        }
        command = shlex.join(["yard", "gate", "train", *_words(options), *_flags(waves[0])])
        return local.Command(
            f"{self._name}-{pool}-training",
            create=command,
            stdin=self._kubeconfig,
            logging=local.Logging.STDERR,
            add_previous_output_in_env=False,
            triggers=[judges(), command, *(each for wave in waves for each in _nodes(wave))],
            opts=pulumi.ResourceOptions(parent=self, depends_on=self.gates),
        )

    def _command(self, wave: Wave) -> str:
        options: dict[str, str | float] = {
            # Not on the schedule: it would take the file system from the jobs that run then, and
            # shut good nodes for what those jobs take of it.
            "storage-claim": CLAIM,
            "storage-mbps": round(self._storage_mbps, 1),
            "kubeconfig": "-",
            "report-dir": "reports",
            "timeout": self._config.timeout_seconds,
        }
        if wave.replace:
            options["replace"] = wave.replace
        return shlex.join([*self._words(wave), *_words(options), *_flags(wave)])

    def _words(self, wave: Wave) -> list[str]:
        """Return the gate's command for a wave, as far as it is the same wherever it runs."""
        options: dict[str, str | float] = {
            "pool": wave.pool,
            "wave": wave.number,
            "nodes": wave.nodes,
            "type": wave.instance_type,
            "image": self._image,
            "namespace": NAMESPACE,
            "bucket": f"s3://{self._names.bucket('baselines')}",
        }
        if self._config.dcgm is not None:
            options |= {"dcgm": self._config.dcgm.level, "dcgm-image": self._config.dcgm.image}
        if wave.floor_gbps is not None:
            options["floor"] = wave.floor_gbps
        return ["yard", "gate", "run", *_words(options)]


def _words(options: "dict[str, str | float] | dict[str, str | int]") -> list[str]:
    return [word for key, value in options.items() for word in (f"--{key}", str(value))]


def _nodes(wave: Wave) -> tuple[pulumi.Input[str], ...]:
    """Return what the nodes of a wave are made from: made from other things they are unproved."""
    return wave.group_id, wave.image_release, wave.template_version


def _flags(wave: Wave) -> list[str]:
    return [] if wave.efa else ["--no-efa"]


@cache
def judges(root: Path = ROOT) -> str:
    """Return a fingerprint of all that decides a verdict."""
    found = hashlib.sha256()
    for place in map(root.joinpath, JUDGES):
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for file in files:
            if file.suffix in SUFFIXES:
                found.update(str(file.relative_to(root)).encode())
                found.update(file.read_bytes())
    return found.hexdigest()
