"""What each accelerator must show, and the policy for faults, read from ``policy.yaml``."""

from datetime import date
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from components.catalog import InstanceType
from scripts.errors import UsageError

__all__ = ["Limits", "Policy", "Profile", "Severity", "policy", "profile"]

DATA = Path(__file__).with_name("policy.yaml")


class Severity(IntEnum):
    """What must be done about a node. ``RESET`` and worse fail it."""

    PASS = 0
    MONITOR = 1
    RESET = 2
    REBOOT = 3
    ISOLATE = 4


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Profile(_Data):
    """What the GPUs of an instance type must show beyond their number.

    ``pcie_lanes`` is 0 where the width of the link is not judged.
    """

    nvlinks: int
    nvlink_gbps: float
    fabric: Literal["reported", "silent", "none"]
    gdrdma: bool
    nvls: bool
    pcie_lanes: int


class Limits(_Data):
    """Numbers up to which a node is good; ``memlock``, ``hugepages`` and shares: from which."""

    uncorrectable_volatile: int
    uncorrectable_sram_aggregate: int
    remapped_uncorrectable: int
    retired_single_bit: int
    nvlink_errors: int
    memlock_kib: int
    hugepages_mib: int
    memory_share: float
    nvme_share: float
    disk_percent: int
    mtu: int
    clock_offset_ms: float
    first_kernel: str


class Throttle(_Data):
    """Names of the bits of a throttle mask, and of the columns that drivers print for them."""

    allowed: dict[int, str]
    isolate: dict[int, str]
    columns: dict[str, int]


Action = Literal["monitor", "reset", "reboot", "isolate"]


class Xids(_Data):
    """Driver error codes by what they ask for."""

    isolate: frozenset[int]
    reboot: frozenset[int]
    reset: frozenset[int]
    monitor: frozenset[int]
    actions: dict[str, Action]


class Sxids(_Data):
    """NVSwitch error codes: by the word beside them, and by themselves."""

    fatal: Action
    non_fatal: Action
    unsaid: Action
    codes: dict[int, Action]


class Dcgm(_Data):
    """How long each level may run, and what the levels of its warnings ask for."""

    seconds: dict[int, int]

    warning_level: dict[int, Action]
    error_severity: dict[int, Action]


class Host(_Data):
    """What is looked for outside the GPUs."""

    modules: tuple[str, ...]
    efa_modules: tuple[str, ...]
    clock_sources: frozenset[str]
    numa: dict[str, tuple[str, ...]]
    efa_counters: dict[str, int]


class Source(_Data):
    """Where a part of the policy is from, when it was read, and how sure we are of it."""

    source: str
    date: date
    confidence: Literal["high", "medium", "low"]


class Policy(_Data):
    """The whole of ``policy.yaml``."""

    sources: dict[str, Source]
    accelerators: dict[str, Profile]
    limits: Limits
    throttle: Throttle
    xid: Xids
    xid_of: dict[str, dict[int, Action]]
    sxid: Sxids
    dcgm: Dcgm
    host: Host

    def xid_severity(self, code: int, text: str, accelerator: str) -> Severity | None:
        """Return what a code asks for; None for a code that is in no list."""
        for phrase, action in self.xid.actions.items():
            if code == ACTION_IN_TEXT and phrase in text:
                return Severity[action.upper()]
        if action := self.xid_of.get(accelerator, {}).get(code):
            return Severity[action.upper()]
        for severity in (Severity.ISOLATE, Severity.REBOOT, Severity.RESET, Severity.MONITOR):
            if code in getattr(self.xid, severity.name.lower()):
                return severity
        return None

    def sxid_severity(self, code: int, word: str | None) -> Severity:
        """Return what an NVSwitch error asks for; the graver of its code's and its word's."""
        words = {None: self.sxid.unsaid, "fatal": self.sxid.fatal}
        actions = [words.get(word and word.lower(), self.sxid.non_fatal)]
        if code in self.sxid.codes:
            actions.append(self.sxid.codes[code])
        return max(Severity[action.upper()] for action in actions)


ACTION_IN_TEXT = 154
"""The driver's recovery action: its number says nothing, its text says what to do."""

SLICE = Profile(nvlinks=0, nvlink_gbps=0, fabric="none", gdrdma=True, nvls=False, pcie_lanes=0)
"""One GPU of a board that others share: its NVLinks and the fabric are not ours to see."""


@cache
def policy() -> Policy:
    """Return the policy."""
    return Policy.model_validate(yaml.safe_load(DATA.read_text(encoding="utf-8")))


def profile(instance: InstanceType) -> Profile:
    """Return what the GPUs of ``instance`` must show.

    Raises
    ------
    UsageError
        If there is no profile for its accelerator.
    """
    accelerator = instance.accelerator
    known = policy().accelerators
    if accelerator is None or accelerator.name not in known:
        raise UsageError(
            f"{instance.name} has no GPU profile; types with {', '.join(known)} have one"
        )
    if accelerator.count == 1 and known[accelerator.name].nvlinks:
        return SLICE
    return known[accelerator.name]
