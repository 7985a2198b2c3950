"""What the gate takes at full size: a wave of p5.48xlarge on the embedded target, with faults.

Starts a target in a folder of its own, registers the nodes of a wave as their kubelets would, and
gives the gate a queue. Then, for each number of faults: fresh nodes, faults of 13 kinds drawn by a
seed, and one ``yard gate run`` with DCGM's diagnostics. Prints whether it found exactly those, and
what that took. What runs is real but for the nodes, whose pods end after a second, so the seconds
are those of the control plane and of the gate; the gate's own are seconds of the processor. On two
cores a run over 128 nodes takes three minutes. Everything is removed in the end.

    .venv/bin/python bench/gate.py [--nodes 1024] [--faults 0,1,4,16] [--seed 1] [--json] [--watch]
"""

import argparse
import datetime as dt
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from components.catalog import instance_type
from components.objects import API_VERSION
from scripts.gate.jobs import PRIORITY, QUEUE, accelerator
from scripts.local.home import Home
from scripts.local.target import faults, symptoms
from scripts.local.target.api import Api
from scripts.local.target.faults import Fault
from scripts.local.target.launch import Launch
from scripts.local.target.node_objects import RUNNING, Group, Instance
from scripts.local.target.ports import load_ports
from scripts.local.target.registry import Registry
from scripts.local.target.user_data import NodeConfig

ROOT = Path(__file__).resolve().parents[1]
YARD = Path(sys.executable).with_name("yard")

KIND = "p5.48xlarge"
POOL = "bench"
NAMESPACE = "trainyard-gate"
IMAGE = f"public.ecr.aws/hpc-cloud/nccl-tests@sha256:{'0' * 64}"
HUGE_PAGES = 5128

KINDS = (
    "agent",
    "gpu",
    "ecc",
    "xid",
    "throttle",
    "pcie",
    "nvlink",
    "dcgm",
    "nvlink-slow",
    "wrong",
    "nic",
    "link",
    "hang",
)
"""Faults that one node has. A node that is down lets the gate wait for the wave, and one that is
slow in large groups only wants searches: both are told of in the documentation, not here."""

READY_SECONDS = 900
LIMIT_SECONDS = 7200


@dataclass(frozen=True, slots=True)
class Result:
    """What one run found, and what it took."""

    faults: int
    kinds: str
    verdict: str
    found: int
    missed: tuple[str, ...]
    blamed_wrongly: tuple[str, ...]
    held_wrongly: tuple[str, ...]
    pair_rounds: int
    sweeps: float
    searches: int
    jobs: int
    wall_seconds: float
    gate_cpu_seconds: float

    @property
    def exact(self) -> bool:
        """Whether all that is bad is out, and nothing else."""
        return not (self.missed or self.blamed_wrongly or self.held_wrongly)


