"""Wait until Kueue's webhook serves: its pods are ready some time before it does.

Asks the API server to check a flavor without keeping it, again and again. Reads a kubeconfig from
standard input, and says on standard error what it waits for.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import httpx2
import lightkube
import yaml
from lightkube import ApiError, generic_resource

__all__ = ["wait"]

LIMIT_SECONDS = 300
PAUSE_SECONDS = 3

KUBERNETES: Any = lightkube
KINDS: Any = generic_resource
"""Their types cannot describe kinds that are made while the program runs."""


def wait(
    attempt: Callable[[], object],
    *,
    limit: float = LIMIT_SECONDS,
    pause: float = PAUSE_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str | None:
    """Call ``attempt`` until it goes through; return the last error when time is up."""
    end = clock() + limit
    while True:
        try:
            attempt()
        except (ApiError, httpx2.HTTPError) as error:
            if clock() >= end:
                return str(error)
            print(f"Kueue's webhook does not serve yet: {error}", file=sys.stderr)  # noqa: T201 - progress for the engine's log
            sleep(pause)
        else:
            return None


def main() -> int:
    """Wait for the cluster whose kubeconfig comes on standard input."""
    client = KUBERNETES.Client(config=KUBERNETES.KubeConfig.from_dict(yaml.safe_load(sys.stdin)))
    flavor = KINDS.create_global_resource(
        "kueue.x-k8s.io", "v1beta2", "ResourceFlavor", "resourceflavors"
    )
    probe = flavor(metadata={"name": "trainyard-probe"}, spec={})
    error = wait(lambda: client.create(probe, dry_run=True))
    if error:
        print(f"Kueue's webhook did not serve in {LIMIT_SECONDS} s: {error}", file=sys.stderr)  # noqa: T201 - the reason for the exit code
        return 1
    print("Kueue's webhook serves")  # noqa: T201 - the output of the Command resource
    return 0


if __name__ == "__main__":
    sys.exit(main())
