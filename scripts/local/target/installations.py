"""What the controllers find in the control plane at their start: applied once, then remembered."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.local.target import kueue, mpi_operator
from scripts.local.target.api import Api, Json
from scripts.local.target.etcd import Etcd, add_to_baseline
from scripts.local.target.files import write_private
from scripts.local.target.part import KUEUE_OBJECTS, MPI_OBJECTS
from scripts.local.target.pki import Pki

if TYPE_CHECKING:
    from scripts.local.toolchain.tools import Tools

__all__ = ["Installation", "install", "installations"]


@dataclass(frozen=True, slots=True)
class Installation:
    """The objects of one controller."""

    name: str
    """Needed like a part."""

    told: str
    """What is reported when they were applied."""

    edition: str
    """Changes with anything that they are made from."""

    objects: Callable[[], Iterable[Json]]


def installations(tools: "Tools", ports: Mapping[str, int], pki: Pki) -> tuple[Installation, ...]:
    """Give all installations, in the order to apply them."""
    webhook = f"https://127.0.0.1:{ports['kueue-webhook']}"
    return (
        Installation(
            name=MPI_OBJECTS,
            told="mpi-operator: applied its CRD and roles",
            edition=mpi_operator.edition(tools.version("mpi-operator")),
            objects=lambda: mpi_operator.objects(tools.mpi_module),
        ),
        Installation(
            name=KUEUE_OBJECTS,
            told="kueue: applied its CRDs, roles and webhooks",
            edition=kueue.edition(tools.version("kueue"), webhook, pki),
            objects=lambda: kueue.objects(tools.kueue_module, webhook, pki),
        ),
    )


def install(wanted: Installation, state: Path, open_api: Callable[[], Api], etcd: Etcd) -> bool:
    """Apply the objects unless just this edition is applied; says whether it did.

    Parameters
    ----------
    wanted
        The objects.
    state
        The folder of the home's state: keeps the edition, and perhaps a baseline.
    open_api
        Logs in to the control plane.
    etcd
        The store behind it.
    """
    done = state / wanted.name
    if done.exists() and done.read_text(encoding="ascii") == wanted.edition:
        return False
    items = list(wanted.objects())
    with open_api() as api:
        for item in items:
            api.apply(item)
    baseline = state / "baseline.json"
    if baseline.exists():  # saved with another edition: who empties the cluster shall keep this one
        add_to_baseline(etcd, baseline, items)
    write_private(done, wanted.edition.encode())
    return True
