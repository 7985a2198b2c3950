"""Judges what ``storage_check.sh`` printed on one node; ``docs/storage-checks.md`` has the form.

A node fails by itself where it has lost the file system or reads other bytes than it wrote. How
fast it is says nothing yet: others share the same servers, so ``compare`` judges that for a wave.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scripts.node.capture import BEGIN, DONE, END, Capture, Section, parse
from scripts.node.finding import UNKNOWN, NodeFinding, at
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.storage.expectation import MB, Expectation, policy
from scripts.verdicts import overall

__all__ = ["DIRECTIONS", "FIRST", "SHORTEST", "judge"]

FIRST: Final = "#@ trainyard-storage-check 1"

SECTIONS: Final = ("mount", "meet", "write", "read", "files", "clean")
"""Every step, in the only order that there is."""

DIRECTIONS: Final = ("write", "read")

HANGS: Final = "it began and never ended: the file system does not answer this node"

MARK: Final = "#@"

MOST_LINES: Final = 10_000
"""Lines that are read: a log has some twenty, and as many more as tools complain."""

SHORTEST: Final = 0.01
"""Seconds: what the script's clock can tell."""

_MOUNT: Final = re.compile(
    r"mount type=(?P<type>\S{0,64}) options=(?P<options>\S{0,512})", re.ASCII
)
_MEET: Final = re.compile(
    r"meet clients=(?P<clients>\d{1,6}) of=(?P<of>\d{1,6}) seconds=\S+", re.ASCII
)
_MOVED: Final = re.compile(
    r"(?P<name>write|read) bytes=(?P<bytes>\d{1,15}) streams=\d{1,4} way=(?P<way>direct|synced) "
    r"from=(?P<from>\d{1,12}\.\d{3}) seconds=(?P<seconds>\d{1,6}\.\d{2}) "
    r"digest=(?P<digest>[0-9a-f]{64})",
    re.ASCII,
)
_FILES: Final = re.compile(
    r"files count=(?P<count>\d{1,9}) seen=(?P<seen>\d{1,9}) seconds=(?P<seconds>\d{1,6}\.\d{2})",
    re.ASCII,
)

Findings = Iterator[NodeFinding]


@dataclass(frozen=True, slots=True)
class Moved:
    """One direction as it was measured."""

    section: Section
    size: int
    way: str
    begun: str
    seconds: float
    digest: str

    @property
    def mbps(self) -> float:
        """MB/s of 10^6 bytes."""
        return self.size / MB / max(self.seconds, SHORTEST)


def judge(lines: Iterable[str], expected: Expectation) -> NodeJudgement:
    """Judge one node's log; what is missing, cut off or out of order is unknown.

    Its numbers become facts: ``storage_write_mbps``, ``storage_write_from`` (epoch seconds),
    ``storage_write_seconds``, the same for ``read``, and ``storage_files_per_second``.
    """
    kept = list(islice(lines, MOST_LINES))
    capture = parse(kept, FIRST)
    moved = {each.section.name: each for each in _moved(capture)}
    damage = list(_damage(capture, kept))
    found = damage or list(_findings(capture, moved, expected))
    if not damage and not capture.complete:
        message = "the log is cut off or damaged: its last line does not count what is there"
        found.append(NodeFinding("storage", UNKNOWN, message))
    severities = [each.severity for each in found if each.severity is not None]
    return NodeJudgement(
        verdict=overall(each.verdict for each in found),
        severity=max(severities, default=Severity.PASS),
        findings=tuple(sorted(found, key=_gravity)),
        facts={} if damage else dict(_facts(capture, moved)),
    )


def _gravity(found: NodeFinding) -> int:
    return -1 if found.severity is None else -found.severity


def _damage(capture: Capture, lines: Sequence[str]) -> Findings:
    """Find what makes the whole log worth nothing: not even a fault in it can be believed."""
    marks = [line.rstrip("\r\n") for line in lines if line.startswith(MARK)]
    if not capture.known_format:
        message = "this is no log of storage_check.sh, format 1"
        yield NodeFinding("storage", UNKNOWN, message)
    elif capture.repeated:
        message = f"step {min(capture.repeated)} is there more than once"
        yield NodeFinding("storage", UNKNOWN, message)
    elif not _in_order(marks):
        yield NodeFinding("storage", UNKNOWN, "its steps are in no order that there is")


def _in_order(marks: Sequence[str]) -> bool:
    """Tell whether the log begins as one does and goes on so, wherever it stops."""
    names = [mark.removeprefix(BEGIN) for mark in marks if mark.startswith(BEGIN)]
    if names != [name for name in SECTIONS if name in names]:
        return False
    starts = [FIRST, *(start for name in names for start in (f"{BEGIN}{name}", f"{END}{name} "))]
    whole = [*starts, f"{DONE} "]
    return len(marks) <= len(whole) and all(
        mark.startswith(start) for mark, start in zip(marks, whole, strict=False)
    )


def _findings(capture: Capture, moved: dict[str, Moved], expected: Expectation) -> Findings:
    for name in SECTIONS:
        section = capture.sections.get(name)
        if section is None:
            yield NodeFinding(f"storage-{name}", UNKNOWN, "the log has no such step")
            return
        bad = list(_step(section, moved, expected))
        yield from (_of_step(each) for each in bad)
        if not section.ran and name != "clean":
            # Nothing follows a step that failed; that it does not is no finding of its own.
            return


