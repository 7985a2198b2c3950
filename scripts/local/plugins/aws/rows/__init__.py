"""The table: every resource type of the stand-in, by its token."""

from typing import Final

from scripts.local.plugins.aws.row import Row
from scripts.local.plugins.aws.rows.budgets import BUDGETS
from scripts.local.plugins.aws.rows.capacity import CAPACITY
from scripts.local.plugins.aws.rows.certificates import CERTIFICATES
from scripts.local.plugins.aws.rows.dns import DNS
from scripts.local.plugins.aws.rows.eks import EKS
from scripts.local.plugins.aws.rows.identity import IDENTITY
from scripts.local.plugins.aws.rows.network import NETWORK
from scripts.local.plugins.aws.rows.objects import OBJECTS
from scripts.local.plugins.aws.rows.observation import OBSERVATION
from scripts.local.plugins.aws.rows.routing import ROUTING
from scripts.local.plugins.aws.rows.security_groups import SECURITY_GROUPS
from scripts.local.plugins.aws.rows.storage import STORAGE

ROWS: Final[dict[str, Row]] = {
    **NETWORK,
    **ROUTING,
    **SECURITY_GROUPS,
    **CAPACITY,
    **EKS,
    **DNS,
    **CERTIFICATES,
    **IDENTITY,
    **STORAGE,
    **OBJECTS,
    **OBSERVATION,
    **BUDGETS,
}
