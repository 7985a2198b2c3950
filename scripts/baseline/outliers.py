"""Finds the nodes that stand out among the others of their wave. Pure.

One-sided: a slow node may be bad, a fast one never is. With few nodes the spread says nothing, and
only a plain distance from the median counts. The absolute floor holds besides, for all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from statistics import median

from scripts.baseline.rules import WaveRules, rules
from scripts.text import words
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["Outliers", "outliers"]

CONSISTENT = 0.6745
"""MAD of a normal distribution in standard deviations: it makes the robust z comparable with z."""

COMPARABLE = 2
"""A single node has no others to stand out from."""


@dataclass(frozen=True, slots=True)
class Outliers:
    """The suspects, each with its reason. They are not bad yet: they are measured again."""

    verdict: Verdict
    suspects: Mapping[str, str]
    findings: tuple[Finding, ...]
    median: float | None = None


def outliers(
    values: Mapping[str, float], *, floor: float | None = None, limits: WaveRules | None = None
) -> Outliers:
    """Judge what each node of a wave reached (GB/s, higher is better) against the others.

    ``floor`` is the lowest good value, where one is known.
    """
    limits = limits or rules().wave
    strange = sorted(name for name, value in values.items() if not isfinite(value) or value <= 0)
    known = {name: value for name, value in values.items() if name not in set(strange)}
    suspects: dict[str, str] = {}
    middle = median(known.values()) if known else None
    if middle is not None and len(known) >= COMPARABLE:
        suspects |= _spread(known, middle, limits)
    if floor is not None:
        below = {name: value for name, value in known.items() if value < floor}
        suspects |= {
            name: f"{value:g} is below the floor of {floor:g}" for name, value in below.items()
        }
    findings = tuple(_findings(known, strange, suspects, floor))
    verdict = overall(found.verdict for found in findings)
    return Outliers(verdict, dict(sorted(suspects.items())), findings, middle)


def _spread(known: Mapping[str, float], middle: float, limits: WaveRules) -> dict[str, str]:
    if len(known) < limits.enough:
        return {
            name: f"{value:g} is {1 - value / middle:.1%} below the median {middle:g} of "
            f"{words(len(known), 'node')}"
            for name, value in known.items()
            if value <= middle * (1 - limits.few_below) and value < middle
        }
    mad = max(
        median(abs(value - middle) for value in known.values()), limits.least_mad * abs(middle)
    )
    scores = {
        name: CONSISTENT * (value - middle) / mad if mad else 0.0 for name, value in known.items()
    }
    return {
        name: f"{known[name]:g} is {1 - known[name] / middle:.1%} below the median {middle:g} of "
        f"{words(len(known), 'node')} (robust z {score:.1f})"
        for name, score in scores.items()
        if score < limits.z and known[name] <= middle * (1 - limits.below)
    }


def _findings(
    known: Mapping[str, float],
    strange: list[str],
    suspects: Mapping[str, str],
    floor: float | None,
) -> Iterator[Finding]:
    for name, why in sorted(suspects.items()):
        yield Finding(
            "outlier", Verdict.FAIL, f"{name}: {why}", "measure it again with proven nodes"
        )
    if strange:
        yield Finding(
            "outlier",
            Verdict.UNKNOWN,
            f"no number was measured on {', '.join(strange)}",
            "measure them again",
        )
    if len(known) < COMPARABLE and floor is None:
        yield Finding(
            "outlier",
            Verdict.UNKNOWN,
            f"{words(len(known), 'node')} cannot stand out from others, and no floor is known",
            "give a floor",
        )
