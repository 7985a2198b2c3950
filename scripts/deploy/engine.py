"""One stack on the Pulumi engine: how the command is called, and what it left behind."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.errors import FailedError

__all__ = ["ROOT", "Engine"]

ROOT = Path(__file__).resolve().parents[2]
POLICY_PACK = "policies"


@dataclass(frozen=True)
class Engine:
    """The ``pulumi`` command for one stack of this project."""

    pulumi: Path
    stack: str
    environment: Mapping[str, str]
    settings: Path
    """The stack file that the engine reads, and into which it may write."""

    def run(self, *arguments: str) -> int:
        """Run ``pulumi`` on the user's terminal and return its exit code."""
        return subprocess.run(  # noqa: S603 - the program is the one the toolchain located
            self._command(arguments), cwd=ROOT, env=dict(self.environment), check=False
        ).returncode

    def read(self, *arguments: str, told: str | None = None) -> str:
        """Run ``pulumi`` unseen, with `told` as its input, and return its output.

        Raises
        ------
        FailedError
            If the command fails; the message holds what it wrote.
        """
        done = subprocess.run(  # noqa: S603 - the program is the one the toolchain located
            self._command(arguments),
            cwd=ROOT,
            env=dict(self.environment),
            check=False,
            input=told,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise FailedError(f"pulumi {' '.join(arguments)} failed: {said}")
        return done.stdout

    def up(self, *, preview: bool) -> int:
        """Deploy under the policy pack.

        With `preview` every violation is known before anything is changed, at the price of
        running the program twice.
        """
        shown = () if preview else ("--skip-preview",)
        return self._change("up", "--yes", *shown, "--policy-pack", POLICY_PACK)

    def preview(self, log: Path) -> int:
        """Show what `up` would change, judged by the policy pack; write its events to `log`."""
        # The engine offers its event log, which its automation API reads, behind this variable.
        told = {**self.environment, "PULUMI_DEBUG_COMMANDS": "true"}
        wanted = ("--policy-pack", POLICY_PACK, "--event-log", str(log))
        return replace(self, environment=told).run("preview", *wanted, *self._from_settings())

    def refresh(self, *arguments: str) -> int:
        """Read every resource again."""
        return self._change("refresh", "--yes", *arguments)

    def destroy(self) -> int:
        """Destroy everything in the stack."""
        return self._change("destroy", "--yes")

    def exists(self) -> bool:
        """Tell whether the backend knows the stack."""
        listed: list[dict[str, Any]] = json.loads(self.read("stack", "ls", "--json"))
        return any(entry["name"].rsplit("/", 1)[-1] == self.stack for entry in listed)

    def export(self) -> dict[str, Any]:
        """Return the stack's deployment, secrets encrypted."""
        state: dict[str, Any] = json.loads(self.read("stack", "export"))
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put a deployment in the place of the stack's own."""
        self.read("stack", "import", told=json.dumps(state))

    def _change(self, *arguments: str) -> int:
        return self._operate(*arguments, "--suppress-permalink")

    def _operate(self, *arguments: str) -> int:
        return self.run(*arguments, *self._from_settings())

    def _from_settings(self) -> tuple[str, str]:
        return "--config-file", str(self.settings)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        whole_backend = arguments[:2] == ("stack", "ls")
        which = () if whole_backend else ("--stack", self.stack)
        return [str(self.pulumi), *arguments, *which, "--non-interactive"]
