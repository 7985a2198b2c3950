"""What the nodes of a wave must get of the shared file system, read from ``policy.yaml``. Pure."""

from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt

from components.catalog import InstanceType
from scripts.errors import UsageError

__all__ = ["MB", "MIB", "Expectation", "Policy", "expect", "policy"]

DATA = Path(__file__).with_name("policy.yaml")

MIB: Final = 2**20
MB: Final = 1e6
MBPS_OF_GBPS: Final = 125.0


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Data):
    """Where a part of the policy is from, when it was read, and how sure we are of it."""

    source: str
    date: date
    confidence: Literal["high", "medium", "low"]


class Client(_Data):
    """What one node can do at most, MB/s."""

    type: str
    client_mbps: PositiveFloat
    stream_mbps: PositiveFloat


class Check(_Data):
    """How the check goes about it; the environment of ``storage_check.sh``."""

    streams: PositiveInt
    chunk_mib: PositiveInt
    seconds: PositiveInt
    most_mib: PositiveInt
    files: PositiveInt
    wait_seconds: PositiveInt
    limit_seconds: PositiveInt


class Limits(_Data):
    """Shares of what is sold and of the median from which all is well, and below which it fails."""

    aggregate_good: float
    aggregate_low: float
    node_good: float
    node_low: float


class Errors(_Data):
    """Words of a failed step that speak of the node."""

    lost: tuple[str, ...]


class Policy(_Data):
    """The whole of ``policy.yaml``."""

    sources: dict[str, Source]
    client: Client
    check: Check
    limits: Limits
    errors: Errors


@cache
def policy() -> Policy:
    """Return the policy."""
    return Policy.model_validate(yaml.safe_load(DATA.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What ``clients`` nodes at once must get of a file system that gives ``sold_mbps`` in all.

    ``client_mbps`` is what one of them can take at most. All are MB/s, 10^6 bytes. ``bytes_each``
    is what each node writes, and then reads.
    """

    clients: int
    sold_mbps: float
    client_mbps: float
    bytes_each: int

    @property
    def share_mbps(self) -> float:
        """What one node gets when all are at work: no more than it can take."""
        return min(self.sold_mbps / self.clients, self.client_mbps)


def expect(instance: InstanceType, clients: int, sold_mbps: float) -> Expectation:
    """Return the expectation for a wave.

    Parameters
    ----------
    instance
        Type of the nodes; one with a small network takes less.
    clients
        How many of them measure at once.
    sold_mbps
        What the file system gives to all its clients together: capacity (TiB) times throughput
        (MB/s for each TiB), less what other work takes of it meanwhile.

    Raises
    ------
    UsageError
        If there is no client or nothing is sold.
    """
    if clients < 1:
        raise UsageError(f"storage is measured by one node at least, not by {clients}")
    if not 0 < sold_mbps < float("inf"):
        raise UsageError(f"a file system sells some MB/s, not {sold_mbps:g}")
    known = policy()
    most = min(known.client.client_mbps, known.check.streams * known.client.stream_mbps)
    if instance.network_gbps:
        most = min(most, instance.network_gbps * MBPS_OF_GBPS)
    share = min(sold_mbps / clients, most)
    unit = known.check.streams * known.check.chunk_mib * MIB
    wanted = min(share * MB * known.check.seconds, known.check.most_mib * MIB)
    return Expectation(
        clients=clients,
        sold_mbps=sold_mbps,
        client_mbps=most,
        bytes_each=max(1, round(wanted / unit)) * unit,
    )