def _of_step(found: NodeFinding) -> NodeFinding:
    return NodeFinding(f"storage-{found.check}", found.severity, found.message, found.line)


def _step(section: Section, moved: dict[str, Moved], expected: Expectation) -> Findings:
    if section.name == "mount":
        yield from _mount(section)
    elif not section.ran:
        yield _failed(section)
    elif section.name == "meet":
        yield from _meet(section)
    elif section.name in DIRECTIONS:
        yield from _direction(section, moved, expected)
    elif section.name == "files":
        yield from _files(section)


def _mount(section: Section) -> Findings:
    known = policy().client.type
    told = _line(section, _MOUNT)
    if told is None or section.state != "ended":
        yield _failed(section) if not section.ran else at(section, UNKNOWN, _unread(section))
    elif told["type"] != known:
        message = f"it is not mounted: {told['type']} is there, and must be {known}"
        yield at(section, Severity.REBOOT, message)
    elif section.code != 0:
        yield _failed(section)
    elif "ro" in told["options"].split(","):
        yield at(section, Severity.REBOOT, "it is mounted read-only")


def _failed(section: Section) -> NodeFinding:
    """Tell a file system that this node has lost from one that refuses everybody."""
    first = next((line.strip() for line in section.output if line.strip()), "it says nothing")
    if section.state == "open":
        return at(section, UNKNOWN, HANGS)
    if section.state == "timeout":
        limit = policy().check.limit_seconds
        return at(section, UNKNOWN, f"it was stopped after {limit} s, far from done")
    if section.name == "clean":
        return at(section, Severity.MONITOR, f"its folder was not removed: {first}")
    if section.state == "missing":
        return at(section, UNKNOWN, f"the image of the check lacks a tool: {first}")
    lost = policy().errors.lost
    index = next(
        (
            number
            for number, line in enumerate(section.output)
            if any(word in line for word in lost)
        ),
        None,
    )
    if index is not None:
        message = f"this node has lost the file system: {section.output[index].strip()}"
        return at(section, Severity.REBOOT, message, index)
    return at(section, UNKNOWN, f"it failed: {first}")


def _meet(section: Section) -> Findings:
    told = _line(section, _MEET)
    if told is None:
        yield at(section, UNKNOWN, _unread(section))
    elif int(told["clients"]) < int(told["of"]):
        message = f"only {int(told['clients'])} of {int(told['of'])} nodes came in time"
        yield at(section, Severity.MONITOR, message)


def _direction(section: Section, moved: dict[str, Moved], expected: Expectation) -> Findings:
    told = moved.get(section.name)
    if told is None or told.size != expected.bytes_each:
        yield at(section, UNKNOWN, _unread(section))
        return
    if section.name == "read":
        written = moved.get("write")
        if written is not None and written.digest != told.digest:
            message = (
                f"what was read is not what was written: digest {told.digest[:12]} of "
                f"{told.size} bytes, and {written.digest[:12]} was written"
            )
            yield at(section, Severity.ISOLATE, message)
        if told.way != "direct":
            message = "no O_DIRECT here: what was read may have come from this node's memory"
            yield at(section, UNKNOWN, message)
    if told.mbps < expected.share_mbps * policy().limits.aggregate_low:
        message = (
            f"{told.mbps:.0f} MB/s, and its share of what is sold is {expected.share_mbps:.0f}"
        )
        yield at(section, Severity.MONITOR, message)


def _files(section: Section) -> Findings:
    told = _line(section, _FILES)
    if told is None or int(told["count"]) != policy().check.files:
        yield at(section, UNKNOWN, _unread(section))
    elif told["seen"] != told["count"]:
        message = f"of {told['count']} small files that it made it saw {told['seen']}"
        yield at(section, Severity.ISOLATE, message)


def _facts(capture: Capture, moved: dict[str, Moved]) -> Iterator[tuple[str, str]]:
    for name, each in moved.items():
        yield f"storage_{name}_mbps", f"{each.mbps:.1f}"
        yield f"storage_{name}_from", each.begun
        yield f"storage_{name}_seconds", f"{each.seconds:.2f}"
    files = capture.sections.get("files")
    told = _line(files, _FILES) if files is not None and files.ran else None
    if told is not None:
        rate = int(told["count"]) / max(float(told["seconds"]), SHORTEST)
        yield "storage_files_per_second", f"{rate:.0f}"


def _moved(capture: Capture) -> Iterator[Moved]:
    for name in DIRECTIONS:
        section = capture.sections.get(name)
        told = _line(section, _MOVED) if section is not None and section.ran else None
        if section is not None and told is not None and told["name"] == name:
            size, seconds = int(told["bytes"]), float(told["seconds"])
            yield Moved(section, size, told["way"], told["from"], seconds, told["digest"])


def _line(section: Section, form: re.Pattern[str]) -> re.Match[str] | None:
    """Return the one line of a step, where it has this form."""
    return form.fullmatch(section.output[0]) if len(section.output) == 1 else None


def _unread(section: Section) -> str:
    first = section.output[0] if section.output else "nothing"
    return f"it does not say what was asked of it: {first}"
