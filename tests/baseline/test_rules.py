"""The rules are data: they hold together, each has a source, and the documents say the same."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from components.catalog import DATA
from components.catalog.floors import GIB
from scripts.baseline.rules import Rules, rules
from scripts.blacklist.policy import Cause, policy

DOCS = Path(__file__).parents[2] / "docs"


def raw() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DATA / "regression.yaml").read_text())
    return copy.deepcopy(content)


def test_every_size_has_one_class() -> None:
    names = [rules().of(size).name for size in (1, 2**20, 2**20 + 1, 2**24, GIB - 1, GIB, 2**50)]
    assert names == ["latency", "latency", "between", "medium", "medium", "large", "large"]


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ([8, 4, None], "classes of sizes must be in rising order"),
        ([8, 16, 32], "the last class of sizes, and only it, goes on without end"),
        ([8, None, None], "the last class of sizes, and only it, goes on without end"),
    ],
)
def test_sizes_without_a_class_or_with_two_are_refused(
    ends: list[int | None], message: str
) -> None:
    changed = raw()
    changed["sizes"] = [{**changed["sizes"][0], "until_bytes": end} for end in ends]
    with pytest.raises(ValidationError, match=message):
        Rules.model_validate(changed)


def test_the_document_of_baselines_says_what_the_rules_say() -> None:
    text = (DOCS / "baselines.md").read_text()
    known = rules()
    large, medium = known.of(16 * GIB), known.of(GIB // 2)
    for row in (
        f"| 1 GiB and more | bus bandwidth | {large.warn:.0%} below | {large.fail:.0%} below |",
        f"| bus bandwidth | {medium.warn:.0%} below | {medium.fail:.0%} below |",
        f"| below 16 MiB | latency | {known.of(8).warn:.0%} above | never |",
    ):
        assert row.replace("%", " %") in text
    for phrase in (
        f"More than {known.suspicious.above * 100:g} % above",
        f"a robust z below {known.wave.z:g} and at least {known.wave.below * 100:g} % below",
        f"with fewer nodes {known.wave.few_below * 100:g} % below the median",
        f"counts as {known.wave.least_mad * 100:g} % of the median",
        f"differ by more than {known.baseline.spread * 100:g} %",
    ):
        assert phrase in text


def test_the_document_of_the_blacklist_says_what_the_policy_says() -> None:
    text = (DOCS / "blacklist.md").read_text()
    known = policy()
    days = {cause: known.causes[cause].days for cause in Cause}
    assert days[Cause.REBOOT] == days[Cause.RESET]
    for row in (
        f"| a check says `REBOOT` or `RESET` | {days[Cause.RESET]} days |",
        f"two proven nodes | {days[Cause.LINK]} days |",
        f"within {known.repeats.within_days} days | ever, until it is cleared |",
    ):
        assert row in text
    assert (days[Cause.ISOLATE], known.repeats.times, known.keep_days) == (None, 3, 365)
