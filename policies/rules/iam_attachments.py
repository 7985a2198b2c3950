"""No managed policy that grants more than one duty, and no people or keys in the stack."""

import re
from collections.abc import Iterator

from pulumi_policy import Severity

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import texts

_MANAGED = re.compile(r"arn:aws[a-z-]*:iam::aws:policy/(?:[\w-]+/)*([\w+=,.@-]+)")
_BROAD = re.compile(
    r"""
    AdministratorAccess(-.+)?          # all of AWS, or all of one platform (Amplify, Beanstalk)
    | PowerUserAccess | SystemAdministrator | DatabaseAdministrator | NetworkAdministrator
    | .*FullAccess(_?V?\d+|_.+)?       # all of a service; some names carry a version
    | AWSKeyManagementServicePowerUser | AmazonEC2ContainerRegistryPowerUser
    """,
    re.VERBOSE,
)
_PROPERTY = {
    types.IAM_GROUP_POLICY_ATTACHMENT: "policyArn",
    types.IAM_POLICY_ATTACHMENT: "policyArn",
    types.IAM_ROLE: "managedPolicyArns",
    types.IAM_ROLE_POLICY_ATTACHMENT: "policyArn",
    types.IAM_ROLE_POLICY_ATTACHMENTS_EXCLUSIVE: "policyArns",
    types.IAM_USER_POLICY_ATTACHMENT: "policyArn",
}
_LASTING = frozenset(
    {
        types.IAM_ACCESS_KEY,
        types.IAM_USER,
        types.IAM_USER_LOGIN_PROFILE,
        types.IAM_USER_POLICY,
        types.IAM_USER_POLICY_ATTACHMENT,
    }
)


def broad_managed_policies(subject: Subject) -> Iterator[str]:
    """Name AWS managed policies that grant a whole service or account.

    An ARN that is unknown at preview belongs to a policy of the stack, whose own document is judged
    where it is declared: ARNs of AWS managed policies are always known.
    """
    path = _PROPERTY[subject.kind]
    for arn in texts(subject.props.get(path)):
        match = _MANAGED.fullmatch(arn)
        if match and _BROAD.fullmatch(match.group(1)):
            yield (
                f"{path} attaches the AWS managed policy {match.group(1)}, which grants more than "
                "one duty; write a policy that names its calls and ARNs"
            )


def lasting_credentials(subject: Subject) -> Iterator[str]:
    """Name users, their keys and what belongs to them."""
    kind = subject.kind.rsplit(":", 1)[-1]
    yield (
        f"{kind} gives a person or a machine credentials that do not end; "
        "use a role, reached through OIDC, Pod Identity or the organisation's sign-in"
    )


MANAGED = ResourceRule(
    About(
        name="iam-no-broad-managed-policy",
        description="No administrator and no FullAccess policy of AWS is attached",
        remedy="Write a policy that names its calls and ARNs.",
        rows="16",
        sources=("CKV_AWS_274", "CKV2_AWS_56", "CIS-AWS 1.16"),
        severity=Severity.CRITICAL,
    ),
    {broad_managed_policies: frozenset(_PROPERTY)},
)
NO_USERS = ResourceRule(
    About(
        name="iam-no-users-no-keys",
        description="Identities are roles; the stack makes no users, passwords or access keys",
        remedy="Use a role.",
        rows="17",
        sources=("CKV_AWS_40", "CKV_AWS_273"),
    ),
    {lasting_credentials: _LASTING},
)
RULES = (MANAGED, NO_USERS)
