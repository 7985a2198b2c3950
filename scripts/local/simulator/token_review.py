"""Judge the tokens of ``aws eks get-token`` as EKS does, for the API server's webhook.

A token is a presigned GetCallerIdentity request in base64. Its signature covers the header
``x-k8s-aws-id``, which is not in the URL: whoever verifies it must supply the cluster's name, and
a token made for another cluster does not verify.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlsplit

from scripts.local.simulator.records import Record, Records

__all__ = ["CLUSTER_ADMIN", "DEPLOY_ROLE", "SECRET_KEY", "deploy_role_arn", "review"]

SECRET_KEY = "embedded"  # noqa: S105 - every caller of the embedded target signs with this word
DEPLOY_ROLE = "trainyard-deploy"
"""The role that every caller of the embedded target has assumed."""

CLUSTER_ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
SHAPE = "a TokenReview is an object with spec.token"
PREFIX = "k8s-aws-v1."
LIFETIME = timedelta(minutes=15)
"""How long a token is good after X-Amz-Date, as aws-iam-authenticator has it."""

CLOCK_SKEW = timedelta(minutes=5)
SCOPE = re.compile(r"EMBEDDED(?P<account>\d{12})/\d{8}/(?P<region>[a-z0-9-]+)/sts/aws4_request")


class RefusedError(Exception):
    """The token is no proof of who the caller is; the text says why."""


def deploy_role_arn(account: str) -> str:
    """Return the ARN of the role behind the callers of one account."""
    return f"arn:aws:iam::{account}:role/{DEPLOY_ROLE}"


def review(request: object, records: Records, now: datetime | None = None) -> dict[str, Any]:
    """Answer a TokenReview of authentication.k8s.io/v1; raises ``ValueError`` if it is none."""
    if not isinstance(request, dict):
        raise ValueError(SHAPE)  # noqa: TRY004 - all that is wrong with JSON is a ValueError
    asked = cast("dict[str, Any]", request)
    token = cast("dict[str, Any]", asked.get("spec") or {}).get("token")
    if not isinstance(token, str):
        raise ValueError(SHAPE)  # noqa: TRY004 - all that is wrong with JSON is a ValueError
    try:
        status: dict[str, Any] = {
            "authenticated": True,
            "user": _user(token, records, now or datetime.now(UTC)),
        }
    except RefusedError as error:
        status = {"authenticated": False, "error": str(error)}
    return {
        "apiVersion": asked.get("apiVersion", "authentication.k8s.io/v1"),
        "kind": "TokenReview",
        "status": status,
    }


def _user(token: str, records: Records, now: datetime) -> dict[str, Any]:
    clusters = records.everywhere("eks:cluster")
    if not clusters:
        raise RefusedError("there is no EKS cluster")
    [(account, region, cluster)] = clusters
    caller = _verified_account(token, str(cluster["name"]), now)
    principal = deploy_role_arn(caller)
    entries = records.table(account, region, "eks:access-entry")
    entry = entries.get(f"{cluster['name']}|{principal}")
    if entry is None:
        raise RefusedError(f"{principal} has no access entry in cluster {cluster['name']}")
    return {
        "username": _username(entry),
        "uid": f"aws-iam-authenticator:{caller}:{DEPLOY_ROLE}",
        "groups": [*entry["kubernetesGroups"], *_policy_groups(entry)],
        "extra": {"arn": [principal], "accessKeyId": [f"EMBEDDED{caller}"]},
    }


def _username(entry: Record) -> str:
    """Return the entry's own username; in place of the default one, the principal's ARN."""
    own: str = entry["username"]
    return str(entry["principalArn"]) if own.endswith("/{{SessionName}}") else own


def _policy_groups(entry: Record) -> list[str]:
    """EKS enforces access policies in its own authorizer; here only the one that grants all is."""
    for policy in entry["associatedAccessPolicies"]:
        if policy["policyArn"] == CLUSTER_ADMIN and policy["accessScope"]["type"] == "cluster":
            return ["system:masters"]
    return []


def _verified_account(token: str, cluster: str, now: datetime) -> str:
    """Verify the presigned request for this cluster and return the account that signed it."""
    url = urlsplit(_decoded(token))
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    if query.get("Action") != "GetCallerIdentity":
        raise RefusedError("the token's request is not GetCallerIdentity")
    scope = SCOPE.fullmatch(query.get("X-Amz-Credential", ""))
    if scope is None:
        raise RefusedError("the token is not signed by a caller of the embedded target")
    if query.get("X-Amz-SignedHeaders") != "host;x-k8s-aws-id":
        raise RefusedError("the token does not sign the headers host and x-k8s-aws-id")
    _check_age(query.get("X-Amz-Date", ""), now)
    expected = _signature(query, url.netloc, url.path or "/", cluster)
    if not hmac.compare_digest(expected, query.get("X-Amz-Signature", "")):
        raise RefusedError(f"the token was not made for cluster {cluster}")
    return scope["account"]


def _decoded(token: str) -> str:
    if not token.startswith(PREFIX):
        raise RefusedError(f"the token does not begin with {PREFIX}")
    encoded = token.removeprefix(PREFIX)
    try:
        return base64.b64decode(
            encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True
        ).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise RefusedError("the token is not base64 of a URL") from None


def _check_age(stamp: str, now: datetime) -> None:
    try:
        made = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise RefusedError("the token has no valid X-Amz-Date") from None
    if now > made + LIFETIME:
        raise RefusedError("the token has expired (15 minutes)")
    if made > now + CLOCK_SKEW:
        raise RefusedError("the token is dated in the future")


def _signature(query: Mapping[str, str], host: str, path: str, cluster: str) -> str:
    """Sign as AWS Signature Version 4 does for a presigned URL with an empty body."""
    canonical_query = "&".join(
        f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
        for name, value in sorted(query.items())
        if name != "X-Amz-Signature"
    )
    headers = f"host:{host}\nx-k8s-aws-id:{cluster}\n"
    body_hash = hashlib.sha256(b"").hexdigest()
    request = "\n".join(
        ["GET", path, canonical_query, headers, query["X-Amz-SignedHeaders"], body_hash]
    )
    scope = query["X-Amz-Credential"].split("/", 1)[1]
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            query["X-Amz-Date"],
            scope,
            hashlib.sha256(request.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{SECRET_KEY}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
