"""An entry of the blacklist, and how hardware is recognised. Pure.

Hardware is known by the serial number of a GPU, by its UUID, and by the instance it was seen in;
never by a node's name, which the next instance gets. Any one of them is enough: a lost GPU tells no
serial number, and the same GPU in another instance is the same GPU.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat

from scripts.blacklist.policy import Cause
from scripts.node.finding import absent

__all__ = [
    "MOST_GPUS",
    "MOST_NUMBERS",
    "REASON_LENGTH",
    "Cleared",
    "Entry",
    "Evidence",
    "Gpu",
    "gpus_of",
    "instance_of",
]

REASON_LENGTH = 1000
MOST_GPUS = 64
MOST_NUMBERS = 32

_INSTANCE = re.compile(r"i-[0-9a-zA-Z-]+")
_NO_SERIAL = re.compile(r"0+")


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Gpu(_Data):
    """What names a GPU for good. Some boards have no serial number, a lost GPU may have neither."""

    serial: str = ""
    uuid: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """By what it is recognised: its serial number, and its UUID."""
        named = {"serial": self.serial, "uuid": self.uuid.lower()}
        return frozenset(f"{kind} {value}" for kind, value in named.items() if value)

    def __str__(self) -> str:
        return self.serial or self.uuid


class Evidence(_Data):
    """What an entry rests on: a run, the check that failed, its numbers, and its log's digest.

    ``report`` is the path of the gate's report, where the gate ran.
    """

    run: str = ""
    check: str = ""
    numbers: dict[str, FiniteFloat] = Field(
        default_factory=dict[str, float], max_length=MOST_NUMBERS
    )
    log: str = ""
    report: str = ""


class Cleared(_Data):
    """Who took an entry off, and why."""

    at: AwareDatetime
    by: str
    reason: str = Field(min_length=1, max_length=REASON_LENGTH)


class Entry(_Data):
    """One time that hardware was found bad. ``node``, ``pool`` and ``wave`` are for people only.

    ``until`` None is for ever. ``repeats`` counts the earlier entries about the same hardware that
    were taken into account for it.
    """

    schema_version: Literal[1] = Field(1, alias="schema")
    cause: Cause
    reason: str = Field(min_length=1, max_length=REASON_LENGTH)
    instance_id: str = ""
    gpus: tuple[Gpu, ...] = Field((), max_length=MOST_GPUS)
    evidence: Evidence = Evidence()
    node: str = ""
    instance_type: str = ""
    pool: str = ""
    wave: str = ""
    by: str
    at: AwareDatetime
    until: AwareDatetime | None = None
    repeats: int = 0
    cleared: Cleared | None = None

    @property
    def id(self) -> str:
        """Return its name: the same run finding the same hardware makes the same entry.

        Entries by hand belong to no run; their time tells them apart.
        """
        hardware = [self.instance_id] if self.instance_id else sorted(self.keys)
        seen = [*hardware, self.evidence.run or self.at.isoformat()]
        return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:12]

    @property
    def keys(self) -> frozenset[str]:
        """By what its GPUs are recognised."""
        return frozenset(key for gpu in self.gpus for key in gpu.keys)

    def holds(self, now: datetime) -> bool:
        """Tell whether it still stands."""
        return self.cleared is None and (self.until is None or now < self.until)

    def means(self, keys: frozenset[str], instance_id: str) -> bool:
        """Tell whether it is about one of these GPUs, or about this instance."""
        same_instance = bool(instance_id) and instance_id == self.instance_id
        return same_instance or not self.keys.isdisjoint(keys)

    @property
    def subject(self) -> str:
        """Name the hardware in words."""
        words = [
            *([f"instance {self.instance_id}"] if self.instance_id else []),
            *([f"{len(self.gpus)} GPUs"] if len(self.gpus) > 1 else []),
            *([f"GPU {self.gpus[0]}"] if len(self.gpus) == 1 else []),
        ]
        return " with ".join(words)

    def __str__(self) -> str:
        end = f"until {self.until:%Y-%m-%d}" if self.until else "until it is cleared"
        run = f", run {self.evidence.run}" if self.evidence.run else ""
        return (
            f"{self.subject} is on the blacklist since {self.at:%Y-%m-%d} {end} "
            f"(entry {self.id}{run}): {self.reason}"
        )

    def text(self) -> str:
        """Return it as it is kept."""
        return self.model_dump_json(by_alias=True, indent=1)


def gpus_of(rows: Iterable[Mapping[str, str]]) -> tuple[Gpu, ...]:
    """Return the GPUs among the identities that the judge of nodes hands out.

    A word that means "no value" is no identity: by it, all boards without a serial number would be
    one board.
    """
    found = (
        Gpu(serial=_identity(row.get("serial", "")), uuid=_identity(row.get("uuid", "")))
        for row in rows
    )
    return tuple(gpu for gpu in found if gpu.keys)[:MOST_GPUS]


def instance_of(provider_id: str) -> str:
    """Return the instance's id from a node's provider id (aws:///ZONE/ID), or nothing."""
    last = provider_id.rpartition("/")[2]
    return last if _INSTANCE.fullmatch(last) else ""


def _identity(word: str) -> str:
    word = word.strip()
    return "" if absent(word) or _NO_SERIAL.fullmatch(word) else word
