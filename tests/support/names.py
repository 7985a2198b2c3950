"""Names of a site that exists in tests only."""

from components.naming import Names

__all__ = ["NAMES"]

NAMES = Names(
    stack="test",
    partition="aws",
    account="111122223333",
    region="us-east-1",
    environment="dev",
    owner="platform",
    cost_center="1",
)
