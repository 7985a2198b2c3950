"""The options that say how a gate is run, shared by ``yard gate run`` and ``yard gate resume``."""

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from scripts.baseline.ruling import Weight
from scripts.gate.keep import Keep
from scripts.gate.session import Settings
from scripts.records.kubeconfig import kubeconfig_option, namespace_option

__all__ = ["running", "settings_of"]

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS: Final = (
    kubeconfig_option,
    namespace_option,
    click.option(
        "--report-dir",
        default="reports",
        show_default=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="Where reports, pictures and logs are written.",
    ),
    click.option(
        "--keep-logs",
        type=click.Choice([str(each) for each in Keep]),
        default=str(Keep.BAD),
        show_default=True,
        help="Which logs of Jobs stay there; bad: what did not pass, and the sweeps.",
    ),
    click.option(
        "--bucket", help="Bucket that keeps every run and baseline, s3://NAME or s3://NAME/PREFIX."
    ),
    click.option(
        "--baseline",
        "weight",
        type=click.Choice([str(each) for each in Weight]),
        default=str(Weight.WARN),
        show_default=True,
        help="What a regression against the baseline does: warn, or fail the wave.",
    ),
    click.option(
        "--replace",
        default=0,
        show_default=True,
        type=click.IntRange(min=0),
        help="How many nodes of the wave with bad hardware may be replaced.",
    ),
    click.option(
        "--repair/--no-repair",
        "repaired",
        default=True,
        show_default=True,
        help="Whether EKS repairs nodes of the pool by itself; such nodes are left to it.",
    ),
    click.option(
        "--live/--plain", default=None, help="A table that is redrawn, or lines; else by terminal."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the whole verdict as JSON."),
)


def running(command: F) -> F:
    """Add the options to a command, in their order."""
    return reduce(lambda made, option: option(made), reversed(OPTIONS), command)


def settings_of(how: dict[str, Any]) -> Settings:
    """Return what the options say, as click hands them over."""
    return Settings(
        reports=how["report_dir"],
        keep=Keep(how["keep_logs"]),
        bucket=how["bucket"],
        weight=Weight(how["weight"]),
        replace=how["replace"],
        repaired=how["repaired"],
    )
