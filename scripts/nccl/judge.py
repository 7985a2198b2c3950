"""Judges a read log: whole, correct, placed as asked, over EFA, and fast enough at every size.

A fault that was seen fails a log, also a broken one. What is missing makes it unknown, never good.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scripts.nccl import bandwidth, fabric
from scripts.nccl.expectation import Expectation
from scripts.nccl.log import Log
from scripts.nccl.text import names, sizes, words
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["Judgement", "judge"]

RUN_AGAIN = "run it again and keep the whole output"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one log, why, and the slowest judged row (GB/s) if there was one."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    lowest_busbw: float | None = None

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """The findings that made the verdict what it is."""
        return tuple(found for found in self.findings if found.verdict is not Verdict.PASS)

    @property
    def summary(self) -> str:
        """One line: the first reason, or what was reached."""
        for found in self.findings:
            if found.verdict is self.verdict and self.verdict is not Verdict.PASS:
                return found.message
        if self.lowest_busbw is None:
            return "whole, correct and on the right transport"
        return f"at least {self.lowest_busbw:g} GB/s at every judged size"

    def as_json(self) -> dict[str, Any]:
        """Return plain data for a report."""
        return {
            "verdict": str(self.verdict),
            "lowest_busbw_gbps": self.lowest_busbw,
            "findings": [found.as_json() for found in self.findings],
        }


Rule = Callable[[Log, Expectation], Iterator[Finding]]


def judge(log: Log, expected: Expectation) -> Judgement:
    """Hold ``log`` against ``expected``."""
    if not (log.banners or log.tables or log.failures or log.transport.messages):
        nothing = Finding(
            "whole",
            Verdict.UNKNOWN,
            f"nothing of nccl-tests in {words(log.lines, 'line')}",
            "give the output of the launcher, with both of its streams",
        )
        return Judgement(Verdict.UNKNOWN, (nothing,))
    rules: tuple[Rule, ...] = (
        _crashed,
        _wrong_values,
        _one_run,
        fabric.findings,
        _all_rows,
        _in_order,
        _compared,
        _placement,
        _subject,
        bandwidth.findings,
    )
    findings = tuple(found for rule in rules for found in rule(log, expected))
    verdict = overall(found.verdict for found in findings)
    return Judgement(verdict, findings, bandwidth.lowest(log, expected))


def _crashed(log: Log, _expected: Expectation) -> Iterator[Finding]:
    if log.failures:
        last = log.warnings[-1:]
        before = f"; NCCL warned before: {last[0].text}" if last else ""
        yield Finding(
            "crash",
            Verdict.FAIL,
            f"the run ended by an error: {log.failures[0].text}{before}",
            "test the nodes in pairs to find the one it comes from",
            tuple(quote.line for quote in [*last, *log.failures]),
        )


def _wrong_values(log: Log, _expected: Expectation) -> Iterator[Finding]:
    rows = [row for table in log.tables for row in table.rows if any(s.wrong for s in row.sides)]
    if rows:
        yield Finding(
            "wrong-values",
            Verdict.FAIL,
            f"results were wrong at {sizes(row.size for row in rows)}",
            "keep these nodes away from jobs and test them in pairs: data is being corrupted",
            tuple(row.line for row in rows),
        )
    failed = [footer for footer in log.bounds if footer.word == "FAILED" or footer.value]
    if failed and not rows:
        yield Finding(
            "wrong-values",
            Verdict.FAIL,
            f"the footer counts {failed[0].value:g} failed checks, though no row shows them",
            "keep these nodes away from jobs and test them in pairs: data is being corrupted",
            tuple(footer.line for footer in failed),
        )


def _one_run(log: Log, expected: Expectation) -> Iterator[Finding]:
    tables = len(log.tables)
    lines = tuple(table.line for table in log.tables)[:8]
    if tables > 1 and log.devices.repeated:
        yield Finding(
            "one-run",
            Verdict.UNKNOWN,
            f"split run: {tables} tables, of which each counts its ranks from 0, where one of "
            f"{words(expected.ranks, 'rank')} was expected; such numbers are of NVLink only",
            "build nccl-tests with MPI=1 against the MPI that launches it",
            lines,
        )
    elif any(len(found) > 1 for found in (log.tables, log.banners, log.bounds, log.averages)):
        yield Finding(
            "one-run",
            Verdict.UNKNOWN,
            f"{words(tables, 'table')}, {words(len(log.banners), 'banner')} and "
            f"{words(len(log.bounds), 'footer')} in one log",
            "give one run at a time",
            lines,
        )


def _all_rows(log: Log, _expected: Expectation) -> Iterator[Finding]:
    missing = [
        name
        for name, found in (
            ("its banner (# nThread …)", log.banners),
            ("a table header", log.tables),
            ("the line '# Out of bounds values'", log.bounds),
            ("the line '# Avg bus bandwidth'", log.averages),
            ("the line '# Collective test concluded'", _concluded(log)),
        )
        if not found
    ]
    if missing:
        yield Finding(
            "whole",
            Verdict.UNKNOWN,
            f"the log is cut or damaged: it lacks {', '.join(missing)}",
            RUN_AGAIN,
            (log.lines,),
        )
    if log.misread:
        first = log.misread[0]
        yield Finding(
            "whole",
            Verdict.UNKNOWN,
            f"{words(len(log.misread), 'row')} could not be read; the first: {first.text}",
            RUN_AGAIN,
            tuple(quote.line for quote in log.misread),
        )
    if len(log.banners) == 1 and len(log.tables) == 1:
        expected = log.banners[0].sizes(log.reduced_to)
        printed = [row.size for row in log.tables[0].rows]
        if printed != expected:
            yield _other_rows(expected, printed, log.tables[0].line)
    if log.reduced_to is not None and log.banners:
        yield Finding(
            "whole",
            Verdict.PASS,
            f"memory was short: the sweep ends at {sizes([log.reduced_to])} instead of "
            f"{sizes([log.banners[0].high])}",
        )


def _concluded(log: Log) -> bool:
    """Tell whether the last line is whole: it repeats the program's name from the first."""
    return not log.programs or log.programs == [quote.text for quote in log.concluded]


