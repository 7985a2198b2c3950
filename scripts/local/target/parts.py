"""The parts of the target: what each runs, what it needs first, and whether it is the real thing."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scripts.local.home import Home
from scripts.local.target.health import Probe, heartbeat_probe, http_probe
from scripts.local.target.node_objects import MANAGED_SELECTOR
from scripts.local.target.pki import Pki

__all__ = ["REPOSITORY", "Part", "Tools", "heartbeat", "part_environment", "parts"]

REPOSITORY = Path(__file__).parents[3]

HEARTBEAT_SECONDS = 20.0
"""The node reconciler finishes a round each second; a thousand new nodes make one take longer."""

LEASE_SECONDS = 240
"""A node's lease is renewed four times in this time: 17 a second for 1,024 nodes."""

SERVICE_RANGE = "172.20.0.0/16"
"""The range that EKS gives Services when the VPC is in 10.0.0.0/8."""

POD_RANGE = "100.64.0.0/10"
"""Addresses of simulated pods: carrier-grade NAT space, as many VPCs use for pods."""


class Tools(Protocol):
    """What the toolchain gives."""

    @property
    def kueue_module(self) -> Path:
        """The source folder of Kueue's Go module."""
        ...

    @property
    def kwok_module(self) -> Path:
        """The source folder of kwok's Go module."""
        ...

    def path(self, name: str) -> Path:
        """Give the path of a program."""
        ...

    def version(self, name: str) -> str:
        """Give the version of a program."""
        ...


@dataclass(frozen=True)
class Part:
    """One process of the target."""

    name: str
    about: str
    """What it is, and for a stand-in what it stands for."""

    real: bool
    version: str
    argv: tuple[str, ...]
    port: int | None
    needs: tuple[str, ...]
    probe: Probe
    files: tuple[Path, ...] = ()
    """Files that it reads at its start; with another content it must be started anew."""

    def fingerprint(self) -> str:
        """Change with the command line and with the content of the files."""
        digest = hashlib.sha256(json.dumps([self.version, *self.argv]).encode())
        for path in self.files:
            digest.update(path.read_bytes())
        return digest.hexdigest()


def part_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Give a part's environment: no credentials and no proxies of whoever starts it."""
    kept = {name: environ[name] for name in ("HOME", "LANG", "PATH", "TMPDIR") if name in environ}
    return kept | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}


def heartbeat(home: Home) -> Path:
    """Give the file in which the node reconciler says that it is alive."""
    return home.state / "nodes.json"


def parts(home: Home, tools: Tools, ports: Mapping[str, int], pki: Pki) -> tuple[Part, ...]:
    """Give all parts in the order in which they are shown; each stands after those it needs."""
    return (
        _simulator(home, ports, pki),
        _etcd(home, tools, ports, pki),
        _apiserver(home, tools, ports, pki),
        _controller_manager(home, tools, ports, pki),
        _scheduler(home, tools, ports, pki),
        _kueue(home, tools, ports, pki),
        _kwok(home, tools, ports),
        _kubelet(home, ports, pki),
        _nodes(home, ports),
    )


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)


def _simulator(home: Home, ports: Mapping[str, int], pki: Pki) -> Part:
    port = ports["simulator"]
    return Part(
        name="simulator",
        about="AWS API: moto, completed by Trainyard",
        real=False,
        version="moto",
        argv=_python(
            "scripts.local.simulator",
            f"--port={port}",
            f"--state={home.state / 'simulator'}",
            f"--kube-endpoint=https://127.0.0.1:{ports['kube-apiserver']}",
            f"--kube-ca={pki.ca}",
        ),
        port=port,
        needs=(),
        probe=http_probe(f"http://127.0.0.1:{port}/trainyard/health"),
    )


