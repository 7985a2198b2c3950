"""Ports of 127.0.0.1: chosen once for a home, then kept, because clusters name them."""

import random
import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from scripts.errors import UsageError
from scripts.local.target.files import read_json, write_json

__all__ = ["NAMES", "PortInUseError", "is_free", "load_ports"]

NAMES = (
    "simulator",
    "etcd",
    "etcd-peer",
    "etcd-health",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kwok",
    "kueue-health",
    "kueue-webhook",
    "mpi-operator",
)
"""Every port that some part listens on."""

RANGE = range(20000, 30000)
"""Below the ports that Linux hands to outgoing connections (32768) and above the usual servers:
a remembered port is then seldom taken by a passing connection. 30000 starts the NodePorts."""


class PortInUseError(UsageError):
    """A remembered port is held by a program that is not ours."""

    def __init__(self, name: str, port: int) -> None:
        super().__init__(
            f"port {port} of 127.0.0.1, which this target keeps for {name}, is used by another"
            " program; stop that program, or give up this target's state with"
            " `yard local down --wipe` and start again"
        )


def is_free(port: int) -> bool:
    """Say whether nothing listens on this port of 127.0.0.1."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose(
    names: Iterable[str],
    taken: Iterable[int],
    candidates: Sequence[int],
    free: Callable[[int], bool] = is_free,
) -> dict[str, int]:
    """Give each name the next candidate that is free and not taken."""
    used = set(taken)
    chosen: dict[str, int] = {}
    remaining = iter(candidates)
    for name in names:
        port = next(port for port in remaining if port not in used and free(port))
        used.add(port)
        chosen[name] = port
    return chosen


def load_ports(path: Path) -> dict[str, int]:
    """Read the ports of a home; choose and remember those that it lacks."""
    known = cast("dict[str, int]", read_json(path) or {})
    missing = [name for name in NAMES if name not in known]
    if missing:
        # Not a secret: only spreads homes of several users over the range.
        candidates = random.sample(RANGE, len(RANGE))
        known |= choose(missing, known.values(), candidates)
        write_json(path, known)
    return known
