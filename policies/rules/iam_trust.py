"""Who may become a role."""

import json
import re
from collections.abc import Iterator
from typing import Final, cast

from pulumi_policy import EnforcementLevel, Severity

from rules.base import About, ResourceRule, Subject
from rules.documents import TRUST_KINDS, Statement, trust
from rules.scope import has_wildcard, holds

_ACCOUNT = re.compile(r"(?:arn:aws[a-z-]*:(?:iam|sts)::)?(\d{12})(:root|:.+)?")
_OIDC = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:oidc-provider/(.+)")
_SAML = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:saml-provider/.+")
_PODS: Final = "pods.eks.amazonaws.com"
_POD_ACTIONS: Final = frozenset({"sts:assumerole", "sts:tagsession"})
_OUTSIDER_KEYS = frozenset({"sts:externalid", "aws:principalorgid"})
_WHOLE_ACCOUNT_KEYS = _OUTSIDER_KEYS | {"aws:principalarn"}
_CLUSTER_KEYS = frozenset(
    {"aws:sourcearn", "aws:requesttag/eks-cluster-arn", "aws:requesttag/eks-cluster-name"}
)


def open_principals(subject: Subject) -> Iterator[str]:
    """Name trust in everyone, in all but someone, and in calls nobody named."""
    for where, statement in _allowing(subject):
        if "NotPrincipal" in statement.excluded:
            yield f"{where} trusts all but NotPrincipal; list who may assume the role"
        if "NotAction" in statement.excluded:
            yield f"{where} allows by NotAction; list the sts calls"
        for action in statement.actions:
            if has_wildcard(action):
                yield f"{where} allows '{action}'; name the sts calls, such as sts:AssumeRole"
        for kind, principal in statement.principals:
            if has_wildcard(principal):
                yield (
                    f"{where} trusts the {kind.upper()} principal '{principal}', "
                    "which is open to others; name the role, the service or the provider"
                )


def unbound_accounts(subject: Subject) -> Iterator[str]:
    """Name trust in whole accounts, and in other accounts, that no condition holds."""
    own = _own_accounts(subject)
    for where, statement in _allowing(subject):
        for kind, principal in statement.principals:
            match = _ACCOUNT.fullmatch(principal) if kind == "aws" else None
            if not match:
                continue
            account, rest = match.groups()
            whole = rest in {None, ":root"}
            if whole and not holds(statement, _WHOLE_ACCOUNT_KEYS.__contains__):
                yield (
                    f"{where} trusts every identity of account {account}; name a role, or add a "
                    "condition on aws:PrincipalArn, sts:ExternalId or aws:PrincipalOrgID"
                )
            elif not whole and own and account not in own and not holds(statement, _outsider):
                yield (
                    f"{where} trusts account {account}, which the provider does not deploy to; "
                    "add a condition on sts:ExternalId or aws:PrincipalOrgID"
                )


def _outsider(key: str) -> bool:
    return key in _OUTSIDER_KEYS


def _own_accounts(subject: Subject) -> frozenset[str]:
    """Accounts the provider may deploy to; empty when the provider does not say."""
    raw = subject.provider.get("allowedAccountIds")
    try:
        value: object = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return frozenset()
    accounts = cast("list[object]", value) if isinstance(value, list) else []
    return frozenset(account for account in accounts if isinstance(account, str))


def unbound_web_identity(subject: Subject) -> Iterator[str]:
    """Name trust in a token issuer that is not bound to one audience and one subject."""
    for where, statement in _allowing(subject):
        for kind, principal in statement.principals:
            if kind != "federated" or has_wildcard(principal):
                continue
            if _SAML.fullmatch(principal):
                keys = ["SAML:aud"]
            else:
                match = _OIDC.fullmatch(principal)
                issuer = match.group(1) if match else principal
                keys = [f"{issuer}:sub", f"{issuer}:aud"]
            missing = [key for key in keys if not holds(statement, key.lower().__eq__)]
            if missing:
                yield (
                    f"{where} trusts tokens of '{principal}' without holding them to "
                    f"{' and '.join(missing)}; "
                    "add StringEquals conditions with whole values, without wildcards"
                )


def loose_pod_identity(subject: Subject) -> Iterator[str]:
    """Name trust in EKS Pod Identity that is wider than its two calls in one account."""
    for where, statement in _trusting_pods(subject):
        if frozenset(action.lower() for action in statement.actions) != _POD_ACTIONS:
            yield (
                f"{where} must allow {_PODS} exactly sts:AssumeRole and sts:TagSession; "
                "give other principals a statement of their own"
            )
        if not holds(statement, "aws:sourceaccount".__eq__):
            yield (
                f"{where} lets {_PODS} act for any account; "
                "add a StringEquals condition on aws:SourceAccount"
            )


def pod_identity_of_any_cluster(subject: Subject) -> Iterator[str]:
    """Name trust in EKS Pod Identity that any cluster of the account can use."""
    for where, statement in _trusting_pods(subject):
        if not holds(statement, _CLUSTER_KEYS.__contains__):
            yield (
                f"{where} lets {_PODS} act for any cluster of the account; add a condition on "
                "aws:SourceArn or on aws:RequestTag/eks-cluster-name"
            )


def _trusting_pods(subject: Subject) -> Iterator[tuple[str, Statement]]:
    for where, statement in _allowing(subject):
        if ("service", _PODS) in {(k, p.lower()) for k, p in statement.principals}:
            yield where, statement


def _allowing(subject: Subject) -> Iterator[tuple[str, Statement]]:
    for document in trust(subject):
        for statement in document.allowing():
            yield f"{document.path} statement {statement.label}", statement


TRUST = ResourceRule(
    About(
        name="iam-trust-bound",
        description="A role trusts named principals, and outsiders only under conditions",
        remedy="Name the principal; bind accounts, issuers and pods with conditions.",
        rows="12-15",
        sources=(
            "CKV_AWS_60",
            "CKV_AWS_61",
            "CKV_AWS_358",
            "CKV_AWS_393",
            "cfn_nag IamRoleNotPrincipalOnTrustPolicyRule",
            "prowler iam_role_service_trust_restricts_source_to_account",
            "prowler iam_role_github_oidc_trust_subject_restricted",
            "EKS best practices: IRSA and Pod Identity",
        ),
        severity=Severity.CRITICAL,
    ),
    {
        open_principals: TRUST_KINDS,
        unbound_accounts: TRUST_KINDS,
        unbound_web_identity: TRUST_KINDS,
        loose_pod_identity: TRUST_KINDS,
    },
)
POD_CLUSTER = ResourceRule(
    About(
        name="iam-trust-pod-identity-cluster",
        description="A pod's role belongs to one cluster",
        remedy="Add a condition on aws:SourceArn or aws:RequestTag/eks-cluster-name.",
        rows="15",
        sources=("EKS best practices: Pod Identity",),
        level=EnforcementLevel.ADVISORY,
        severity=Severity.LOW,
    ),
    {pod_identity_of_any_cluster: TRUST_KINDS},
)
RULES = (TRUST, POD_CLUSTER)