def _etcd(home: Home, tools: Tools, ports: Mapping[str, int], pki: Pki) -> Part:
    client = f"https://127.0.0.1:{ports['etcd']}"
    peer = f"http://127.0.0.1:{ports['etcd-peer']}"
    health = f"http://127.0.0.1:{ports['etcd-health']}"
    return Part(
        name="etcd",
        about="etcd",
        real=True,
        version=tools.version("etcd"),
        argv=(
            str(tools.path("etcd")),
            "--name=trainyard",
            f"--data-dir={home.state / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=trainyard={peer}",
            f"--listen-metrics-urls={health}",
            f"--cert-file={pki.certificate('server')}",
            f"--key-file={pki.key('server')}",
            f"--trusted-ca-file={pki.ca}",
            "--client-cert-auth",
            # Survives the end of the process, not of the machine's power: enough for a simulation.
            "--unsafe-no-fsync",
            "--auto-compaction-retention=10m",
            "--log-level=warn",
        ),
        port=ports["etcd"],
        needs=(),
        probe=http_probe(f"{health}/health"),
        files=(pki.certificate("server"),),
    )


def _apiserver(home: Home, tools: Tools, ports: Mapping[str, int], pki: Pki) -> Part:
    port = ports["kube-apiserver"]
    review = home.config / "token-review.yaml"
    return Part(
        name="kube-apiserver",
        about="Kubernetes API server, with the access entries of the simulator",
        real=True,
        version=tools.version("kube-apiserver"),
        argv=(
            str(tools.path("kube-apiserver")),
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={pki.certificate('server')}",
            f"--tls-private-key-file={pki.key('server')}",
            f"--client-ca-file={pki.ca}",
            f"--etcd-servers=https://127.0.0.1:{ports['etcd']}",
            f"--etcd-cafile={pki.ca}",
            f"--etcd-certfile={pki.certificate('apiserver-etcd')}",
            f"--etcd-keyfile={pki.key('apiserver-etcd')}",
            f"--kubelet-certificate-authority={pki.ca}",
            f"--kubelet-client-certificate={pki.certificate('apiserver-kubelet')}",
            f"--kubelet-client-key={pki.key('apiserver-kubelet')}",
            # Nodes carry their simulated addresses; where their logs are really is ExternalDNS.
            "--kubelet-preferred-address-types=ExternalDNS",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={pki.service_account_public}",
            f"--service-account-signing-key-file={pki.key('service-account')}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--authorization-mode=Node,RBAC",
            f"--authentication-token-webhook-config-file={review}",
            "--authentication-token-webhook-version=v1",
            # Short, so that a changed access entry counts at once.
            "--authentication-token-webhook-cache-ttl=2s",
            "--enable-admission-plugins=NodeRestriction",
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--profiling=false",
            "--event-ttl=30m",
        ),
        port=port,
        needs=("etcd",),
        probe=http_probe(f"https://127.0.0.1:{port}/readyz", pki),
        files=(review, pki.certificate("server")),
    )


def _controller_manager(home: Home, tools: Tools, ports: Mapping[str, int], pki: Pki) -> Part:
    port = ports["kube-controller-manager"]
    kubeconfig = home.config / "controller-manager.kubeconfig"
    return Part(
        name="kube-controller-manager",
        about="Kubernetes controllers, without those of a cloud",
        real=True,
        version=tools.version("kube-controller-manager"),
        argv=(
            str(tools.path("kube-controller-manager")),
            *_secured(port, kubeconfig, pki),
            "--controllers=*,-nodeipam,-node-route-controller,-service-lb-controller",
            f"--root-ca-file={pki.ca}",
            f"--service-account-private-key-file={pki.key('service-account')}",
            # Longer than a lease: a node is dead when a fault says so, not when the machine is slow.
            f"--node-monitor-grace-period={LEASE_SECONDS + 60}s",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--concurrent-job-syncs=20",
        ),
        port=port,
        needs=("kube-apiserver",),
        probe=http_probe(f"https://127.0.0.1:{port}/healthz", pki),
        files=(kubeconfig,),
    )


