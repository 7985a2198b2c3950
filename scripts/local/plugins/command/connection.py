"""SSH connections: with retries, and through a proxy where one is given."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any, Final

import asyncssh

from scripts.local.plugins.command.job import CommandError
from scripts.local.plugins.command.values import number, text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from scripts.local.plugins.shared.wire import Props

_UNLIMITED: Final = -1
_FIRST_DELAY_SECONDS: Final = 0.1
_LONGEST_DELAY_SECONDS: Final = 5.0
_BACKOFF: Final = 1.5
"""The delays between attempts are those of the Pulumi SDK for Go, ``util/retry``."""


@contextlib.asynccontextmanager
async def connect(
    inputs: Props, log: Callable[[str], None]
) -> AsyncGenerator[asyncssh.SSHClientConnection]:
    """Connect to the host of the input ``connection``, and close when the block ends.

    Raises
    ------
    CommandError
        A key cannot be read, or more attempts failed than ``dialErrorLimit`` allows.
    """
    target = _map(inputs, "connection")
    proxy = _map(target, "proxy")
    async with contextlib.AsyncExitStack() as stack:
        tunnel = None
        if proxy:
            try:
                tunnel = await stack.enter_async_context(
                    await _dial(proxy, None, "Dial proxy", log)
                )
            except CommandError as error:
                raise CommandError(f"proxy: {error}") from error
        yield await stack.enter_async_context(await _dial(target, tunnel, "Dial", log))


async def _dial(
    target: Props,
    tunnel: asyncssh.SSHClientConnection | None,
    attempt: str,
    log: Callable[[str], None],
) -> asyncssh.SSHClientConnection:
    options = _options(target)
    limit = number(target, "dialErrorLimit", 10)
    delay = _FIRST_DELAY_SECONDS
    failed = 0
    while True:
        try:
            return await asyncssh.connect(
                text(target, "host") or "", number(target, "port", 22), tunnel=tunnel, **options
            )
        except (asyncssh.Error, OSError, TimeoutError) as error:
            if _UNLIMITED < limit <= failed:
                raise CommandError(f"after {failed} failed attempts: {_reason(error)}") from error
        failed += 1
        log(f"{attempt} {failed}/{'inf' if limit == _UNLIMITED else limit} failed: retrying")
        await asyncio.sleep(delay)
        delay = min(delay * _BACKOFF, _LONGEST_DELAY_SECONDS)


def _options(target: Props) -> dict[str, Any]:
    """Give the options of asyncssh, and nothing from the user's own SSH configuration."""
    seconds = number(target, "perDialTimeout", 15) or None
    agent = text(target, "agentSocketPath") or os.environ.get("SSH_AUTH_SOCK")
    key, host_key = text(target, "privateKey"), text(target, "hostKey")
    try:
        keys = None
        if key is not None:
            keys = [asyncssh.import_private_key(key, text(target, "privateKeyPassword"))]
        host_keys = [] if host_key is None else [asyncssh.import_public_key(host_key)]
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
        raise CommandError(f"a key of the connection cannot be read: {error}") from error
    return {
        "username": text(target, "user") or "root",
        "password": text(target, "password"),
        "client_keys": keys,
        "agent_path": agent,
        # Trusted keys, trusted authorities, revoked keys; None trusts any host.
        "known_hosts": (host_keys, [], []) if host_keys else None,
        "connect_timeout": seconds,
        "login_timeout": seconds or 0,
        "config": None,
    }


def _map(props: Props, name: str) -> Props:
    value = props.get(name)
    return value if isinstance(value, dict) else {}


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "the host did not answer in time"
    return error.reason if isinstance(error, asyncssh.Error) else str(error)
