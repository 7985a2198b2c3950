"""Judges a capture: every check that a node of its type must pass, and what was recorded beside."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from components.catalog import InstanceType
from scripts.node import gpu_checks, host_checks
from scripts.node.capture import Capture, Section
from scripts.node.finding import NodeFinding, lost
from scripts.node.profiles import Severity, profile
from scripts.verdicts import Verdict, overall

__all__ = ["NodeJudgement", "judge"]

Check = Callable[[Section], Iterator[NodeFinding]]


@dataclass(frozen=True, slots=True)
class NodeJudgement:
    """The verdict on a node, why, and facts to keep: versions, and the identity of each GPU."""

    verdict: Verdict
    severity: Severity
    findings: tuple[NodeFinding, ...]
    facts: dict[str, str] = field(default_factory=dict[str, str])
    gpus: tuple[dict[str, str], ...] = ()

    @classmethod
    def unknown(cls, message: str) -> "NodeJudgement":
        """Return the judgement on a node whose check gave nothing to judge."""
        finding = NodeFinding("job", None, message)
        return cls(Verdict.UNKNOWN, Severity.PASS, (finding,))

    @property
    def summary(self) -> str:
        """One line: the gravest finding, or that all is well."""
        for found in self.findings:
            if found.verdict is self.verdict and self.verdict is not Verdict.PASS:
                word = "" if found.severity is None else f" [{found.severity.name}]"
                return f"{found.check}: {found.message}{word}"
        return "every check passed"

    def as_json(self) -> dict[str, Any]:
        """Return plain data for a report."""
        return {
            "verdict": str(self.verdict),
            "severity": self.severity.name,
            "findings": [found.finding().as_json() for found in self.findings],
            "facts": self.facts,
            "gpus": list(self.gpus),
        }


def judge(capture: Capture, instance: InstanceType) -> NodeJudgement:
    """Hold a capture against what a node of this type must show."""
    findings = sorted(_findings(capture, instance), key=_gravity)
    known = [found.severity for found in findings if found.severity is not None]
    return NodeJudgement(
        verdict=overall(found.verdict for found in findings),
        severity=max(known, default=Severity.PASS),
        findings=tuple(findings),
        facts=_facts(capture),
        gpus=tuple(_identities(capture)),
    )


def _gravity(found: NodeFinding) -> int:
    return -1 if found.severity is None else -found.severity


def _findings(capture: Capture, instance: InstanceType) -> Iterator[NodeFinding]:
    if not capture.known_format:
        yield NodeFinding("capture", None, "this is no capture of node_check.sh, format 1")
        return
    if not capture.complete:
        yield NodeFinding("capture", None, "the capture is cut off: its last line is missing")
    for name, check in _checks(instance):
        section = capture.sections.get(name)
        if section is None:
            yield NodeFinding(name, None, "the capture has no such section")
        elif (problem := _did_not_run(section)) is not None:
            yield problem
        else:
            yield from check(section)


def _checks(instance: InstanceType) -> Iterator[tuple[str, Check]]:
    gpu = profile(instance)
    accelerator = instance.accelerator
    if accelerator is None:
        return
    name, count = accelerator.name, accelerator.count
    yield "gpus", lambda section: gpu_checks.gpus(section, name, count)
    yield "ecc", lambda section: gpu_checks.ecc(section, count)
    yield "remapped", lambda section: gpu_checks.remapped(section, count)
    yield "throttle", lambda section: gpu_checks.throttle(section, count)
    yield "kernel-log", lambda section: host_checks.kernel_log(section, name)
    if gpu.nvlinks:
        yield "nvlink", lambda section: gpu_checks.nvlink(section, count, gpu)
    if gpu.fabric == "reported":
        yield "fabric", lambda section: gpu_checks.fabric(section, count)
    if instance.efa_interfaces:
        yield "efa", lambda section: host_checks.efa(section, instance.efa_interfaces)
        yield "memlock", host_checks.memlock
        yield "meminfo", host_checks.hugepages


def _did_not_run(section: Section) -> NodeFinding | None:
    """Tell a missing tool, a hang and an error apart; only a lost GPU among them is a fault."""
    first = next((line.strip() for line in section.output if line.strip()), "no output")
    history = section.name == "kernel-log"
    gone = next((line.strip() for line in section.output if lost(line) and not history), None)
    if section.state == "missing":
        message = "its tool is not in the image of the check"
    elif section.state == "timeout":
        message = "it hung and was killed"
    elif section.state == "open":
        message = "it began and never ended"
    elif gone is not None:
        return NodeFinding(section.name, Severity.ISOLATE, f"a GPU is lost: {gone}", section.line)
    elif section.code != 0:
        message = f"it ended with exit code {section.code}: {first}"
    else:
        return None
    return NodeFinding(section.name, None, message, section.line)


def _facts(capture: Capture) -> dict[str, str]:
    facts: dict[str, str] = {}
    for fact, name in (("kernel", "kernel"), ("efa_driver", "efa-driver")):
        section = capture.sections.get(name)
        if section is not None and section.code == 0 and section.output:
            facts[fact] = section.output[0].strip()
    for gpu in _identities(capture):
        facts.setdefault("driver", gpu["driver"])
        facts.setdefault("vbios", gpu["vbios"])
    return facts


def _identities(capture: Capture) -> Iterator[dict[str, str]]:
    """Yield what names a GPU for good: node names vanish when a node is replaced."""
    section = capture.sections.get("gpus")
    keys = ("index", "name", "uuid", "serial", "bus", "driver", "vbios")
    for line in section.output if section else ():
        words = [word.strip() for word in line.split(",")]
        if len(words) == len(keys) and words[0].isdecimal():
            yield dict(zip(keys, words, strict=True))
