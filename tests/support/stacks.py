"""The repository's own stack files, as settings."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from components.naming import Names
from components.settings import parse
from components.site import Site, SiteConfig

ROOT = Path(__file__).parents[2]
STACKS = ("local", "dev", "prod")

NAMES = Names(
    stack="test",
    partition="aws",
    account="111122223333",
    region="us-east-1",
    environment="dev",
    owner="platform",
    cost_center="1",
)


def raw(stack: str) -> dict[str, Any]:
    """Return what the stack file holds for the site, free to be spoilt."""
    return yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]["trainyard:site"]


@cache
def config(stack: str) -> SiteConfig:
    return parse(SiteConfig, raw(stack), f"Pulumi.{stack}.yaml")


def build(stack: str) -> Site:
    return Site(config(stack), stack=stack)
