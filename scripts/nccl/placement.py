"""Judges who took part: one run, on the hosts and GPUs that were asked for, of the right subject.

A wrong placement fails a log, for its numbers are of something else. It is the launcher's doing
and never a reason to blame a node. Where lines are missing nothing is known.
"""

from collections.abc import Iterator

from scripts.nccl.expectation import Expectation
from scripts.nccl.record import Log
from scripts.text import names, words
from scripts.verdicts import Finding, Verdict

__all__ = ["PLACEMENT", "findings"]

PLACEMENT = "placement"

ONE_AT_A_TIME = "give one run at a time"
HOST_FILE = "check the host file and the number of ranks a node"


def findings(log: Log, expected: Expectation) -> Iterator[Finding]:
    """Judge the number of runs, the place of every rank, and what was run on what."""
    if _split(log, expected):
        yield _split_run(log, expected)
    else:
        yield from _one_run(log)
        yield from _placed(log, expected)
    yield from _subject(log, expected)


def _split(log: Log, expected: Expectation) -> bool:
    """Tell a run that fell apart, each part counting from rank 0, from two runs in one file."""
    several = len(log.tables) > 1 or len(log.banners) > 1
    return several and log.devices.repeated > 0 and len(log.devices.host_of) < expected.ranks


def _split_run(log: Log, expected: Expectation) -> Finding:
    tables = max(len(log.tables), len(log.banners))
    found = log.tables if len(log.tables) > 1 else log.banners
    return Finding(
        PLACEMENT,
        Verdict.FAIL,
        f"wrong placement: split run: {tables} tables, of which each counts its ranks from 0, "
        f"where one of {words(expected.ranks, 'rank')} was expected; such numbers are of NVLink "
        "only",
        "build nccl-tests with MPI=1 against the MPI that launches it",
        tuple(each.line for each in found)[:8],
    )


def _one_run(log: Log) -> Iterator[Finding]:
    if any(len(found) > 1 for found in (log.tables, log.banners, log.bounds, log.averages)):
        yield Finding(
            "one-run",
            Verdict.UNKNOWN,
            f"{words(len(log.tables), 'table')}, {words(len(log.banners), 'banner')} and "
            f"{words(len(log.bounds), 'footer')} in one log",
            ONE_AT_A_TIME,
            tuple(table.line for table in log.tables)[:8],
        )


def _placed(log: Log, expected: Expectation) -> Iterator[Finding]:
    devices = log.devices
    counts = devices.ranks_by_host()
    asked = f"{expected.nodes} x {expected.gpus}"
    lines = (devices.line, devices.last_line)
    if not counts:
        yield Finding(
            PLACEMENT,
            Verdict.UNKNOWN,
            f"no line says which rank ran where; {asked} ranks were expected",
            "keep the lines from '# Using devices' on",
        )
        return
    yield from _communicators(log, expected)
    uneven = {host: count for host, count in counts.items() if count != expected.gpus}
    if len(counts) != expected.nodes or uneven:
        certain = _all_listed(log, expected)
        shown = ", ".join(f"{host} {count}" for host, count in list(counts.items())[:4])
        more = "" if len(counts) <= len(shown.split(",")) else ", …"
        yield Finding(
            PLACEMENT,
            Verdict.FAIL if certain else Verdict.UNKNOWN,
            f"{'wrong placement: ' if certain else ''}ranks ran on {words(len(counts), 'host')} "
            f"({shown}{more}); {asked} was expected",
            HOST_FILE,
            lines,
        )
    elif expected.hosts is not None and frozenset(counts) != expected.hosts:
        yield Finding(
            PLACEMENT,
            Verdict.UNKNOWN,
            f"ranks ran on {names(set(counts) - expected.hosts)}, which the run did not ask for",
            "judge the log of this run",
            lines,
        )
    if devices.repeated and len(log.tables) == 1:
        yield Finding(
            PLACEMENT,
            Verdict.UNKNOWN,
            f"{words(devices.repeated, 'rank')} listed twice",
            ONE_AT_A_TIME,
            lines,
        )


def _all_listed(log: Log, expected: Expectation) -> bool:
    """Tell whether the list of ranks can be whole, so that what it lacks was never there."""
    devices = log.devices
    listed = len(devices.host_of)
    unbroken = all(rank in devices.host_of for rank in range(listed))
    counts = set(devices.ranks_by_host().values())
    likely = listed == expected.ranks or len(counts) == 1
    return bool(log.tables) and unbroken and likely and not devices.repeated


def _communicators(log: Log, expected: Expectation) -> Iterator[Finding]:
    groups = log.devices.ranks_by_group()
    sizes = sorted(set(groups.values()))
    if len(groups) == expected.communicators and len(sizes) == 1:
        return
    listed = words(len(log.devices.host_of), "rank")
    each = f" of {sizes[0]}" if len(sizes) == 1 else f" of {sizes[0]} to {sizes[-1]}"
    wanted = (
        "one communicator was expected"
        if expected.communicators == 1
        else f"{expected.communicators} of {expected.ranks_together} were expected"
    )
    yield Finding(
        PLACEMENT,
        Verdict.FAIL if _all_listed(log, expected) else Verdict.UNKNOWN,
        f"wrong placement: {words(len(groups), 'communicator')}{each} share {listed}, and the "
        f"table is their average; {wanted}",
        "set NCCL_TESTS_SPLIT as the run is meant, or unset it",
        (log.devices.line, log.devices.last_line),
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
