"""The parts that stand in for what a laptop lacks: AWS, machines and their kubelets."""

import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.local.home import Home
from scripts.local.target.control_plane import LEASE_SECONDS
from scripts.local.target.health import heartbeat_probe, http_probe
from scripts.local.target.node_objects import MANAGED_SELECTOR
from scripts.local.target.part import REPOSITORY, Part
from scripts.local.target.pki import Pki

if TYPE_CHECKING:
    from scripts.local.toolchain.tools import Tools

__all__ = ["kubelet", "kwok", "nodes", "simulator"]

HEARTBEAT_SECONDS = 20.0
"""The node reconciler finishes a round each second; a thousand new nodes make one take longer."""

POD_RANGE = "100.64.0.0/10"
"""Addresses of simulated pods: carrier-grade NAT space, as many VPCs use for pods."""


def simulator(home: Home, ports: Mapping[str, int], pki: Pki) -> Part:
    """Describe the AWS simulator."""
    port = ports["simulator"]
    return Part(
        name="simulator",
        about="AWS API: moto, completed by Trainyard",
        real=False,
        version=f"moto {importlib.metadata.version('moto')}",
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
        files=_sources("simulator"),
    )


def kwok(home: Home, tools: "Tools", ports: Mapping[str, int]) -> Part:
    """Describe kwok."""
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


def kubelet(home: Home, ports: Mapping[str, int], pki: Pki) -> Part:
    """Describe the kubelet stand-in."""
    port = ports["kubelet"]
    return Part(
        name="kubelet",
        about="answers for every node's kubelet: logs of pods",
        real=False,
        version=importlib.metadata.version("trainyard"),
        argv=_python("scripts.local.target.kubelet", f"--home={home.root}", f"--port={port}"),
        port=port,
        needs=("kube-apiserver",),
        probe=http_probe(f"https://127.0.0.1:{port}/healthz", pki),
        files=(pki.certificate("server"), *_sources("target")),
    )


def nodes(home: Home, ports: Mapping[str, int], stacks: Path) -> Part:
    """Describe the node reconciler."""
    return Part(
        name="nodes",
        about="EC2 and EKS node groups: turns them into nodes",
        real=False,
        version=importlib.metadata.version("trainyard"),
        argv=_python(
            "scripts.local.target.nodes",
            f"--home={home.root}",
            f"--aws=http://127.0.0.1:{ports['simulator']}",
            f"--stacks={stacks}",
        ),
        port=None,
        needs=("kube-apiserver", "simulator"),
        probe=heartbeat_probe(home.heartbeat, HEARTBEAT_SECONDS),
        files=_sources("target"),
        signs=(home.heartbeat,),
    )


def _sources(package: str) -> tuple[Path, ...]:
    """Give the files of one of our packages, so that ``up`` starts changed code anew."""
    return tuple(sorted((REPOSITORY / "scripts" / "local" / package).rglob("*.py")))


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    # -P: the working folder may hold another `scripts` package, of another checkout.
    return (sys.executable, "-P", "-m", module, *arguments)
