"""Providers hold no credentials, because the state would keep them."""

from collections.abc import Iterator, Mapping
from typing import cast

import yaml
from pulumi_policy import Severity

from rules import types
from rules.base import About, Subject, resource_policy
from rules.plain import Plain, is_set, section, sections, to_plain

_AWS_KEYS = ("accessKey", "secretKey", "token")
_USER_KEYS = ("token", "password", "client-key-data")


def keys_in_provider(subject: Subject) -> Iterator[str]:
    """Name properties of an AWS provider that hold a key; an unknown one counts."""
    for prop in _AWS_KEYS:
        if is_set(subject.props.get(prop)):
            yield (
                f"{prop} is set and would be kept in the state; leave it out, credentials come "
                "from the environment, a profile or a role to assume"
            )


def keys_in_kubeconfig(subject: Subject) -> Iterator[str]:
    """Name users of a provider's kubeconfig that carry a credential instead of a command.

    A kubeconfig made of cluster outputs is unknown at the first preview and judged in the update,
    before the provider starts.
    """
    for index, user in enumerate(_users(subject.props)):
        for key in _USER_KEYS:
            if is_set(user.get(key)):
                yield (
                    f"kubeconfig users[{index}].user.{key} would be kept in the state; use an exec "
                    "command such as 'aws eks get-token'"
                )


def _users(props: Mapping[str, Plain]) -> Iterator[dict[str, Plain]]:
    raw = props.get("kubeconfig")
    try:
        value = cast("object", yaml.safe_load(raw)) if isinstance(raw, str) else raw
    except yaml.YAMLError:
        return  # The provider itself refuses it; quoting it here could quote a key.
    for entry in sections(section(to_plain(value)).get("users")):
        yield section(entry.get("user"))


PROVIDERS = resource_policy(
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
