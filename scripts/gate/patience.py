"""Calls to a Kubernetes API that may be away for a while: bounded retries with growing pauses."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

import httpx2
from lightkube import ApiError
from lightkube.core.exceptions import ConfigError

from scripts.errors import UnknownError, UsageError

__all__ = ["Patience"]

T = TypeVar("T")

AWAY: Final = frozenset({410, 429, 500, 502, 503, 504})
"""Statuses of an API server that is busy, starting or behind a load balancer without a target; and
of a long list of which the rest is not kept any more."""

EXPECTED: Final = frozenset({404, 409})
"""Statuses that tell a caller something: there is none, there is one, it was changed."""

UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403

FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 8.0

AFTERWARDS: Final = 5.0
"""Seconds for each call after one has waited in vain: what is left is tidying up."""


class Patience:
    """Repeats what failed because the API was away, for ``seconds`` at most.

    A 401 is repeated only after a call has worked: while an API server starts, its authentication
    webhook may be unreachable, but credentials that never worked will not begin to.
    """

    def __init__(
        self,
        seconds: float = 180,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._sleep = sleep
        self._worked = False
        self._ran_out = False

    def call(self, what: str, action: Callable[[], T], seconds: float | None = None) -> T:
        """Return what ``action`` returns; ``what`` names it in messages.

        Raises
        ------
        UnknownError
            If the API stayed away, or answers with an error that nobody expects.
        UsageError
            If it refuses who we are or what we want.
        ApiError
            If it answers 404 or 409.
        """
        longest = self._seconds if seconds is None else seconds
        end = self._monotonic() + (min(longest, AFTERWARDS) if self._ran_out else longest)
        pause = FIRST_PAUSE
        while True:
            try:
                result = action()
            except ConfigError as error:
                raise UsageError(f"cannot log in to the cluster: {error}") from error
            except httpx2.HTTPError as error:
                self._judge(what, error)
                if self._monotonic() + pause > end:
                    self._ran_out = seconds is None
                    raise UnknownError(
                        f"{what}: the Kubernetes API does not answer: {error}"
                    ) from error
                self._sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                self._worked = True
                return result

    def _judge(self, what: str, error: httpx2.HTTPError) -> None:
        """Let pass what may be over in a moment; raise what will not be."""
        if not isinstance(error, httpx2.HTTPStatusError):
            return
        status = error.response.status_code
        if status in AWAY or (status == UNAUTHORIZED and self._worked):
            return
        if status in {UNAUTHORIZED, FORBIDDEN}:
            raise UsageError(
                f"{what}: the Kubernetes API refuses: {error}; give a kubeconfig of an identity "
                "that may run the gate"
            ) from error
        if not isinstance(error, ApiError) or status not in EXPECTED:
            raise UnknownError(f"{what}: the Kubernetes API answers {status}: {error}") from error
        raise error
