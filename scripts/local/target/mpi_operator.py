"""What the MPI operator's manifests would put into a cluster, without the pod and its account.

The controller is a process beside the control plane. It takes no lease, so it has no namespace.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from scripts.local.target import manifests
from scripts.local.target.api import Json

__all__ = ["edition", "objects"]

FILES = ("kubeflow.org_mpijobs.yaml", "cluster-role.yaml", "cluster-role-binding.yaml")
"""Of ``manifests/base``, in the order to apply; the others make the account and the pod."""

USER = "mpi-operator"


def objects(module: Path) -> Iterator[Json]:
    """Give the CRD of MPIJobs and the roles, the controller's bound to its certificate.

    Parameters
    ----------
    module
        The source folder of the MPI operator's Go module.
    """
    base = module / "manifests" / "base"
    for item in manifests.load(base / name for name in FILES):
        yield manifests.bound_to(USER, item)


def edition(version: str) -> str:
    """Give a digest of all that the objects are made from."""
    return hashlib.sha256(manifests.code(__file__) + version.encode()).hexdigest()
