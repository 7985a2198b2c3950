"""Reads the JSON output of nccl-tests (``-J``) into the same facts as its text.

The file holds the whole environment of the run, secrets too: ``env`` is never read, and no message
repeats a piece of the file. Its booleans are strings, and a number that is none is ``"nan"``.
"""

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, cast

from scripts.nccl.record import MAX_RANKS, Banner, Footer, Log, Quote
from scripts.nccl.table import MAX_ROWS, Columns, Row, Side, Table

__all__ = ["KNOWN_VERSIONS", "MAX_BYTES", "looks_like_json", "parse_json"]

KNOWN_VERSIONS = frozenset({1, 2, 3})

MAX_BYTES = 64 * 2**20
"""A run of 1,024 nodes writes some 2 MB; per-iteration times of every process some tens."""

MOST_COUNTED = 10**18
MOST = 1e300
"""Larger numbers are noise; a comparison with nan is false."""

_NO_COLUMNS = Columns((), 0, 0, cputime=False, timestamp=False)
_CPU_COLUMNS = Columns((), 0, 0, cputime=True, timestamp=False)
_PLACEMENTS = ("out_of_place", "in_place")

Object = Mapping[str, Any]


class _OddError(ValueError):
    """Something is not where the format has it; says what, never its value."""


def looks_like_json(start: bytes) -> bool:
    """Tell JSON output from text by its first bytes."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def parse_json(content: bytes) -> Log:
    """Read the content of one file; what is wrong with it stands in ``misread`` and ``cut``."""
    log = Log(lines=content.count(b"\n") + 1, from_json=True)
    if len(content) > MAX_BYTES:
        log.cut = f"it is longer than {MAX_BYTES // 2**20} MiB"
        return log
    try:
        document = json.loads(content.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        log.cut = f"it is no whole JSON document: it breaks off{place}"
        return log
    try:
        _read(log, _object(document, "the document"))
    except _OddError as error:
        log.misread.append(Quote(0, str(error)))
    return log


def _read(log: Log, document: Object) -> None:
    version = _integer(document, "version")
    if version not in KNOWN_VERSIONS:
        known = ", ".join(map(str, sorted(KNOWN_VERSIONS)))
        raise _OddError(f"its version is {version}, and {known} are known")
    log.nccl = str(document["nccl_version"]) if document.get("nccl_version") else None
    arguments = _list(document.get("args"))
    if arguments and isinstance(arguments[0], str):
        log.programs.append(PurePath(arguments[0]).name)
    config = _object(document.get("config"), "config")
    _config(log, config)
    _devices(log, config)
    _results(log, document)
    if "out_of_bounds" in document:
        bounds = _object(document["out_of_bounds"], "out_of_bounds")
        word = "OK" if bounds.get("okay") == "true" else "FAILED"
        log.bounds.append(Footer(0, _number(bounds, "count"), word))
    if "average_bus_bandwidth" in document:
        average = _object(document["average_bus_bandwidth"], "average_bus_bandwidth")
        words = {"true": "OK", "false": "FAILED"}
        word = words.get(str(average.get("okay")))
        log.averages.append(Footer(0, _number(average, "bandwidth"), word))
    for text in _list(document.get("errors")) or ():
        if text:
            log.failures.append(Quote(0, f"# error: {str(text)[:160]}"))
    if document.get("end_time"):
        log.concluded += [Quote(0, name) for name in log.programs]
    else:
        log.cut = "it has no end_time: the run did not come to its end"


def _config(log: Log, config: Object) -> None:
    by_factor = "step_factor" in config
    log.banners.append(
        Banner(
            line=0,
            low=_integer(config, "minimum_bytes"),
            high=_integer(config, "maximum_bytes"),
            step=_integer(config, "step_factor" if by_factor else "step_bytes"),
            by_factor=by_factor,
            validation=_integer(config, "validation"),
        )
    )


def _devices(log: Log, config: Object) -> None:
    """Read who ran where. Of a process with several GPUs only the first is listed."""
    each = _integer(config, "nthreads") * _integer(config, "ngpus")
    devices = _list(config.get("devices"))
    if devices is None or not 0 < each <= MAX_RANKS:
        raise _OddError("config has no list of devices")
    for item in devices:
        device = _object(item, "a device")
        first, host = _integer(device, "rank"), device.get("hostname")
        if not isinstance(host, str):
            raise _OddError("a device has no hostname")
        name = str(device.get("device_info", ""))
        group, pid = _integer(device, "group"), _integer(device, "pid")
        for rank in range(first, first + each):
            log.devices.add(0, rank, host, name, group=group, pid=pid)


def _results(log: Log, document: Object) -> None:
    results = _list(document.get("results"))
    if results is None:
        return
    rows: list[Row] = []
    cpu = False
    for position, item in enumerate(results):
        if len(rows) >= MAX_ROWS:
            log.misread.append(Quote(0, f"more than {MAX_ROWS} results"))
            break
        try:
            result = _object(item, "it")
            out, inside = (_object(result.get(name), name) for name in _PLACEMENTS)
            cpu = cpu or "cpu_time" in out
            kind = " ".join(str(result.get(key, "")).strip() for key in ("type", "redop", "root"))
            rows.append(Row(0, _integer(result, "size"), kind, _side(out), _side(inside)))
        except _OddError as error:
            log.misread.append(Quote(0, f"result {position + 1}: {error}"))
            if len(log.misread) > len(_PLACEMENTS):
                break
    log.tables.append(Table(0, _CPU_COLUMNS if cpu else _NO_COLUMNS, rows))


def _side(placement: Object) -> Side:
    time = _number(placement, "cpu_time" if "cpu_time" in placement else "time")
    wrong = None if placement.get("nwrong") is None else _number(placement, "nwrong")
    return Side(time, _number(placement, "alg_bw"), _number(placement, "bus_bw"), wrong)


def _list(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def _object(value: object, what: str) -> Object:
    if not isinstance(value, dict):
        raise _OddError(f"{what} is no object")
    return cast("Object", value)


def _integer(of: Object, key: str) -> int:
    value = of.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST_COUNTED:
        raise _OddError(f"{key} is no count")
    return value


def _number(of: Object, key: str) -> float:
    value = of.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _OddError(f"{key} is not a measurement")
    if not 0 <= value < MOST:
        raise _OddError(f"{key} is not a measurement")
    return float(value)
