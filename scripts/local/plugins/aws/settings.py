"""The provider's own settings."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final, cast

from scripts.local.plugins.aws.checking import Failure, Walk
from scripts.local.plugins.aws.schema import schema
from scripts.local.plugins.aws.session import Session, check_endpoint
from scripts.local.plugins.shared.wire import UNKNOWN, has_unknown, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.shared.wire import Props, Value

CARRIED: Final = frozenset(
    {
        "allowedAccountIds",
        "defaultTags",
        "endpoints",
        "forbiddenAccountIds",
        "ignoreTags",
        "maxRetries",
        "region",
        "retryMode",
        "s3UsePathStyle",
        "skipCredentialsValidation",
        "skipMetadataApiCheck",
        "skipRegionValidation",
        "skipRequestingAccountId",
        "userAgents",
    }
)
"""Settings that mean something here, or may be ignored; credentials come from the environment."""

_CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "aws_access_key_id",
    "AWS_SECRET_ACCESS_KEY": "aws_secret_access_key",
    "AWS_SESSION_TOKEN": "aws_session_token",
}

_ENGINE: Final = frozenset({"version", "pluginDownloadURL"})


class SettingsError(Exception):
    """The provider cannot work with its settings."""


def check(news: Props) -> list[Failure]:
    """Everything that is wrong with the settings."""
    walk = Walk("the AWS provider")
    given = {
        name: decode(name, value)
        for name, value in news.items()
        if name not in _ENGINE and not name.startswith("__")
    }
    walk.members(given, schema().provider.properties, "")
    walk.failures += [
        Failure(
            name,
            f"the embedded target's stand-in does not carry the provider's setting {name!r}; it "
            "takes its endpoint and credentials from the environment, so leave it out",
        )
        for name in sorted(given)
        if name in schema().provider.properties and name not in CARRIED
    ]
    return sorted(walk.failures, key=lambda it: it.property)


def decode(name: str, value: Value) -> Value:
    """Read a setting, which the engine sends as JSON text unless it is a text itself."""
    it = schema().provider.properties.get(name)
    if it is None or it.type == "string" or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def configured(variables: Mapping[str, Value], environment: Mapping[str, str]) -> Session | None:
    """Open a session as the settings say; None while a setting is unknown.

    Raises
    ------
    SettingsError
        If the region is missing, or the account is not an allowed one.
    NotAStandInError
        If an endpoint is not on this machine.
    """
    values = {name: plain(decode(name, value)) for name, value in variables.items()}
    if any(has_unknown(value) or value is UNKNOWN for value in values.values()):
        return None
    region = str(
        values.get("region")
        or environment.get("AWS_REGION")
        or environment.get("AWS_DEFAULT_REGION")
        or ""
    )
    if not region:
        raise SettingsError("the AWS provider has no region; run `pulumi config set aws:region …`")
    ignored = _object(values.get("ignoreTags"))
    keys, prefixes = _texts(ignored.get("keys")), tuple(_texts(ignored.get("keyPrefixes")))
    session = Session(
        endpoint=check_endpoint(environment.get("AWS_ENDPOINT_URL")),
        region=region,
        default_tags=cast(
            "Mapping[str, str]", _object(_object(values.get("defaultTags")).get("tags"))
        ),
        ignored_tags=lambda key: key in keys or key.startswith(("aws:", *prefixes)),
        endpoints=_endpoints(values.get("endpoints")),
        credentials={
            argument: environment[name]
            for name, argument in _CREDENTIALS.items()
            if environment.get(name)
        },
    )
    session.account = str(session.call("sts", "GetCallerIdentity", {})["Account"])
    _check_account(session.account, values)
    return session


def _check_account(account: str, values: Mapping[str, Value]) -> None:
    allowed = _texts(values.get("allowedAccountIds"))
    forbidden = _texts(values.get("forbiddenAccountIds"))
    if allowed and account not in allowed:
        raise SettingsError(
            f"AWS account ID not allowed: the credentials belong to account {account}, and "
            f"allowedAccountIds names {', '.join(allowed)}; use credentials of an allowed account"
        )
    if account in forbidden:
        raise SettingsError(
            f"AWS account ID not allowed: the credentials belong to account {account}, and "
            f"forbiddenAccountIds names {', '.join(forbidden)}; use credentials of another account"
        )


def _object(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, dict) else {}


def _texts(value: Value) -> list[str]:
    return [str(it) for it in value] if isinstance(value, list) else []


def _endpoints(value: Value) -> dict[str, str]:
    """Service names to addresses, all of them on this machine."""
    return {
        service: check_endpoint(str(address))
        for entry in (value if isinstance(value, list) else [])
        for service, address in _object(entry).items()
        if address
    }


def environment() -> Mapping[str, str]:
    """Give the process's environment, where endpoint and credentials come from."""
    return os.environ