class Bench:
    """A target of its own, with a pool of simulated nodes and a queue for the gate."""

    def __init__(self, root: Path, nodes: int, *, watch: bool) -> None:
        self._home = Home(root / "home")
        self._reports = root / "reports"
        self._nodes = nodes
        self._watch = watch
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "PULUMI_"))}
        self._environment = {
            **kept,
            "TRAINYARD_HOME": str(self._home.root),
            "NO_COLOR": "1",
            "CI": "true",
        }

    def start(self) -> None:
        """Start the target, and make what the program would have made for the gate."""
        self._yard("local", "up")
        group, _, version = API_VERSION.partition("/")
        for kind in ("ResourceFlavor", "ClusterQueue", "WorkloadPriorityClass"):
            plural = "es" if kind.endswith("s") else "s"
            create_global_resource(group, version, kind, f"{kind.lower()}{plural}")
        create_namespaced_resource(group, version, "LocalQueue", "localqueues")
        with Api(self._home) as api:
            for item in self._for_the_gate():
                api.apply(item)

    def stop(self) -> None:
        """End every process of the target and remove its state."""
        self._yard("local", "down", "--wipe")

    def measure(self, count: int, seed: int) -> Result:
        """Run the gate over a fresh wave of which ``count`` nodes have a fault."""
        wave = str(count)
        chance = random.Random(f"{seed}/{count}")  # noqa: S311 - nothing is kept secret by it
        with Api(self._home) as api:
            names = self._register(api, wave)
            order = chance.sample(KINDS, len(KINDS))
            kinds = [order[number % len(order)] for number in range(count)]
            bad = dict(zip(chance.sample(names, count), kinds, strict=True))
            self._spoil(api, bad)
            self._wait(api, names)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        done = self._gate(wave)
        wall = time.monotonic() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = self._reports / f"gate-{POOL}-{wave}.json"
        if not report.exists():
            sys.exit(f"the gate left no report:\n{done.stdout}\n{done.stderr or ''}")
        return _result(
            json.loads(report.read_text(encoding="utf-8")),
            bad,
            wall,
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        )

    def _gate(self, wave: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own command
            [
                str(YARD),
                *("gate", "run", "--pool", POOL, "--wave", wave, "--nodes", str(self._nodes)),
                *("--type", KIND, "--image", IMAGE, "--dcgm", "2", "--plain"),
                *("--kubeconfig", str(self._home.kubeconfig), "--namespace", NAMESPACE),
                *("--report-dir", str(self._reports), "--timeout", str(LIMIT_SECONDS)),
            ],
            cwd=ROOT,
            env=self._environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=None if self._watch else subprocess.PIPE,
            text=True,
            timeout=LIMIT_SECONDS,
        )

    def _register(self, api: Api, wave: str) -> list[str]:
        """Register a wave of nodes in place of the one before."""
        faults.clear(self._home.faults, {})
        api.delete_nodes(node["metadata"]["name"] for node in api.nodes())
        registry = Registry(api, load_ports(self._home.ports)["kubelet"])
        group = _group(wave, self._nodes)
        instances = [_instance(wave, index) for index in range(self._nodes)]
        api.each(partial(registry.create, group, each, RUNNING) for each in instances)
        return [each.dns_name for each in instances]

    def _spoil(self, api: Api, bad: dict[str, str]) -> None:
        registry = Registry(api, load_ports(self._home.ports)["kubelet"])
        for name, kind in bad.items():
            faults.add(self._home.faults, Fault(kind, node=name))
            if shown := symptoms.shown([kind]):
                registry.show(name, shown)

    def _wait(self, api: Api, names: Sequence[str]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while len(ready := [node for node in api.nodes() if _is_ready(node)]) < len(names):
            if time.monotonic() > deadline:
                sys.exit(f"only {len(ready)} of {len(names)} nodes got Ready")
            time.sleep(1)

    def _for_the_gate(self) -> list[dict[str, Any]]:
        """Return the namespace, and a queue that holds as much as the wave has."""
        kind, each = instance_type(KIND), {"name": POOL}
        amounts = {
            "cpu": kind.vcpus,
            "memory": f"{kind.memory_gib * self._nodes}Gi",
            "nvidia.com/gpu": accelerator(kind).count,
            "vpc.amazonaws.com/efa": kind.efa_interfaces,
            "hugepages-2Mi": f"{2 * HUGE_PAGES * self._nodes}Mi",
        }
        quotas = [
            {
                "name": name,
                "nominalQuota": str(amount * self._nodes if isinstance(amount, int) else amount),
            }
            for name, amount in amounts.items()
        ]
        flavors = [{"name": POOL, "resources": quotas}]
        queue: dict[str, Any] = {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": list(amounts), "flavors": flavors}],
        }
        local = {"name": QUEUE, "namespace": NAMESPACE}
        return [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": each, "spec": {}},
            {"apiVersion": API_VERSION, "kind": "ClusterQueue", "metadata": each, "spec": queue},
            {
                "apiVersion": API_VERSION,
                "kind": "LocalQueue",
                "metadata": local,
                "spec": {"clusterQueue": POOL},
            },
            {
                "apiVersion": API_VERSION,
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": PRIORITY},
                "value": 100,
            },
        ]

    def _yard(self, *arguments: str) -> None:
        done = subprocess.run(  # noqa: S603 - our own commands
            [str(YARD), *arguments],
            cwd=ROOT,
            env=self._environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
        if done.returncode:
            sys.exit(f"yard {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")


def _group(wave: str, nodes: int) -> Group:
    return Group(
        name=f"{POOL}-{wave}",
        arn=f"arn:aws:eks:us-east-1:000000000000:nodegroup/bench/{POOL}-{wave}/1",
        cluster="bench",
        region="us-east-1",
        instance_type=KIND,
        desired=nodes,
        subnets=("subnet-1",),
        labels={"trainyard.dev/pool": POOL, "trainyard.dev/wave": wave},
        taints=(
            ("nvidia.com/gpu", "present", "NO_SCHEDULE"),
            ("trainyard.dev/unproved", "true", "NO_SCHEDULE"),
        ),
        capacity="CAPACITY_BLOCK",
        kubernetes="1.35",
        image_type="AL2023_x86_64_NVIDIA",
        image_release="latest",
        template=None,
        launch=Launch(
            efa_interfaces=instance_type(KIND).efa_interfaces,
            huge_pages=HUGE_PAGES,
            config=NodeConfig(local_storage=True),
        ),
    )


def _instance(wave: str, index: int) -> Instance:
    """Make up an instance: another one in each wave, so that no blacklist knows it."""
    address = f"10.{int(wave) % 256}.{index // 256}.{index % 256}"
    return Instance(
        id=f"i-{int(wave):08x}{index:09x}",
        address=address,
        dns_name=f"ip-{address.replace('.', '-')}.ec2.internal",
        zone="us-east-1a",
        zone_id="use1-az6",
        index=index,
    )


def _is_ready(node: dict[str, Any]) -> bool:
    conditions: list[dict[str, str]] = node["status"].get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _result(
    report: dict[str, Any], bad: dict[str, str], wall_seconds: float, cpu_seconds: float
) -> Result:
    out = {each["name"]: each["verdict"] for each in report["nodes"] if each["verdict"] != "pass"}
    wrongly = {name: verdict for name, verdict in out.items() if name not in bad}
    effort = report["effort"]
    return Result(
        faults=len(bad),
        kinds=", ".join(sorted(set(bad.values()))),
        verdict=report["verdict"],
        found=len(bad.keys() & out.keys()),
        missed=tuple(sorted(f"{name} ({bad[name]})" for name in bad.keys() - out.keys())),
        blamed_wrongly=tuple(sorted(name for name, each in wrongly.items() if each == "fail")),
        held_wrongly=tuple(sorted(name for name, each in wrongly.items() if each != "fail")),
        pair_rounds=effort["pair_rounds"],
        sweeps=effort["sweeps"] / 4,
        searches=effort["search_rounds"],
        jobs=sum(effort[name] for name in effort if name.endswith("_tests")) + effort["sweeps"],
        wall_seconds=round(wall_seconds, 1),
        gate_cpu_seconds=round(cpu_seconds, 1),
    )


HEADER = (
    "faults  found  exactly  false blame  pair rounds  sweeps  searches   Jobs  wall s  gate CPU s"
)


def _row(result: Result) -> str:
    exactly = "yes" if result.exact else "NO"
    return (
        f"{result.faults:6d} {result.found:6d}  {exactly:>7s} {len(result.blamed_wrongly):12d} "
        f"{result.pair_rounds:12d} {result.sweeps:7g} {result.searches:9d} {result.jobs:6d} "
        f"{result.wall_seconds:7.1f} {result.gate_cpu_seconds:11.1f}"
    )


def main() -> None:
    """Measure each number of faults; exit code 1 if a run found anything but these."""
    given = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given.add_argument("--nodes", type=int, default=1024)
    given.add_argument("--faults", default="0,1,4,16", help="numbers of bad nodes, with commas")
    given.add_argument("--seed", type=int, default=1)
    given.add_argument("--json", action="store_true", help="print results as JSON")
    given.add_argument("--watch", action="store_true", help="let the gate's own lines through")
    asked = given.parse_args()
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="trainyard-bench-") as folder:
        bench = Bench(Path(folder), asked.nodes, watch=asked.watch)
        try:
            started = dt.datetime.now(dt.UTC)
            bench.start()
            if not asked.json:
                print(f"{asked.nodes} nodes of {KIND}, seed {asked.seed}, {started:%Y-%m-%d}")
                print(HEADER)
            for count in map(int, asked.faults.split(",")):
                results.append(bench.measure(count, asked.seed))
                if not asked.json:
                    print(_row(results[-1]), flush=True)
        finally:
            bench.stop()
    if asked.json:
        print(json.dumps([asdict(each) for each in results], indent=1))
    sys.exit(0 if all(each.exact for each in results) else 1)


if __name__ == "__main__":
    main()
