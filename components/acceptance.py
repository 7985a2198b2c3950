"""The acceptance layer: each wave of nodes proves itself before anything runs on it."""

import hashlib
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import pulumi
from pulumi_command import local
from pydantic import Field

from components.catalog import image
from components.namespaces import closed_namespace
from components.naming import Names
from components.settings import PinnedImage, Section
from components.waves import Wave

__all__ = ["Acceptance", "AcceptanceConfig"]

NAMESPACE = "trainyard-gate"

ROOT = Path(__file__).parents[1]
JUDGES = (
    "scripts/blacklist",
    "scripts/gate",
    "scripts/jobs",
    "scripts/nccl",
    "scripts/node",
    "scripts/records",
    "scripts/verdicts.py",
    "components/catalog/floors.py",
    "components/catalog/floors.yaml",
)
"""What decides a verdict; when it changes, every wave is judged again."""

SUFFIXES = {".py", ".sh", ".yaml"}


class AcceptanceConfig(Section):
    """How waves are judged."""

    image: PinnedImage | None = None
    """Image of the checks when it is not the catalog's; by digest, so that all are proved alike."""

    timeout_seconds: Annotated[int, Field(ge=60, le=4 * 3600)] = 3600
    """Longest time for one wave; a gate that runs out of it knows nothing, and opens nothing."""


class Acceptance(pulumi.ComponentResource):
    """The namespace of the checks, and a gate for each wave."""

    verdicts: dict[str, pulumi.Output[str]]

    def __init__(
        self,
        name: str,
        config: AcceptanceConfig,
        *,
        names: Names,
        kubeconfig: pulumi.Input[str],
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:acceptance:Acceptance", name, None, opts)
        self._name, self._config, self._kubeconfig = name, config, kubeconfig
        self._after = list(after)
        self._image = config.image or image("nccl-tests", names.region)
        # The checks read the kernel's log, which no stricter level lets them do.
        self.namespace = closed_namespace(
            name, NAMESPACE, pulumi.ResourceOptions(parent=self), level="privileged"
        )
        self.gates: list[pulumi.Resource] = []
        self.verdicts = {}
        self.register_outputs({"namespace": self.namespace})

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
                wave.group_id,
                wave.image_release,
                wave.template_version,
                command,
                self.namespace,
            ],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[wave.group, *self._after]),
        )
        self.verdicts[label] = gate.stdout
        self.gates.append(gate)
        return gate

    def _command(self, wave: Wave) -> str:
        options: dict[str, str | float] = {
            "pool": wave.pool,
            "wave": wave.number,
            "nodes": wave.nodes,
            "type": wave.instance_type,
            "image": self._image,
            "kubeconfig": "-",
            "namespace": NAMESPACE,
            "report-dir": "reports",
            "timeout": self._config.timeout_seconds,
        }
        if wave.floor_gbps is not None:
            options["floor"] = wave.floor_gbps
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        fabric = [] if wave.efa else ["--no-efa"]
        return shlex.join(["yard", "gate", "run", *words, *fabric])


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
