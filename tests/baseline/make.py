"""Settings, runs and baselines to try the rules with."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from components.catalog.floors import GIB
from scripts.baseline.promote import promote
from scripts.baseline.record import Baseline, Floor, Run
from scripts.baseline.sample import Point
from scripts.baseline.setting import Place, Setting, Stack
from scripts.verdicts import Verdict

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)

STACK = Stack(
    image=f"sha256:{'0' * 64}",
    nccl="2.30.4",
    nccl_tests="2.18.3",
    ofi="1.20.0",
    libfabric="2.4",
    efa="3.0.0",
    driver="580.95.05",
    kernel="6.12.40",
)

SETTING = Setting(
    instance_type="p5.48xlarge",
    nodes=14,
    ranks_per_node=8,
    collective="all_reduce",
    dtype="float sum -1",
    flags=("iterations=20", "warmup=5"),
    place=Place(zone="use1-az4", closeness="one layer 2"),
    stack=STACK,
)

CURVE = {1 * GIB: 322.0, 4 * GIB: 352.0, 16 * GIB: 362.0}


def days(count: float) -> datetime:
    return NOW + timedelta(days=count)


def stack(**changed: str) -> Setting:
    """Return the setting on another stack."""
    return SETTING.model_copy(update={"stack": STACK.model_copy(update=changed)})


def run(
    name: str = "r1",
    curve: Mapping[int, float] = CURVE,
    *,
    scale: float = 1.0,
    in_place: float = 1.0,
    verdict: Verdict = Verdict.PASS,
    at: datetime = NOW,
    reasons: tuple[str, ...] = (),
) -> Run:
    """Make a run that reached ``scale`` of a curve, and in place a share of that."""
    points = [
        Point(
            size=size,
            placement=placement,
            time_us=size / (busbw * scale * share) / 1e3,
            busbw=busbw * scale * share,
        )
        for size, busbw in curve.items()
        for placement, share in (("out", 1.0), ("in", in_place))
    ]
    return Run(
        run=name,
        label="r0",
        at=at,
        verdict=verdict,
        reasons=reasons,
        points=tuple(points),
        log=f"sha256:{name:x<64}",
        floor=Floor(busbw=330, from_bytes=4 * GIB),
    )


def three(curve: Mapping[int, float] = CURVE, scale: float = 1.0) -> list[Run]:
    """Make three runs that differ a little; their median is ``scale`` of the curve."""
    shares = {"r1": 0.99, "r2": 1.0, "r3": 1.01}
    return [run(name, curve, scale=scale * share) for name, share in shares.items()]


def base(
    setting: Setting = SETTING,
    curve: Mapping[int, float] = CURVE,
    scale: float = 1.0,
    at: datetime = NOW,
) -> Baseline:
    """Make a baseline that is ``scale`` of a curve."""
    return promote(
        setting, three(curve, scale), before=None, by="somebody", why="first good wave", at=at
    )
