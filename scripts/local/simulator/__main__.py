"""``python -m scripts.local.simulator``: serve the AWS stand-in until SIGTERM."""

import signal
import sys
from pathlib import Path
from types import FrameType

import click

from scripts.errors import YardError
from scripts.local.simulator.server import serve

__all__ = ["main"]


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), required=True, help="Port of 127.0.0.1.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder that keeps the simulator's state and request log.",
)
@click.option("--kube-endpoint", required=True, help="URL that EKS clusters give as endpoint.")
@click.option(
    "--kube-ca",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="PEM file of the API server's certificate authority.",
)
def main(port: int, state: Path, kube_endpoint: str, kube_ca: Path) -> None:
    """Serve the AWS stand-in on 127.0.0.1."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    try:
        serve(port, state, kube_endpoint, kube_ca)
    except YardError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
