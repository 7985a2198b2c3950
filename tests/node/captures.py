"""Captures of simulated nodes, and ways to change what a node says."""

import re
from collections.abc import Callable

from components.catalog import instance_type
from scripts.local.answers import SimulatedNode, node_check_log
from scripts.node.capture import DONE, Capture, parse
from scripts.node.judge import NodeJudgement, judge

P5 = "p5.48xlarge"

Change = Callable[[str], str]


def capture(kind: str = P5, *faults: str, name: str = "node-0") -> str:
    return node_check_log(SimulatedNode(name, kind, frozenset(faults)))


def read(text: str) -> Capture:
    return parse(text.splitlines())


def judged(text: str, kind: str = P5) -> NodeJudgement:
    return judge(read(text), instance_type(kind))


def shown(judgement: NodeJudgement) -> list[str]:
    return [re.sub(r" \(line \d+\)", "", str(found.finding())) for found in judgement.findings]


def recounted(text: str) -> str:
    """Mend the last line, as the script would have counted."""
    counts = {name: len(each.output) for name, each in read(text).sections.items()}
    done = " ".join([DONE, *(f"{name}={count}" for name, count in counts.items())])
    return re.sub(rf"{DONE}.*", lambda _found: done, text)


def once(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return recounted(text.replace(old, new, 1))

    return change


def section(name: str, *lines: str, end: str = "rc=0") -> Change:
    """Replace what a section printed and how it ended; add it where it is not there."""

    def change(text: str) -> str:
        body = "".join(f"| {line}\n" for line in lines)
        whole = f"#@ begin {name}\n{body}#@ end {name} {end}\n"
        if f"#@ begin {name}\n" not in text:
            return recounted(text.replace(DONE, f"{whole}{DONE}"))
        head, rest = text.split(f"#@ begin {name}\n")
        tail = rest.split(f"#@ end {name} ")[1].split("\n", 1)[1]
        return recounted(f"{head}{whole}{tail}")

    return change


def without(name: str) -> Change:
    """Take a section away."""

    def change(text: str) -> str:
        head, rest = text.split(f"#@ begin {name}\n")
        return recounted(head + rest.split(f"#@ end {name} ")[1].split("\n", 1)[1])

    return change


def lines_of(name: str, text: str | None = None) -> list[str]:
    """Return what a section printed."""
    return read(text or capture()).sections[name].output


def fields(*values: tuple[str, str], skip: int = 0) -> Change:
    """Set fields of ``nvidia-smi -q`` at their first place, or after ``skip`` places."""

    def change(text: str) -> str:
        for name, value in values:
            places = list(re.finditer(rf"{name} +: (.+)", text))
            start, end = places[skip].span(1)
            text = f"{text[:start]}{value}{text[end:]}"
        return text

    return change


AGAIN = "; next: run the check again; if it stays, look at the node by hand"
WATCH = " [MONITOR]; next: watch it"
RESET = " [RESET]; next: reset the GPUs (nvidia-smi --gpu-reset) or replace the instance"
REBOOT = " [REBOOT]; next: reboot the node, after mending what configures it if that is the cause"
ISOLATE = " [ISOLATE]; next: replace the instance"

WORDS = {AGAIN: "unknown", WATCH: "note"}


def line(check: str, message: str, consequence: str) -> str:
    """Return a finding as it is shown."""
    return f"{WORDS.get(consequence, 'fail')} {check}: {message}{consequence}"
