"""Judges whether the run came to its end, printed all that it had to, and compared its results."""

from collections.abc import Iterator
from itertools import chain, groupby

from scripts.nccl.expectation import Expectation
from scripts.nccl.launcher import silence, was_stopped
from scripts.nccl.record import Log, Quote
from scripts.nccl.table import Row
from scripts.text import size, sizes, words
from scripts.verdicts import Finding, Verdict

__all__ = ["findings", "first_findings"]

RUN_AGAIN = "run it again and keep the whole output"
IN_PAIRS = "test the nodes in pairs to find the one it comes from"
CORRUPT = "keep these nodes away from jobs and test them in pairs: data is being corrupted"

PARTS = {
    False: (
        "its banner (# nThread …)",
        "a table header",
        "the line '# Out of bounds values'",
        "the line '# Avg bus bandwidth'",
        "the line '# Collective test concluded'",
    ),
    True: ("config", "results", "out_of_bounds", "average_bus_bandwidth", "end_time"),
}
"""What every run prints, in the words of the text and of the JSON output."""


def first_findings(log: Log, _expected: Expectation) -> Iterator[Finding]:
    """Judge what fails any log, also a broken one, and what the launcher says."""
    yield from _crashed(log)
    yield from _launcher(log)
    yield from _wrong_values(log)
    if log.cut:
        yield _damaged(log, log.cut)


def findings(log: Log, _expected: Expectation) -> Iterator[Finding]:
    """Judge what must be there for a log to be believed."""
    yield from _parts(log)
    yield from _rows(log)
    yield from _in_order(log)
    yield from _compared(log)


def _crashed(log: Log) -> Iterator[Finding]:
    if log.failures:
        last = log.warnings[-1:]
        before = f"; NCCL warned before: {last[0].text}" if last else ""
        yield Finding(
            "crash",
            Verdict.FAIL,
            f"the run ended by an error: {log.failures[0].text}{before}",
            IN_PAIRS,
            tuple(quote.line for quote in [*last, *log.failures]),
        )


def _launcher(log: Log) -> Iterator[Finding]:
    complaints = [quote.text for quote in log.launcher]
    lines = tuple(quote.line for quote in log.launcher)
    seconds = silence(complaints)
    if seconds is not None:
        yield _hang(f"the run fell silent {_where(log)} and was stopped after {seconds} s", lines)
    elif was_stopped(log.exit_code, complaints):
        what = f"the run was ended by its time limit {_where(log)}: it hung, or was far too slow"
        yield _hang(what, lines)
    elif complaints:
        yield Finding(
            "launcher",
            Verdict.UNKNOWN,
            f"the launcher says: {complaints[0]}",
            "mend what it names (host file, ssh, memory, a killed process) and run it again",
            lines,
        )
    elif log.exit_code and not log.failures and not _explained(log):
        yield Finding(
            "launcher",
            Verdict.UNKNOWN,
            f"the launcher ended with exit code {log.exit_code}, and the log does not say why",
            "look at what it wrote to standard error",
        )


def _hang(what: str, lines: tuple[int, ...]) -> Finding:
    return Finding(
        "hang",
        Verdict.UNKNOWN,
        what,
        "run it again; if it stays, test the nodes in pairs: the pair that hangs holds the node",
        lines,
    )


def _explained(log: Log) -> bool:
    """Tell whether nccl-tests has a reason of its own to end with another exit code than 0."""
    wrong = any(footer.word == "FAILED" for footer in chain(log.bounds, log.averages))
    return wrong or any(_wrong(row) for table in log.tables for row in table.rows)


def _where(log: Log) -> str:
    rows = [row for table in log.tables for row in table.rows]
    if log.concluded:
        return "after it had concluded"
    if rows:
        return f"after the row of {size(rows[-1].size)}"
    if log.tables:
        return "before the first row"
    return "before the table" if log.devices.host_of or log.banners else "before it began"


def _wrong(row: Row) -> bool:
    return any(side.wrong for side in row.sides)


