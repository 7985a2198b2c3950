"""Reads a file of either format, and joins the JSON output of a run with the log of the run."""

from dataclasses import replace
from itertools import chain

from scripts.nccl.lines import Readable, bounded
from scripts.nccl.log import parse
from scripts.nccl.output import MAX_BYTES, looks_like_json, parse_json
from scripts.nccl.record import Log, Quote

__all__ = ["join", "read"]

_START = 4096


class _Rest:
    """A stream whose first bytes were read already."""

    def __init__(self, start: bytes, stream: Readable) -> None:
        self._start = start
        self._stream = stream

    def read(self, count: int) -> bytes:
        """Return up to ``count`` bytes."""
        start, self._start = self._start, b""
        return start or self._stream.read(count)


def read(stream: Readable) -> Log:
    """Read the text of a run, line by line, or its JSON output."""
    start = stream.read(_START)
    if looks_like_json(start):
        return parse_json(start + stream.read(MAX_BYTES))
    return parse(bounded(_Rest(start, stream)))


def join(log: Log, results: Log) -> Log:
    """Return one record: the numbers of the JSON output, the messages of the log.

    nccl-tests never writes over a file: if the name is taken it takes another one, and what lies
    under the first name is an older run. Both must name the same processes on the same hosts.
    """
    stale = _not_the_same(log, results)
    return replace(
        results,
        lines=log.lines,
        version=log.version or results.version,
        reduced_to=log.reduced_to,
        exit_code=log.exit_code,
        misread=[*([Quote(0, stale)] if stale else []), *results.misread],
        warnings=log.warnings,
        failures=list(chain(log.failures, results.failures)),
        launcher=log.launcher,
        bounds=[*(each for each in log.bounds if each.word == "FAILED"), *results.bounds][:1],
        transport=log.transport,
    )


def _not_the_same(log: Log, results: Log) -> str:
    told, listed = log.devices, results.devices
    if results.cut or not listed.host_of:
        return ""
    if not told.host_of:
        return "the log lists no ranks, so nothing ties the JSON file to it"
    if (told.host_of, told.pid_of) != (listed.host_of, listed.pid_of):
        return (
            "the JSON file is of another run, by the processes that it names (nccl-tests never "
            "writes over a file: it takes another name if there is one)"
        )
    return ""
