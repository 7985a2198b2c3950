"""What is kept of runs and of baselines. Pure data, with the ids by which both are named."""

import hashlib
from datetime import UTC
from typing import Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    PositiveFloat,
    PositiveInt,
)

from scripts.baseline.sample import Placement, Point, Sample
from scripts.baseline.setting import Setting
from scripts.nccl.expectation import Expectation
from scripts.nccl.judge import Judgement
from scripts.verdicts import Verdict

__all__ = ["REASON_LENGTH", "BasePoint", "Baseline", "Floor", "Ledger", "Run", "run_of"]

REASON_LENGTH = 1000
MOST_REASONS = 8


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Floor(_Data):
    """The floor that a run was judged by: GB/s from a size (bytes) on."""

    busbw: PositiveFloat
    from_bytes: PositiveInt


class Run(_Data):
    """One measurement, as it was judged. ``log`` is the digest of its raw log."""

    run: str
    label: str
    at: AwareDatetime
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    points: tuple[Point, ...]
    log: str
    floor: Floor | None = None

    @property
    def id(self) -> str:
        """Return its name: the gate's run, which of its measurements this is, and of which log.

        A gate that resumes may measure the same once more; that is another run.
        """
        return f"{self.run}.{self.label}.{self.log.rpartition(':')[2][:6]}"


class BasePoint(_Data):
    """The median of some runs at one size and placement; ``spread`` is their variation."""

    size: PositiveInt
    placement: Placement
    time_us: PositiveFloat
    busbw: FiniteFloat
    spread: FiniteFloat

    @property
    def key(self) -> tuple[int, Placement]:
        """What makes two points comparable."""
        return self.size, self.placement


class Baseline(_Data):
    """What equal runs are compared with, and who made it so.

    ``forced`` lists what spoke against it and was overruled; ``left_out`` the sizes that swung too
    much to be compared.
    """

    setting: Setting
    points: tuple[BasePoint, ...]
    runs: tuple[str, ...]
    logs: tuple[str, ...]
    at: AwareDatetime
    by: str
    why: str = Field(min_length=1, max_length=REASON_LENGTH)
    forced: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    replaces: str = ""

    @property
    def id(self) -> str:
        """Return its name: its setting's, and when it was promoted."""
        stamp = f"{self.at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        sign = hashlib.sha256(f"{self.by}\n{self.why}".encode()).hexdigest()[:4]
        return f"{self.setting.id}.{stamp}-{sign}"


class Ledger(_Data):
    """All that is known of one setting: its runs and its promotions, oldest first."""

    schema_version: Literal[1] = Field(1, alias="schema")
    setting: Setting
    runs: tuple[Run, ...] = ()
    promotions: tuple[Baseline, ...] = ()

    @property
    def baseline(self) -> Baseline | None:
        """The baseline that holds now: the last one promoted."""
        return self.promotions[-1] if self.promotions else None

    def text(self) -> str:
        """Return it as it is kept."""
        return self.model_dump_json(by_alias=True)


def run_of(
    *,
    run: str,
    label: str,
    at: AwareDatetime,
    sample: Sample,
    judgement: Judgement,
    expected: Expectation,
) -> Run:
    """Return the record of one measurement of a gate's run."""
    floor = expected.floor
    return Run(
        run=run,
        label=label,
        at=at,
        verdict=judgement.verdict,
        reasons=tuple(found.message[:REASON_LENGTH] for found in judgement.reasons)[:MOST_REASONS],
        points=sample.points,
        log=sample.log,
        floor=Floor(busbw=floor.busbw, from_bytes=floor.from_bytes) if floor else None,
    )
