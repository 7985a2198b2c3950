"""The ``yard`` command: groups are loaded when they are used, so that ``yard --help`` is quick."""

import importlib
import sys
import traceback

import click
from typing_extensions import override

from scripts.errors import UnknownError, YardError

__all__ = ["main", "yard"]

# group or command -> (module, attribute, one line for `yard --help`)
COMMANDS = {
    "up": ("scripts.deploy.cli", "up", "Deploy a stack under the policy pack."),
    "preview": ("scripts.deploy.cli", "preview", "Show what `up` would change."),
    "down": ("scripts.deploy.cli", "down", "Destroy a stack."),
    "nccl": ("scripts.nccl.cli", "nccl", "Judge logs of nccl-tests."),
    "node": ("scripts.node.cli", "node", "Judge the capture of a node."),
    "baseline": ("scripts.baseline.cli", "baseline", "What equal runs reached before."),
    "blacklist": ("scripts.blacklist.cli", "blacklist", "Hardware that failed, and until when."),
    "storage": ("scripts.storage.cli", "storage", "Judge what nodes measured of shared storage."),
    "catalog": ("scripts.catalog.cli", "catalog", "Look at instance types, verify them with EC2."),
    "config": ("scripts.config.cli", "config", "Judge stack files without an engine."),
    "plan": ("scripts.plan.cli", "plan", "Plan a site on paper: addresses, limits, clusters."),
    "gate": ("scripts.gate.cli", "gate", "Prove a wave of nodes and open it."),
    "local": ("scripts.local.cli", "local", "The embedded target: the whole thing on one machine."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in sorted(COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def yard() -> None:
    """Trainyard: stand up, prove and run a GPU training cluster.

    Exit codes: 0 pass, 1 fail, 2 bad use or settings, 3 unknown.
    """


def main() -> None:
    """Run ``yard``; a user's mistake is one message, never a traceback.

    A fault of ours is a traceback and unknown: nothing was judged by it.
    """
    try:
        yard()
    except YardError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except Exception:  # noqa: BLE001 - Python itself would end with 1, which says that something failed
        traceback.print_exc()
        sys.exit(UnknownError.exit_code)
