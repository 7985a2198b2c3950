"""``yard baseline``: what equal runs reached before, and whether a run is slower."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from scripts.baseline.bucket import open_bucket
from scripts.baseline.charts import write
from scripts.baseline.compare import compare
from scripts.baseline.record import Baseline, BasePoint, Ledger, Run
from scripts.baseline.store import SHELF, BaselineStore
from scripts.errors import UsageError
from scripts.records.kubeconfig import kubeconfig_option, namespace_option, open_shelf
from scripts.text import size, words
from scripts.verdicts import EXIT_CODES, Verdict

__all__ = ["baseline"]

WIDE = 200
"""Columns of a table that no terminal shows: enough that a pipe gets whole lines."""

_bucket = click.option("--bucket", help="Bucket that keeps all for good: s3://NAME/PREFIX.")
_json = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group()
def baseline() -> None:
    """Show what equal runs reached before, and whether a run is slower.

    A setting is all that makes runs comparable: type, nodes, collective, data type, flags, place,
    and the versions of the stack. Its ID may be cut, as long as it names one.
    """


@baseline.command("list", epilog="Example: yard baseline list --type p5.48xlarge")
@click.option("--type", "type_name", help="Settings of this instance type only.")
@kubeconfig_option
@namespace_option
@_json
def list_settings(*, type_name: str | None, kubeconfig: str, namespace: str, as_json: bool) -> None:
    """List the settings that were measured, and their baselines."""
    found = [
        ledger
        for ledger in BaselineStore(open_shelf(SHELF, kubeconfig, namespace)).ledgers()
        if type_name in {None, ledger.setting.instance_type}
    ]
    if as_json:
        click.echo(json.dumps([_brief(ledger) for ledger in found], indent=1))
    elif found:
        Console(width=None if sys.stdout.isatty() else WIDE).print(_table(found))
    else:
        click.echo("nothing was measured yet: a gate keeps each of its runs here")


@baseline.command(epilog="Example: yard baseline show 4f1c0a9b --pictures reports")
@click.argument("setting", metavar="ID")
@click.option(
    "--pictures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for pictures of the latest run and of all runs over time.",
)
@kubeconfig_option
@namespace_option
@_json
def show(
    *, setting: str, pictures: Path | None, kubeconfig: str, namespace: str, as_json: bool
) -> None:
    """Show all that is known of a setting: stack, runs, and who promoted what, and why."""
    ledger = BaselineStore(open_shelf(SHELF, kubeconfig, namespace)).ledger(setting)
    files = write(ledger, pictures) if pictures else ()
    if as_json:
        click.echo(ledger.model_dump_json(by_alias=True, indent=1))
    else:
        click.echo("\n".join(_lines(ledger)))
    for file in files:
        click.echo(f"picture: {file}", err=True)


@baseline.command(
    epilog="Example: yard baseline promote 4f1c0a9b --reason 'first good wave of the new AMI'"
)
@click.argument("setting", metavar="ID")
@click.option("--reason", required=True, help="Why; it is kept.")
@click.option("--by", required=True, envvar="USER", show_envvar=True, help="Who says so.")
@click.option("--run", "runs", multiple=True, help="Run to rest on; else the latest accepted.")
@click.option("--force", is_flag=True, help="Although it is slower; what is overruled is kept.")
@_bucket
@kubeconfig_option
@namespace_option
@_json
def promote(  # noqa: PLR0913 - click hands each option over by its name
    *,
    setting: str,
    reason: str,
    by: str,
    runs: tuple[str, ...],
    force: bool,
    bucket: str | None,
    kubeconfig: str,
    namespace: str,
    as_json: bool,
) -> None:
    """Make the median of accepted runs what later runs are compared with.

    Three different runs at least, that agree. Never slower than before without --force.
    """
    store = BaselineStore(
        open_shelf(SHELF, kubeconfig, namespace), open_bucket(bucket) if bucket else None
    )
    made = store.promote(setting, runs=runs, by=by, why=reason, now=_now(), force=force)
    if as_json:
        click.echo(made.model_dump_json(indent=1))
    else:
        click.echo("\n".join(["promoted", *_promotion(made)]))


@baseline.command(
    "compare", epilog="Example: yard baseline compare 4f1c0a9b --run FIRST --run AGAIN"
)
@click.argument("setting", metavar="ID")
@click.option("--run", "runs", multiple=True, help="Run, and its rerun; else of the latest gate.")
@kubeconfig_option
@namespace_option
@_json
def compare_runs(
    *, setting: str, runs: tuple[str, ...], kubeconfig: str, namespace: str, as_json: bool
) -> None:
    """Hold a run against the baseline of its setting.

    A slower run is unknown until a second run of it is slow as well. Exit codes: 0 as fast, 1 a
    regression, 3 it could not be compared.
    """
    store = BaselineStore(open_shelf(SHELF, kubeconfig, namespace))
    ledger = store.ledger(setting)
    own, others = store.baselines(ledger.setting)
    chosen = _chosen(ledger, runs)
    found = compare(ledger.setting, chosen, own, others=others)
    if as_json:
        told = {"runs": [run.id for run in chosen], **found.as_json()}
        click.echo(json.dumps(told, indent=1))
    else:
        names = " and ".join(run.id for run in chosen) or "no run"
        click.echo(f"{found.verdict}: {names}: {found.summary}")
        for each in found.findings:
            # The first line has one message already; what to do about it is still to be said.
            step = f"next: {each.next_step}" if each.next_step else ""
            told = step if each.message == found.summary else str(each)
            if told:
                click.echo(f"  {told}")
    sys.exit(EXIT_CODES[found.verdict])


@baseline.command(epilog="Example: yard baseline sync --bucket s3://records/baselines")
@click.option("--bucket", required=True, help="Bucket of all runs: s3://NAME/PREFIX.")
@kubeconfig_option
@namespace_option
def sync(*, bucket: str, kubeconfig: str, namespace: str) -> None:
    """Bring a cluster's index and the bucket together, as for a new cluster. Nothing is lost."""
    store = BaselineStore(open_shelf(SHELF, kubeconfig, namespace), open_bucket(bucket))
    settings, runs = store.sync()
    click.echo(f"{words(runs, 'run')} of {words(settings, 'setting')} in both")