def _scheduler(home: Home, tools: Tools, ports: Mapping[str, int], pki: Pki) -> Part:
    port = ports["kube-scheduler"]
    kubeconfig = home.config / "scheduler.kubeconfig"
    return Part(
        name="kube-scheduler",
        about="Kubernetes scheduler",
        real=True,
        version=tools.version("kube-scheduler"),
        argv=(
            str(tools.path("kube-scheduler")),
            *_secured(port, kubeconfig, pki),
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ),
        port=port,
        needs=("kube-apiserver",),
        probe=http_probe(f"https://127.0.0.1:{port}/healthz", pki),
        files=(kubeconfig,),
    )


def _secured(port: int, kubeconfig: Path, pki: Pki) -> Sequence[str]:
    return (
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki.certificate('server')}",
        f"--tls-private-key-file={pki.key('server')}",
        f"--client-ca-file={pki.ca}",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--profiling=false",
    )


def _kueue(home: Home, tools: Tools, ports: Mapping[str, int], pki: Pki) -> Part:
    configuration = home.config / "kueue.yaml"
    kubeconfig = home.config / "kueue.kubeconfig"
    return Part(
        name="kueue",
        about="Kueue's controller, beside the control plane instead of in a pod",
        real=True,
        version=tools.version("kueue"),
        argv=(
            str(tools.path("kueue")),
            f"-config={configuration}",
            f"-kubeconfig={kubeconfig}",
            # Its aggregated API would need a Service network that reaches this process.
            "-feature-gates=VisibilityOnDemand=false",
            "-zap-log-level=error",
        ),
        port=ports["kueue-webhook"],
        needs=("kube-apiserver", "kueue-objects"),
        probe=http_probe(f"http://127.0.0.1:{ports['kueue-health']}/readyz"),
        files=(configuration, kubeconfig, pki.certificate("server")),
    )


def _kwok(home: Home, tools: Tools, ports: Mapping[str, int]) -> Part:
    configuration = home.config / "kwok.yaml"
    kubeconfig = home.config / "kwok.kubeconfig"
    return Part(
        name="kwok",
        about="plays the nodes and their pods",
        real=False,
        version=tools.version("kwok"),
        argv=(
            str(tools.path("kwok")),
            f"--config={configuration}",
            f"--kubeconfig={kubeconfig}",
            # Not all: a node that a fault has killed loses the label, and nobody plays it then.
            f"--manage-nodes-with-label-selector={MANAGED_SELECTOR}",
            "--node-ip=127.0.0.1",
            f"--node-port={ports['kubelet']}",
            f"--cidr={POD_RANGE}",
            f"--node-lease-duration-seconds={LEASE_SECONDS}",
            f"--server-address=127.0.0.1:{ports['kwok']}",
        ),
        port=ports["kwok"],
        needs=("kube-apiserver",),
        probe=http_probe(f"http://127.0.0.1:{ports['kwok']}/healthz"),
        files=(configuration, kubeconfig),
    )


def _kubelet(home: Home, ports: Mapping[str, int], pki: Pki) -> Part:
    port = ports["kubelet"]
    return Part(
        name="kubelet",
        about="answers for every node's kubelet: logs of pods",
        real=False,
        version="trainyard",
        argv=_python("scripts.local.target.kubelet", f"--home={home.root}", f"--port={port}"),
        port=port,
        needs=("kube-apiserver",),
        probe=http_probe(f"https://127.0.0.1:{port}/healthz", pki),
        files=(pki.certificate("server"),),
    )


def _nodes(home: Home, ports: Mapping[str, int]) -> Part:
    return Part(
        name="nodes",
        about="EC2 and EKS node groups: turns them into nodes",
        real=False,
        version="trainyard",
        argv=_python(
            "scripts.local.target.nodes",
            f"--home={home.root}",
            f"--aws=http://127.0.0.1:{ports['simulator']}",
        ),
        port=None,
        needs=("kube-apiserver", "simulator"),
        probe=heartbeat_probe(heartbeat(home), HEARTBEAT_SECONDS),
    )
