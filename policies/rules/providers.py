"""Providers hold no credentials, because the state would keep them."""

from collections.abc import Iterator
from typing import cast

import yaml
from pulumi_policy import Severity

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import Plain, is_set, section, sections, text, to_plain

_AWS_KEYS = ("accessKey", "secretKey", "token")
_TOKENS = ("assumeRoleWithWebIdentity", "assumeRoleWithWebIdentities")
_USER_KEYS = ("token", "password", "client-key-data", "auth-provider")
_SECRET_ENV = frozenset({"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"})


def keys_in_provider(subject: Subject) -> Iterator[str]:
    """Name properties of an AWS provider that hold a key; an unknown one counts."""
    held = [prop for prop in _AWS_KEYS if is_set(subject.props.get(prop))]
    held += [
        f"{prop}.webIdentityToken"
        for prop in _TOKENS
        for block in sections(_parsed(subject.props.get(prop)))
        if is_set(block.get("webIdentityToken"))
    ]
    for path in held:
        yield (
            f"{path} is set and would be kept in the state; leave it out, credentials come "
            "from the environment, a profile or a role to assume"
        )


def keys_in_kubeconfig(subject: Subject) -> Iterator[str]:
    """Name users of a provider's kubeconfig that carry a credential instead of a command.

    A kubeconfig made of cluster outputs is unknown at the first preview and judged in the update,
    before the provider starts.
    """
    config = section(_parsed(subject.props.get("kubeconfig")))
    for index, entry in enumerate(sections(config.get("users"))):
        user = section(entry.get("user"))
        held = [key for key in _USER_KEYS if is_set(user.get(key))]
        variables = sections(section(user.get("exec")).get("env"))
        names = [text(variable.get("name")) for variable in variables]
        held += [f"exec.env {name}" for name in names if name in _SECRET_ENV]
        for key in held:
            yield (
                f"kubeconfig users[{index}].user.{key} would be kept in the state; use an exec "
                "command such as 'aws eks get-token', with credentials from the environment"
            )


def _parsed(raw: Plain) -> Plain:
    """Read a structured property, which providers get as JSON or YAML text.

    What cannot be read is empty here: the provider itself refuses it, or it is a file's path.
    """
    try:
        return to_plain(cast("object", yaml.safe_load(raw))) if isinstance(raw, str) else raw
    except yaml.YAMLError:
        return None


PROVIDERS = ResourceRule(
    About(
        name="provider-no-credentials",
        description="Providers are given no keys, tokens or passwords",
        remedy="Let credentials come from the environment, a role or an exec command.",
        rows="45",
        sources=("pulumi-aws#890", "pulumi-aws#2447", "pulumi#7370", "CKV_AWS_41"),
        severity=Severity.CRITICAL,
    ),
    {
        keys_in_provider: frozenset({types.AWS_PROVIDER}),
        keys_in_kubeconfig: frozenset({types.KUBERNETES_PROVIDER}),
    },
)
RULES = (PROVIDERS,)
