"""The repository's own stack files, as settings."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from components.settings import parse
from components.site import Site
from components.site_config import SiteConfig
from tests.support.engine import Engine, run

ROOT = Path(__file__).parents[2]
STACKS = ("local", "dev", "prod")


def raw(stack: str) -> dict[str, Any]:
    """Return what the stack file holds for the site, free to be spoilt."""
    return yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]["trainyard:site"]


@cache
def config(stack: str) -> SiteConfig:
    return parse(SiteConfig, raw(stack), f"Pulumi.{stack}.yaml")


def build(stack: str) -> Site:
    return Site(config(stack), stack=stack)


@cache
def declared(stack: str, *, preview: bool = False) -> Engine:
    """Run the program of a stack, once for all tests that only look at it."""
    return run(lambda: build(stack) and None, preview=preview, stack=stack)