def _other_rows(expected: list[int], printed: list[int], line: int) -> Finding:
    absent = [size for size in expected if size not in printed]
    seen = f"{len(printed)} of {words(len(expected), 'row')}"
    what = f"{seen}; missing: {sizes(absent)}" if absent else f"{seen}, not in rising order"
    return Finding("whole", Verdict.UNKNOWN, what, RUN_AGAIN, (line,))


def _in_order(log: Log, _expected: Expectation) -> Iterator[Finding]:
    rows = [row.line for table in log.tables for row in table.rows]
    steps = [
        *(banner.line for banner in log.banners),
        *([log.devices.line, log.devices.last_line] if log.devices.line else []),
        *(table.line for table in log.tables),
        *rows,
        *(footer.line for footer in log.bounds),
        *(footer.line for footer in log.averages),
        *(quote.line for quote in log.concluded),
    ]
    one = len(log.tables) == 1 and len(log.banners) == 1
    if one and steps != sorted(steps):
        yield Finding(
            "whole",
            Verdict.UNKNOWN,
            "the lines are out of order: banner, devices, header, rows and footer do not follow "
            "each other",
            "give the output as it was written, unsorted",
        )


def _compared(log: Log, _expected: Expectation) -> Iterator[Finding]:
    rows = [row for table in log.tables for row in table.rows]
    off = bool(log.banners) and log.banners[0].validation == 0
    unchecked = [row for row in rows if all(side.wrong is None for side in row.sides)]
    if off or unchecked:
        which = "at any size" if off or unchecked == rows else f"at {_of(unchecked)}"
        yield Finding(
            "compared",
            Verdict.UNKNOWN,
            f"results were not compared with the right ones {which}; the footer says OK all the "
            "same",
            "run with -c 1",
            tuple(row.line for row in unchecked[:8]),
        )


def _of(rows: list[Any]) -> str:
    return sizes(row.size for row in rows)


def _placement(log: Log, expected: Expectation) -> Iterator[Finding]:
    devices = log.devices
    counts = devices.ranks_by_host()
    asked = f"{expected.nodes} x {expected.gpus}"
    if not counts:
        yield Finding(
            "placement",
            Verdict.UNKNOWN,
            f"no line says which rank ran where; {asked} ranks were expected",
            "keep the lines from '# Using devices' on",
        )
        return
    lines = (devices.line, devices.last_line)
    groups = len(set(devices.group_of.values()))
    if groups > 1:
        yield Finding(
            "placement",
            Verdict.UNKNOWN,
            f"{groups} communicators share {words(len(devices.host_of), 'rank')}, and the table "
            "is their average; one communicator was expected",
            "unset NCCL_TESTS_SPLIT",
            lines,
        )
    uneven = {host: count for host, count in counts.items() if count != expected.gpus}
    if len(counts) != expected.nodes or uneven:
        shown = ", ".join(f"{host} {count}" for host, count in list(counts.items())[:4])
        more = "" if len(counts) <= len(shown.split(",")) else ", …"
        yield Finding(
            "placement",
            Verdict.UNKNOWN,
            f"ranks ran on {words(len(counts), 'host')} ({shown}{more}); {asked} was expected",
            "check the host file and the number of ranks a node",
            lines,
        )
    elif expected.hosts is not None and frozenset(counts) != expected.hosts:
        yield Finding(
            "placement",
            Verdict.UNKNOWN,
            f"ranks ran on {names(set(counts) - expected.hosts)}, which the run did not ask for",
            "judge the log of this run",
            lines,
        )
    if devices.repeated and len(log.tables) == 1:
        yield Finding(
            "placement",
            Verdict.UNKNOWN,
            f"{words(devices.repeated, 'rank')} listed twice",
            "give one run at a time",
            lines,
        )


def _subject(log: Log, expected: Expectation) -> Iterator[Finding]:
    others = sorted(log.collectives - {expected.collective})
    if others:
        yield Finding(
            "subject",
            Verdict.UNKNOWN,
            f"the log is of {', '.join(others)}; {expected.collective} was expected",
            "name the collective with --collective",
        )
    strange = sorted(name for name in log.devices.names if not _same_gpu(name, expected))
    if strange:
        yield Finding(
            "subject",
            Verdict.UNKNOWN,
            f"the ranks ran on {', '.join(strange)}; {expected.instance_type} has "
            f"{expected.accelerator}",
            "name the type that the log was made on",
            (log.devices.line,),
        )


def _same_gpu(name: str, expected: Expectation) -> bool:
    padded = f" {name.replace('-', ' ')} "
    return f" {expected.accelerator} " in padded
