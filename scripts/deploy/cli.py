"""``yard up``, ``yard preview``, ``yard down``."""

import os
import sys
from pathlib import Path

import click

from scripts.deploy.adoption import Finder
from scripts.deploy.engine import ROOT, Engine
from scripts.deploy.recovery import recover
from scripts.deploy.targets import TARGETS, choose
from scripts.errors import FailedError, UsageError

__all__ = ["down", "preview", "up"]

stack_argument = click.argument("stack", default="local")
target_option = click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="auto",
    show_default=True,
    help="Where the stack runs; auto: AWS if this shell has credentials, else this machine.",
)