def _now() -> datetime:
    return datetime.now(tz=UTC).replace(microsecond=0)


def _chosen(ledger: Ledger, wanted: tuple[str, ...]) -> list[Run]:
    known = {run.id: run for run in ledger.runs}
    if missing := [name for name in wanted if name not in known]:
        raise UsageError(
            f"{', '.join(missing)}: no such run of this setting; yard baseline show "
            f"{ledger.setting.id}"
        )
    return [known[name] for name in dict.fromkeys(wanted)] if wanted else _latest(ledger)


def _latest(ledger: Ledger) -> list[Run]:
    """Return what the latest gate passed by, with its rerun; its last run if it did not pass."""
    of = [run for run in ledger.runs if run.run == ledger.runs[-1].run] if ledger.runs else []
    passed = [index for index, run in enumerate(of) if run.verdict is Verdict.PASS]
    return of[passed[0] :] if passed else of[-1:]


def _brief(ledger: Ledger) -> dict[str, Any]:
    held = ledger.baseline
    return {
        "id": ledger.setting.id,
        "setting": ledger.setting.model_dump(mode="json"),
        "gaps": list(ledger.setting.gaps),
        "runs": len(ledger.runs),
        "latest": ledger.runs[-1].id if ledger.runs else None,
        "baseline": held.model_dump(mode="json", exclude={"setting"}) if held else None,
    }


def _table(ledgers: list[Ledger]) -> Table:
    table = Table("ID", "Setting", "NCCL", "Driver", "Runs", "Latest", "Baseline", box=None)
    for ledger in ledgers:
        stack, held = ledger.setting.stack, ledger.baseline
        latest = f"{ledger.runs[-1].at:%Y-%m-%d} {ledger.runs[-1].verdict}" if ledger.runs else ""
        table.add_row(
            ledger.setting.id,
            str(ledger.setting),
            stack.nccl,
            stack.driver,
            str(len(ledger.runs)),
            latest,
            f"{held.at:%Y-%m-%d}, {_reached(held)}" if held else "none",
        )
    return table


def _lines(ledger: Ledger) -> list[str]:
    setting, held = ledger.setting, ledger.baseline
    stack = ", ".join(
        f"{name} {value or '?'}" for name, value in setting.stack.model_dump().items()
    )
    lines = [f"{setting.id}: {setting}", f"flags: {' '.join(setting.flags)}", f"stack: {stack}"]
    lines += [f"gap: {gap}" for gap in setting.gaps]
    lines += [f"run {_run(run)}" for run in ledger.runs]
    for each in ledger.promotions:
        lines += _promotion(each)
    return [*lines, *([] if held else ["no baseline was promoted"])]


def _run(run: Run) -> str:
    why = f": {run.reasons[0]}" if run.reasons else ""
    return f"{run.id} {run.at:%Y-%m-%d %H:%M} {run.verdict} ({run.log[:19]}){why}"


def _promotion(made: Baseline) -> list[str]:
    return [
        f"baseline of {made.at:%Y-%m-%d %H:%M}, {_reached(made)}, by {made.by}: {made.why}",
        f"  rests on {', '.join(made.runs)}",
        *(f"  overruled: {each}" for each in made.forced),
        *([f"  left out, as it swings: {', '.join(made.left_out)}"] if made.left_out else []),
    ]


def _reached(made: Baseline) -> str:
    largest: BasePoint = max(made.points, key=lambda point: (point.size, -point.busbw))
    return f"{largest.busbw:g} GB/s at {size(largest.size)}"
