"""Where a stack runs: on AWS, or on the embedded target of this machine."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["TARGETS", "choose", "has_aws_credentials"]

TARGETS = ("auto", "embedded", "aws")

LOCAL_STACK = "local"

# Each of these alone lets the AWS SDK find credentials (its credential provider chain).
CREDENTIAL_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)


def has_aws_credentials(environment: Mapping[str, str], home: Path) -> bool:
    """Tell whether ``environment`` or the files in ``home`` name AWS credentials."""
    if any(environment.get(name) for name in CREDENTIAL_VARIABLES):
        return True
    return any((home / ".aws" / name).exists() for name in ("credentials", "config"))


def choose(stack: str, wanted: str, environment: Mapping[str, str], home: Path) -> tuple[str, str]:
    """Choose the target of ``stack``.

    Returns
    -------
    tuple
        The target, ``embedded`` or ``aws``, and one line that says why.
    """
    if stack == LOCAL_STACK:
        return "embedded", f"stack {stack} always runs on the embedded target of this machine"
    if wanted != "auto":
        return wanted, f"stack {stack} runs on {wanted}, as asked"
    if has_aws_credentials(environment, home):
        return "aws", f"stack {stack} runs on AWS with the credentials of this shell"
    return "embedded", (
        f"stack {stack} runs on the embedded target: this shell has no AWS credentials "
        "(a simulated AWS API, nothing in the cloud is read or changed)"
    )