def _wrong_values(log: Log) -> Iterator[Finding]:
    rows = [row for table in log.tables for row in table.rows if _wrong(row)]
    if rows:
        yield Finding(
            "wrong-values",
            Verdict.FAIL,
            f"results were wrong at {sizes(row.size for row in rows)}",
            CORRUPT,
            tuple(row.line for row in rows),
        )
    failed = [footer for footer in log.bounds if footer.word == "FAILED" or footer.value]
    if failed and not rows:
        yield Finding(
            "wrong-values",
            Verdict.FAIL,
            f"the footer counts {failed[0].value:g} failed checks, though no row shows them",
            CORRUPT,
            tuple(footer.line for footer in failed),
        )


def _parts(log: Log) -> Iterator[Finding]:
    present = (log.banners, log.tables, log.bounds, log.averages, _concluded(log))
    missing = [name for name, found in zip(PARTS[log.from_json], present, strict=True) if not found]
    if missing and not log.cut:
        yield _damaged(log, f"it lacks {', '.join(missing)}")
    if log.misread:
        first = log.misread[0]
        noun = "part" if log.from_json else "row"
        yield Finding(
            "whole",
            Verdict.UNKNOWN,
            f"{words(len(log.misread), noun)} could not be read; the first: {first.text}",
            RUN_AGAIN,
            tuple(quote.line for quote in log.misread),
        )


def _damaged(log: Log, what: str) -> Finding:
    return Finding(
        "whole",
        Verdict.UNKNOWN,
        f"the {'JSON output' if log.from_json else 'log'} is cut or damaged: {what}",
        RUN_AGAIN,
        (log.lines,),
    )


def _concluded(log: Log) -> list[Quote] | bool:
    """Tell whether the last line is whole: it repeats the program's name from the first."""
    return not log.programs or log.programs == [quote.text for quote in log.concluded]


def _rows(log: Log) -> Iterator[Finding]:
    """Compare the sizes of each data type and operation with those that were asked for."""
    if len(log.banners) == 1 and len(log.tables) == 1:
        table = log.tables[0]
        expected = log.banners[0].sizes(log.reduced_to)
        groups = [
            (kind, [row.size for row in rows])
            for kind, rows in groupby(table.rows, key=lambda row: row.kind)
        ] or [("", [])]
        for kind, printed in groups:
            if printed != expected:
                which = f"{kind}: " if len(groups) > 1 else ""
                yield _other_rows(which, expected, printed, table.line)
                break
    if log.reduced_to is not None and log.banners:
        yield Finding(
            "whole",
            Verdict.PASS,
            f"memory was short: the sweep ends at {size(log.reduced_to)} instead of "
            f"{size(log.banners[0].high)}",
        )


def _other_rows(which: str, expected: list[int], printed: list[int], line: int) -> Finding:
    absent = [count for count in expected if count not in printed]
    seen = f"{which}{len(printed)} of {words(len(expected), 'row')}"
    what = f"{seen}; missing: {sizes(absent)}" if absent else f"{seen}, not in rising order"
    return Finding("whole", Verdict.UNKNOWN, what, RUN_AGAIN, (line,))


def _in_order(log: Log) -> Iterator[Finding]:
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


def _compared(log: Log) -> Iterator[Finding]:
    rows = [row for table in log.tables for row in table.rows]
    off = bool(log.banners) and log.banners[0].validation == 0
    # Of some collectives nothing is compared in place; else both are compared, at every size.
    both = any(row.in_place.wrong is not None for row in rows)
    unchecked = [
        row
        for row in rows
        if row.out_of_place.wrong is None or (both and row.in_place.wrong is None)
    ]
    if off or unchecked:
        every = off or unchecked == rows
        which = "at any size" if every else f"at {sizes(row.size for row in unchecked)}"
        yield Finding(
            "compared",
            Verdict.UNKNOWN,
            f"results were not compared with the right ones {which}; the footer says OK all the "
            "same",
            "run with -c 1",
            tuple(row.line for row in unchecked[:8]),
        )
