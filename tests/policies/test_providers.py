import json
from typing import Any

import pytest

from rules import types
from rules.helm import NO_RELEASES
from rules.providers import PROVIDERS
from tests.policies.support import UNKNOWN, analyze, messages, secret


def in_state(prop: str) -> str:
    return (
        f"it (pulumi:providers:aws): {prop} is set and would be kept in the state; leave it out, "
        "credentials come from the environment, a profile or a role to assume"
    )


def in_kubeconfig(index: int, key: str) -> str:
    return (
        f"it (pulumi:providers:kubernetes): kubeconfig users[{index}].user.{key} would be kept in "
        "the state; use an exec command such as 'aws eks get-token', "
        "with credentials from the environment"
    )


@pytest.mark.parametrize(
    ("props", "expected"),
    [
        ({"region": "us-east-1", "assumeRoles": '[{"roleArn": "arn"}]'}, []),
        ({"accessKey": ""}, []),
        (
            {"assumeRoleWithWebIdentities": '[{"webIdentityToken": "t"}]'},
            [in_state("assumeRoleWithWebIdentities.webIdentityToken")],
        ),
        ({"assumeRoleWithWebIdentities": '[{"webIdentityTokenFile": "/token"}]'}, []),
        (
            {"accessKey": "a", "secretKey": secret("b"), "token": UNKNOWN},
            [in_state("accessKey"), in_state("secretKey"), in_state("token")],
        ),
    ],
)
def test_an_aws_provider_holds_no_keys(props: dict[str, Any], expected: list[str]) -> None:
    violations = analyze(types.AWS_PROVIDER, props, policies=[PROVIDERS])
    assert messages(violations) == expected
    assert {violation.level for violation in violations} <= {"MANDATORY"}


EXEC = {"user": {"exec": {"command": "aws"}}}
TOKEN = {"user": {"token": "t"}}


@pytest.mark.parametrize(
    ("kubeconfig", "expected"),
    [
        (json.dumps({"users": [EXEC]}), []),
        (json.dumps({"users": [EXEC, TOKEN]}), [in_kubeconfig(1, "token")]),
        ("users:\n- user:\n    client-key-data: x\n", [in_kubeconfig(0, "client-key-data")]),
        ("users:\n- user:\n    password: x\n", [in_kubeconfig(0, "password")]),
        (secret(json.dumps({"users": [TOKEN]})), [in_kubeconfig(0, "token")]),
        ("users: [{user: {auth-provider: {name: x}}}]", [in_kubeconfig(0, "auth-provider")]),
        (
            "users: [{user: {exec: {env: [{name: AWS_SESSION_TOKEN, value: x}]}}}]",
            [in_kubeconfig(0, "exec.env AWS_SESSION_TOKEN")],
        ),
        ("users: [{user: {exec: {env: [{name: AWS_PROFILE, value: x}]}}}]", []),
        ("{nonsense: [", []),
        ("~/.kube/config", []),
        (UNKNOWN, []),
        (None, []),
    ],
)
def test_a_kubeconfig_holds_no_credentials(kubeconfig: object, expected: list[str]) -> None:
    props = {} if kubeconfig is None else {"kubeconfig": kubeconfig}
    assert messages(analyze(types.KUBERNETES_PROVIDER, props, policies=[PROVIDERS])) == expected


def test_a_helm_release_is_refused_because_its_children_are_hidden() -> None:
    kind = types.KUBERNETES_HELM_RELEASE
    assert messages(analyze(kind, {"chart": "kueue"}, policies=[NO_RELEASES])) == [
        f"it ({kind}): a Helm release hides what it installs; use kubernetes.helm.v4.Chart"
    ]
    assert analyze("kubernetes:helm.sh/v4:Chart", {"chart": "kueue"}, policies=[NO_RELEASES]) == []
