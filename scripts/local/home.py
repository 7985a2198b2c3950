"""Where the embedded target keeps its state: one folder for one user's target."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

__all__ = ["Home", "find_home"]


@dataclass(frozen=True)
class Home:
    """The folder of one embedded target, and every path in it."""

    root: Path

    @property
    def logs(self) -> Path:
        """One ``NAME.log`` per part."""
        return self.root / "logs"

    @property
    def pids(self) -> Path:
        """One record per started process."""
        return self.root / "pids"

    @property
    def state(self) -> Path:
        """What survives ``down``: etcd's data, the simulator's state, the node reconciler's."""
        return self.root / "state"

    @property
    def pki(self) -> Path:
        """The target's own certificate authority, certificates and keys."""
        return self.root / "pki"

    @property
    def config(self) -> Path:
        """Configuration files and kubeconfigs of the parts, written at each ``up``."""
        return self.root / "config"

    @property
    def backend(self) -> Path:
        """Pulumi's state of the stacks, as a file backend."""
        return self.root / "pulumi" / "backend"

    @property
    def pulumi(self) -> Path:
        """Pulumi's own home: its plugins and the selected stack of each project."""
        return self.root / "pulumi" / "home"

    @property
    def stacks(self) -> Path:
        """Copies of stack files, which Pulumi may write to."""
        return self.root / "pulumi" / "stacks"

    @property
    def passphrase(self) -> Path:
        """The random passphrase that encrypts secrets in the file backend."""
        return self.root / "pulumi" / "passphrase"

    @property
    def kubeconfig(self) -> Path:
        """An administrator's kubeconfig of the control plane."""
        return self.root / "kubeconfig"

    @property
    def bin(self) -> Path:
        """Programs of this home that go first on PATH."""
        return self.root / "bin"

    @property
    def faults(self) -> Path:
        """The faults that are set, as JSON."""
        return self.root / "faults.json"

    @property
    def ports(self) -> Path:
        """The ports of 127.0.0.1 that were chosen at the first ``up``."""
        return self.root / "ports.json"

    @property
    def heartbeat(self) -> Path:
        """In it the node reconciler says that it is alive."""
        return self.state / "nodes.json"

    @property
    def lock(self) -> Path:
        """Held while ``up`` or ``down`` changes processes."""
        return self.root / "lock"

    def make(self) -> None:
        """Create the folders; only this user may read them."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (
            self.logs,
            self.pids,
            self.state,
            self.pki,
            self.config,
            self.backend,
            self.pulumi,
            self.stacks,
            self.bin,
        ):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def find_home(environ: Mapping[str, str] = os.environ) -> Home:
    """Give the home named by ``TRAINYARD_HOME``, else the user's state folder."""
    named = environ.get("TRAINYARD_HOME")
    if named:
        return Home(Path(named).expanduser().resolve())
    return Home(Path(platformdirs.user_state_dir("trainyard")) / "local")
