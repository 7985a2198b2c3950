"""Serve the language host; the engine's address is the first argument that is no flag."""

from __future__ import annotations

import argparse

from scripts.local.plugins.language.host import LanguageHost
from scripts.local.plugins.shared import serving


def main() -> None:
    """Serve until the engine is done."""
    parser = argparse.ArgumentParser(prog="pulumi-language-python")
    parser.add_argument("engine", nargs="?", default="")
    # The engine passes logging and tracing flags of its own choice, and this host uses none.
    parser.add_argument("--tracing", help=argparse.SUPPRESS)
    options, _ = parser.parse_known_args()
    host = LanguageHost(options.engine)
    serving.serve(host.register, on_stop=host.stop)


if __name__ == "__main__":
    main()
