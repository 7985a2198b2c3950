"""Serve the AWS stand-in; the engine's address is the first argument that is no flag."""

from __future__ import annotations

from scripts.local.plugins.aws.provider import AwsProvider
from scripts.local.plugins.aws.settings import environment
from scripts.local.plugins.shared import serving


def main() -> None:
    """Serve until the engine is done."""
    serving.serve(AwsProvider(environment()).register)


if __name__ == "__main__":
    main()
