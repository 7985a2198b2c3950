"""The parts of the target, all of them, in their order."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.local.home import Home
from scripts.local.target import control_plane, stand_ins
from scripts.local.target.part import REPOSITORY, Part
from scripts.local.target.pki import Pki

if TYPE_CHECKING:
    from scripts.local.toolchain.tools import Tools

__all__ = ["ORDER", "parts"]

ORDER = (
    "simulator",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kueue",
    "mpi-operator",
    "kwok",
    "kubelet",
    "nodes",
)
"""All parts, each after those it needs: shown like this, and ended the other way round."""


def parts(
    home: Home, tools: "Tools", ports: Mapping[str, int], pki: Pki, stacks: Path = REPOSITORY
) -> tuple[Part, ...]:
    """Give all parts in ``ORDER``; ``stacks`` is the folder of the stack files."""
    return (
        stand_ins.simulator(home, ports, pki),
        control_plane.etcd(home, tools, ports, pki),
        control_plane.apiserver(home, tools, ports, pki),
        control_plane.controller_manager(home, tools, ports, pki),
        control_plane.scheduler(home, tools, ports, pki),
        control_plane.kueue(home, tools, ports, pki),
        control_plane.mpi_operator(home, tools, ports),
        stand_ins.kwok(home, tools, ports),
        stand_ins.kubelet(home, ports, pki),
        stand_ins.nodes(home, ports, stacks),
    )
