"""Judges a small training by the logs of its three attempts. Pure.

A report of rank 0 says what its attempt reached; what it must say is held here, once more, since a
script that judges itself may be the part that is broken.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from scripts.gate.train import Attempt, TrainMaker
from scripts.nccl import fabric
from scripts.nccl.expectation import expect
from scripts.nccl.log import parse as parse_log
from scripts.nccl.record import Log
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["FALLS_TO", "TrainLog", "TrainVerdict", "judge", "read_log"]

SAYS: Final = "small_train: "
REPORT: Final = f"{SAYS}report: "
KILLED: Final = "killed after step "

FALLS_TO: Final = 0.5
"""The loss at the end is at most this part of the loss at the start, as the script demands."""

LONGEST: Final = 100_000
"""Characters of a line that may be a report; one has some 500."""

STEP_DIGITS: Final = 9

LOOK: Final = "look at the log of the attempt, and run it again"


@dataclass(frozen=True, slots=True)
class TrainLog:
    """What the log of one attempt says.

    ``report`` is what rank 0 found, None where none came. ``killed`` tells after which step its
    ranks were killed as asked. ``said`` is the last line of the script. ``nccl`` holds what NCCL
    said of the network.
    """

    report: Mapping[str, Any] | None = None
    killed: int | None = None
    said: str = ""
    nccl: Log = field(default_factory=Log)


@dataclass(frozen=True, slots=True)
class TrainVerdict:
    """What came of a small training, why, and the reports of its attempts."""

    verdict: Verdict
    message: str
    findings: tuple[Finding, ...] = ()
    reports: Mapping[str, Mapping[str, Any] | None] = field(
        default_factory=dict[str, Mapping[str, Any] | None]
    )

    @property
    def next_step(self) -> str:
        """What to do about it; empty after a pass."""
        against = [each for each in self.findings if each.verdict is self.verdict]
        return "" if self.verdict is Verdict.PASS or not against else against[0].next_step

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "verdict": str(self.verdict),
            "message": self.message,
            "next_step": self.next_step,
            "findings": [each.as_json() for each in self.findings],
            "attempts": dict(self.reports),
        }


def read_log(lines: Iterable[str]) -> TrainLog:
    """Read the log of the pod that speaks for an attempt."""
    seen = _Notes()
    nccl = parse_log(seen.over(lines))
    return TrainLog(seen.report, seen.killed, seen.said, nccl)


class _Notes:
    """Takes the script's own lines out of those that pass by."""

    def __init__(self) -> None:
        self.report: Mapping[str, Any] | None = None
        self.killed: int | None = None
        self.said = ""

    def over(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            if line.startswith(SAYS) and len(line) < LONGEST:
                self._note(line.rstrip("\r\n"))
            yield line

    def _note(self, line: str) -> None:
        if line.startswith(REPORT):
            self.report = _mapping(line.removeprefix(REPORT)) or self.report
            return
        self.said = line.removeprefix(SAYS)
        step = self.said.removeprefix(KILLED).split(" ")[0]
        if self.said.startswith(KILLED) and step.isdecimal() and len(step) < STEP_DIGITS:
            self.killed = int(step)


def _mapping(text: str) -> Mapping[str, Any] | None:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else None


def judge(
    maker: TrainMaker, logs: Mapping[Attempt, TrainLog], problems: Mapping[Attempt, str]
) -> TrainVerdict:
    """Judge the attempts that were made; one without a log has a problem that says why.

    Attempts come in order, and one that did not do its part is the last that is looked at: what
    follows from it proves nothing more.
    """
    findings: list[Finding] = []
    for attempt, rule in RULES.items():
        log = logs.get(attempt)
        if log is None:
            reason = problems.get(attempt, "it was not made")
            findings.append(_unknown(attempt, f"there is no log: {reason}"))
        else:
            findings += rule(maker, attempt, log, problems.get(attempt, ""))
        if overall(each.verdict for each in findings) is not Verdict.PASS:
            break
    else:
        findings += _resumed(maker, logs["whole"], logs["resumed"])
    verdict = overall(each.verdict for each in findings)
    reports = {attempt: log.report for attempt, log in logs.items()}
    return TrainVerdict(verdict, _message(maker, verdict, findings, logs), tuple(findings), reports)


def _message(
    maker: TrainMaker,
    verdict: Verdict,
    findings: Iterable[Finding],
    logs: Mapping[Attempt, TrainLog],
) -> str:
    against = [f"{each.rule}: {each.message}" for each in findings if each.verdict is verdict]
    if verdict is not Verdict.PASS:
        return "; ".join(against)
    report = logs["resumed"].report or {}
    first, last = _loss(report, "first"), _loss(report, "last")
    straight = _loss(logs["whole"].report or {}, "last")
    end = (
        "came to the very same parameters"
        if report.get("bit_exact")
        else f"ended with a loss of {last:.4f}"
    )
    return (
        f"{maker.ranks} ranks on {maker.nodes} nodes: loss fell from {first:.4f} to "
        f"{straight:.4f}; killed after step {maker.course.die_at}, it went on from step "
        f"{maker.course.kept} and {end}"
    )


def _ended(maker: TrainMaker, attempt: str, log: TrainLog, problem: str) -> Iterator[Finding]:
    """Judge an attempt that was to reach the end."""
    yield from _network(maker, attempt, log)
    report = log.report
    if report is None:
        reason = problem or log.said or "its log is empty"
        yield _unknown(attempt, f"rank 0 made no report: {reason}")
        return
    told = report.get("verdict")
    if told in ("fail", "unknown"):  # a set would ask a list for its hash
        verdict = Verdict(told)
        yield Finding(attempt, verdict, str(report.get("message", "no reason given")), LOOK)
        return
    if told != "pass":
        yield _unknown(attempt, f"its report has the verdict {told!r}, which is none")
        return
    yield from _shape(maker, attempt, report)
    first, last = _loss(report, "first"), _loss(report, "last")
    if first is None or last is None:
        yield _unknown(attempt, "its report holds no loss")
    elif not last <= FALLS_TO * first:
        yield Finding(
            attempt,
            Verdict.FAIL,
            f"its loss went from {first:.4f} to {last:.4f}; it must fall to {FALLS_TO:g} of that",
            "look at the image's PyTorch first: the rule it learns is fixed",
        )


def _shape(maker: TrainMaker, attempt: str, report: Mapping[str, Any]) -> Iterator[Finding]:
    """Insist that it ran where it was to run; otherwise it proves another thing."""
    if report.get("ranks") != maker.ranks:
        yield _unknown(
            attempt, f"it ran with {report.get('ranks')} ranks, and {maker.ranks} were asked for"
        )
    if (report.get("device"), report.get("backend")) != ("cuda", "nccl"):
        yield Finding(
            attempt,
            Verdict.UNKNOWN,
            f"it ran on {report.get('device')} over {report.get('backend')}, so GPUs and NCCL had "
            "no part in it",
            "take an image whose PyTorch is built for CUDA and for the driver of the nodes",
        )


def _killed(maker: TrainMaker, attempt: str, log: TrainLog, problem: str) -> Iterator[Finding]:
    """Judge the attempt that was to lose its first node."""
    yield from _network(maker, attempt, log)
    wanted = maker.course.die_at
    if log.killed is None and (log.report or {}).get("verdict") == "fail":
        report = log.report or {}
        yield Finding(attempt, Verdict.FAIL, str(report.get("message", "no reason given")), LOOK)
    elif log.killed != wanted:
        reason = problem or log.said or "its log is empty"
        yield _unknown(attempt, f"it was not killed after step {wanted} as asked: {reason}")


def _network(maker: TrainMaker, attempt: str, log: TrainLog) -> Iterator[Finding]:
    """Fail what is seen to have gone another way than EFA; an image may keep NCCL silent."""
    expected = expect(maker.instance, maker.nodes)
    for found in fabric.findings(log.nccl, expected):
        if found.verdict is Verdict.FAIL:
            yield Finding(attempt, found.verdict, found.message, found.next_step, found.lines)


def _resumed(maker: TrainMaker, whole: TrainLog, resumed: TrainLog) -> Iterator[Finding]:
    """Hold the attempt that went on against the one that was never killed."""
    straight, report = whole.report or {}, resumed.report or {}
    step, kept = report.get("resumed_from"), maker.course.kept
    if step != kept:
        yield Finding(
            "resumed",
            Verdict.FAIL,
            f"it went on from step {step}, and the checkpoint of step {kept} had been written",
            "look whether the shared file system shows on one node what another has written",
        )
        return
    claimed = straight.get("bit_exact") is True and report.get("bit_exact") is True
    if claimed and straight.get("parameters") != report.get("parameters"):
        yield Finding(
            "resumed",
            Verdict.FAIL,
            "its parameters differ from those of the run that was not killed, though both claim to "
            "be exact to the bit",
            "look at the checkpoint: something of the state is not in it",
        )


def _loss(report: Mapping[str, Any], key: str) -> float | None:
    loss: Any = report.get("loss")
    value: Any = cast("Mapping[str, Any]", loss).get(key) if isinstance(loss, dict) else None
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _unknown(attempt: str, message: str) -> Finding:
    return Finding(attempt, Verdict.UNKNOWN, message, LOOK)


Rule = Callable[[TrainMaker, str, TrainLog, str], Iterator[Finding]]

RULES: Final[Mapping[Attempt, Rule]] = {"whole": _ended, "killed": _killed, "resumed": _ended}
"""What each attempt must have done, in order."""
