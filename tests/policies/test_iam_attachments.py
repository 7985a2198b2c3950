import pytest

from rules import types
from rules.iam_attachments import MANAGED, NO_USERS, broad_managed_policies
from tests.policies.support import UNKNOWN, analyze, messages, subject

ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"
PATHS = {
    types.IAM_ROLE: "managedPolicyArns",
    types.IAM_ROLE_POLICY_ATTACHMENTS_EXCLUSIVE: "policyArns",
}


def sentence(path: str, name: str) -> str:
    return (
        f"{path} attaches the AWS managed policy {name}, which grants more than one duty; "
        "write a policy that names its calls and ARNs"
    )


@pytest.mark.parametrize(
    ("arn", "name"),
    [
        (ADMIN, "AdministratorAccess"),
        ("arn:aws-cn:iam::aws:policy/AdministratorAccess", "AdministratorAccess"),
        ("arn:aws:iam::aws:policy/AdministratorAccess-Amplify", "AdministratorAccess-Amplify"),
        ("arn:aws:iam::aws:policy/PowerUserAccess", "PowerUserAccess"),
        ("arn:aws:iam::aws:policy/IAMFullAccess", "IAMFullAccess"),
        ("arn:aws:iam::aws:policy/AmazonS3FullAccess", "AmazonS3FullAccess"),
        ("arn:aws:iam::aws:policy/AmazonDMSRedshiftFullAccessV2", "AmazonDMSRedshiftFullAccessV2"),
        (
            "arn:aws:iam::aws:policy/job-function/SystemAdministrator",
            "SystemAdministrator",
        ),
        ("arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore", None),
        ("arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly", None),
        ("arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy", None),
        ("arn:aws:iam::111122223333:policy/FullAccess", None),
        (UNKNOWN, None),
    ],
)
def test_which_managed_policies_are_too_broad(arn: str, name: str | None) -> None:
    attachment = subject(types.IAM_ROLE_POLICY_ATTACHMENT, {"policyArn": arn})
    expected = [sentence("policyArn", name)] if name else []
    assert list(broad_managed_policies(attachment)) == expected


@pytest.mark.parametrize("kind", sorted(MANAGED.kinds))
def test_the_policy_fires_on_each_kind_that_attaches(kind: str) -> None:
    path = PATHS.get(kind, "policyArn")
    bag = {path: [ADMIN, UNKNOWN] if path.endswith("s") else ADMIN}
    [violation] = analyze(kind, bag, policies=[MANAGED])
    assert violation.level == "MANDATORY"
    assert messages([violation]) == [f"it ({kind}): {sentence(path, 'AdministratorAccess')}"]


@pytest.mark.parametrize("kind", sorted(NO_USERS.kinds))
def test_users_and_what_belongs_to_them_are_refused(kind: str) -> None:
    assert messages(analyze(kind, {}, policies=[NO_USERS])) == [
        (
            f"it ({kind}): {kind.rpartition(':')[2]} gives a person or a machine "
            "credentials that do not end; "
            "use a role, reached through OIDC, Pod Identity or the organisation's sign-in"
        )
    ]
