"""Judges a capture: every check that a node of its type must pass, and what was recorded beside."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.catalog import InstanceType
from scripts.node import (
    efa_checks,
    gpu_checks,
    host_checks,
    kernel_checks,
    link_checks,
)
from scripts.node.capture import Capture, Section
from scripts.node.dcgm import dcgm
from scripts.node.facts import facts, identities
from scripts.node.finding import UNKNOWN, NodeFinding, at, lost, wants_reset
from scripts.node.profiles import Severity, profile
from scripts.node.subject import Check, Subject
from scripts.verdicts import Verdict, overall

__all__ = ["CHECKS", "NodeJudgement", "judge"]

OPEN = "it began and never ended"

OF_GPUS = frozenset(
    {
        "ecc",
        "fabric",
        "gpus",
        "nvlink",
        "nvlink-errors",
        "pcie",
        "remapped",
        "settings",
        "throttle",
        "topology",
    }
)
"""Sections that nvidia-smi printed: there its cry for a lost GPU is no history."""


def _nvlink(node: Subject) -> bool:
    return node.gpu.nvlinks > 0


def _efa(node: Subject) -> bool:
    return node.instance.efa_interfaces > 0


CHECKS: tuple[Check, ...] = (
    Check("gpus", gpu_checks.gpus),
    Check("pci", host_checks.pci),
    Check("ecc", gpu_checks.ecc),
    Check("remapped", gpu_checks.remapped),
    Check("retired", gpu_checks.retired, any_code=True, optional=True),
    Check("settings", gpu_checks.settings),
    Check("throttle", gpu_checks.throttle),
    Check("pcie", gpu_checks.pcie),
    Check("kernel-log", kernel_checks.kernel_log),
    Check("nvlink", link_checks.nvlink, _nvlink),
    Check("nvlink-errors", link_checks.nvlink_errors, _nvlink),
    Check("topology", link_checks.topology, lambda node: _nvlink(node) and node.gpus > 1),
    Check("fabric", link_checks.fabric, lambda node: node.gpu.fabric == "reported"),
    Check(
        "fabric-manager",
        link_checks.fabric_manager,
        lambda node: node.gpu.fabric != "none",
        any_code=True,
        host_only=True,
    ),
    Check("dcgm", dcgm, any_code=True, optional=True),
    Check("efa", efa_checks.efa, _efa),
    Check("provider", efa_checks.provider, _efa, any_code=True),
    Check("efa-counters", efa_checks.counters, _efa),
    Check("memlock", efa_checks.memlock, _efa),
    Check("mtu", efa_checks.mtu),
    Check("modules", kernel_checks.modules),
    Check("kernel", kernel_checks.kernel),
    Check("sysctl", kernel_checks.sysctl),
    Check("clock", kernel_checks.clock, host_only=True),
    Check("meminfo", host_checks.meminfo),
    Check("numa", host_checks.numa),
    Check("nvme", host_checks.nvme, lambda node: node.instance.local_nvme_gb > 0),
    Check("disks", host_checks.disks, any_code=True),
    Check("mounts", host_checks.mounts),
    Check("lustre", host_checks.lustre),
    Check("imds", host_checks.imds),
)
"""Every check, in the order of the capture."""


@dataclass(frozen=True, slots=True)
class NodeJudgement:
    """The verdict on a node, why, and facts to keep: versions, and the identity of each GPU.

    ``not_checked`` names what this capture could not show; it has neither passed nor failed.
    """

    verdict: Verdict
    severity: Severity
    findings: tuple[NodeFinding, ...]
    facts: dict[str, str] = field(default_factory=dict[str, str])
    gpus: tuple[dict[str, str], ...] = ()
    not_checked: tuple[str, ...] = ()

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
            "not_checked": list(self.not_checked),
        }


def judge(
    capture: Capture,
    instance: InstanceType,
    *,
    only: Collection[str] | None = None,
    required: Collection[str] = (),
    mounts: Sequence[str] = (),
    before: Capture | None = None,
) -> NodeJudgement:
    """Hold a capture against what a node of this type must show.

    Parameters
    ----------
    capture
        What was captured.
    instance
        The type that the node is said to be of.
    only
        Judge these sections and no others: for a capture that was made of them alone.
    required
        Sections that must be there though a capture may lack them (``dcgm``).
    mounts
        Where a Lustre file system must be mounted.
    before
        An earlier capture of the node, from which the growth of counters is reckoned.

    Raises
    ------
    UsageError
        If there is no profile for its accelerator.
    """
    gpu, accelerator = profile(instance), instance.accelerator
    if accelerator is None:
        raise AssertionError(f"{instance.name} has a profile and no accelerator")
    node = Subject(
        instance=instance,
        accelerator=accelerator,
        gpu=gpu,
        on_host=capture.on_host,
        mounts=tuple(mounts),
        before=before,
    )
    checks = [
        check for check in CHECKS if check.applies(node) and (only is None or check.section in only)
    ]
    absent = [check for check in checks if _may_lack(check, capture, required)]
    found = _findings(capture, node, [check for check in checks if check not in absent])
    findings = sorted(found, key=_gravity)
    known = [found.severity for found in findings if found.severity is not None]
    return NodeJudgement(
        verdict=overall(found.verdict for found in findings),
        severity=max(known, default=Severity.PASS),
        findings=tuple(findings),
        facts=facts(capture),
        gpus=tuple(identities(capture)),
        not_checked=tuple(check.section for check in absent) if capture.known_format else (),
    )


def _may_lack(check: Check, capture: Capture, required: Collection[str]) -> bool:
    """Tell whether nothing is lost where a capture has no such section."""
    if check.section in capture.sections or check.section in required:
        return False
    return check.optional or (check.host_only and not capture.on_host)


def _gravity(found: NodeFinding) -> int:
    return -1 if found.severity is None else -found.severity


def _findings(capture: Capture, node: Subject, checks: Sequence[Check]) -> Iterator[NodeFinding]:
    if not capture.known_format:
        yield NodeFinding("capture", UNKNOWN, "this is no capture of node_check.sh, format 1")
        return
    if not capture.complete:
        message = "the capture is cut off or damaged: its last line does not count what is there"
        yield NodeFinding("capture", UNKNOWN, message)
    for name in sorted(capture.repeated):
        yield NodeFinding("capture", UNKNOWN, f"section {name} is there more than once")
    judged = {check.section for check in checks}
    for name, section in capture.sections.items():
        if section.state == "open" and name not in judged:
            yield at(section, UNKNOWN, OPEN)
    other = list(_another_machine(capture, node))
    yield from other
    for check in checks if not other else ():
        section = capture.sections.get(check.section)
        if section is None:
            yield NodeFinding(check.section, UNKNOWN, "the capture has no such section")
        elif (problem := _did_not_run(section, check)) is not None:
            yield problem
        else:
            yield from check.look(section, node)


def _another_machine(capture: Capture, node: Subject) -> Iterator[NodeFinding]:
    """Compare the machine with the type: of another one nothing else can be said."""
    section = capture.sections.get("machine")
    if section is not None and section.ran:
        yield from host_checks.machine(section, node)


def _cries(section: Section) -> tuple[int | None, int | None]:
    """Return the lines in which the driver says that a GPU is lost, and that one wants a reset."""
    text = "\n".join(section.output) if section.name in OF_GPUS else ""
    if not (lost(text) or wants_reset(text)):
        return None, None
    lines = list(enumerate(section.output))
    gone = next((index for index, line in lines if lost(line)), None)
    return gone, next((index for index, line in lines if wants_reset(line)), None)


def _did_not_run(section: Section, check: Check) -> NodeFinding | None:
    """Tell a missing tool, a hang and an error apart; only a lost GPU among them is a fault."""
    first = next((line.strip() for line in section.output if line.strip()), "no output")
    gone, reset = _cries(section)
    if section.state == "missing":
        message = "its tool is not in the image of the check"
    elif section.state == "timeout":
        message = "it hung and was killed"
    elif section.state == "open":
        message = OPEN
    elif gone is not None:
        message = f"a GPU is lost: {section.output[gone]}"
        return at(section, Severity.ISOLATE, message, gone)
    elif reset is not None:
        message = f"the driver asks for a reset: {section.output[reset]}"
        return at(section, Severity.RESET, message, reset)
    elif section.code != 0 and not check.any_code:
        message = f"it ended with exit code {section.code}: {first}"
    else:
        return None
    return at(section, UNKNOWN, message)
