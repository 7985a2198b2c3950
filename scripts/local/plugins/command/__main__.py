"""Serve the command plugin; the engine's address is the first argument that is no flag."""

from __future__ import annotations

import argparse

from scripts.local.plugins.command.provider import CommandProvider
from scripts.local.plugins.shared import serving


def main() -> None:
    """Serve until the engine is done."""
    parser = argparse.ArgumentParser(prog="pulumi-resource-command")
    parser.add_argument("engine", nargs="?", default="")
    # The engine passes logging and tracing flags of its own choice, and this plugin uses none.
    parser.add_argument("--tracing", help=argparse.SUPPRESS)
    options, _ = parser.parse_known_args()
    provider = CommandProvider(options.engine)
    serving.serve(provider.register, on_stop=provider.stop)


if __name__ == "__main__":
    main()
