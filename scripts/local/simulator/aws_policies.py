"""AWS's own IAM policies, of which moto has the text: offered one at a time, when one is named.

All 1,500 of them in every account would take 0.4 s and 4 MB each.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# moto's IAM backend is only partly typed; this module is the typed face of what is used of it.

import json
from functools import cache
from typing import Any

__all__ = ["PREFIX", "offer"]

PREFIX = "arn:aws:iam::aws:policy/"


@cache
def _texts() -> dict[str, Any]:
    """Parse moto's collection, by ARN; imported here because it is 5 MB of text."""
    from moto.iam.aws_managed_policies import aws_managed_policies_data  # noqa: PLC0415 - see above

    policies: dict[str, Any] = json.loads(aws_managed_policies_data)
    return {
        f"{PREFIX.rstrip('/')}{data['Path']}{name}": (name, data) for name, data in policies.items()
    }


def offer(account: str, arn: str) -> None:
    """Let an account use a policy of AWS's own, if there is one of this ARN."""
    from moto.iam.models import AWSManagedPolicy, iam_backends  # noqa: PLC0415 - slow to import

    backend = iam_backends[account]["aws"]
    if arn in backend.managed_policies or arn not in _texts():
        return
    name, data = _texts()[arn]
    backend.managed_policies[arn] = AWSManagedPolicy.from_data(name, account, "aws", data)
