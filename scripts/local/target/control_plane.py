"""The real parts: etcd, the Kubernetes control plane and the controllers beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.local.home import Home
from scripts.local.target.health import http_probe
from scripts.local.target.part import KUEUE_OBJECTS, MPI_OBJECTS, Part
from scripts.local.target.pki import Pki

if TYPE_CHECKING:
    from scripts.local.toolchain.tools import Tools

__all__ = [
    "LEASE_SECONDS",
    "apiserver",
    "controller_manager",
    "etcd",
    "kueue",
    "mpi_operator",
    "scheduler",
]

LEASE_SECONDS = 240
"""A node's lease is renewed four times in this time: 17 a second for 1,024 nodes."""

SERVICE_RANGE = "172.20.0.0/16"
"""The range that EKS gives Services when the VPC is in 10.0.0.0/8."""


def etcd(home: Home, tools: "Tools", ports: Mapping[str, int], pki: Pki) -> Part:
    """Describe etcd."""
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


def apiserver(home: Home, tools: "Tools", ports: Mapping[str, int], pki: Pki) -> Part:
    """Describe the API server."""
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
            # Nobody has a certificate of this name: proxied API servers are not offered. Without
            # these settings controllers complain about them each minute.
            f"--requestheader-client-ca-file={pki.ca}",
            "--requestheader-allowed-names=front-proxy-client",
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


def controller_manager(home: Home, tools: "Tools", ports: Mapping[str, int], pki: Pki) -> Part:
    """Describe the controller manager."""
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
            # Each controller then acts under its own role, as on a real cluster.
            "--use-service-account-credentials",
            f"--root-ca-file={pki.ca}",
            f"--service-account-private-key-file={pki.key('service-account')}",
            # Longer than a lease: a node dies when a fault says so, not when the machine is slow.
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


def scheduler(home: Home, tools: "Tools", ports: Mapping[str, int], pki: Pki) -> Part:
    """Describe the scheduler."""
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


def kueue(home: Home, tools: "Tools", ports: Mapping[str, int], pki: Pki) -> Part:
    """Describe Kueue's controller."""
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
        # It looks for the CRD of MPIJobs at its start, and afterwards less and less often.
        needs=("kube-apiserver", KUEUE_OBJECTS, MPI_OBJECTS),
        probe=http_probe(f"http://127.0.0.1:{ports['kueue-health']}/readyz"),
        files=(configuration, kubeconfig, pki.certificate("kueue-webhook")),
    )


def mpi_operator(home: Home, tools: "Tools", ports: Mapping[str, int]) -> Part:
    """Describe the MPI operator's controller."""
    kubeconfig = home.config / "mpi-operator.kubeconfig"
    address = f"127.0.0.1:{ports['mpi-operator']}"
    return Part(
        name="mpi-operator",
        about="the MPI operator's controller, beside the control plane instead of in a pod",
        real=True,
        version=tools.version("mpi-operator"),
        argv=(
            str(tools.path("mpi-operator")),
            f"-kubeConfig={kubeconfig}",
            f"-health-address={address}",
            # Its own numbers (5 and 10 calls, 10 events a second, 2 threads) would keep a gate of
            # 512 MPIJobs, which are some 8,000 events, waiting for a quarter of an hour.
            "-kube-api-qps=500",
            "-kube-api-burst=1000",
            "-controller-queue-rate-limit=1000",
            "-controller-queue-burst=10000",
            "-threadiness=16",
        ),
        port=ports["mpi-operator"],
        needs=("kube-apiserver", MPI_OBJECTS),
        probe=http_probe(f"http://{address}/readyz"),
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
