"""The checks of what lies between the GPUs: NVLink, its switches and their manager."""

import re

from scripts.node.capture import Capture, Section
from scripts.node.finding import UNKNOWN, at
from scripts.node.profiles import Severity, policy
from scripts.node.smi import by_gpu, number, parts
from scripts.node.subject import Findings, Subject

__all__ = ["fabric", "fabric_manager", "nvlink", "nvlink_errors", "topology"]

RESET, MONITOR, ISOLATE = Severity.RESET, Severity.MONITOR, Severity.ISOLATE

DOWN = frozenset({"<inactive>", "inactive", "disabled", "<disabled>", "down", "off"})
"""How a link is printed that is not up. Any other word that is no speed says nothing."""

_LINK = re.compile(r"\s*Link (?P<link>\d{1,3}): (?P<speed>.+?)\s*$")
_ERRORS = re.compile(r"\s*Link (?P<link>\d{1,3}): (?P<name>[\w ]*Errors?): (?P<count>.*?)\s*$")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_GPU = re.compile(r"GPU\d{1,3}")


def nvlink(section: Section, node: Subject) -> Findings:
    """Count the NVLinks of each GPU that are up at full speed."""
    gpu = node.gpu
    listed = by_gpu(section)
    yield from _all_there(section, len(listed), node, "NVLinks")
    for index, lines in listed.items():
        links = [found.groups() for _, line in lines if (found := _LINK.match(line))]
        read = [0.0 if word.lower() in DOWN else number(word) for _, word in links]
        if len({link for link, _ in links}) != len(links) or len(links) != gpu.nvlinks:
            message = f"GPU {index} lists {len(links)} NVLinks; there must be {gpu.nvlinks}"
            yield at(section, UNKNOWN, message)
        elif None in read:
            odd = links[read.index(None)][1]
            yield at(section, UNKNOWN, f"GPU {index} prints {odd!r} as the speed of a link")
        elif (good := sum((speed or 0) >= gpu.nvlink_gbps for speed in read)) != gpu.nvlinks:
            message = (
                f"GPU {index} has {good} of {gpu.nvlinks} NVLinks at {gpu.nvlink_gbps:g} GB/s "
                "or more"
            )
            yield at(section, RESET, message)


def nvlink_errors(section: Section, node: Subject) -> Findings:
    """Judge the error counters of links: by their growth, if there is an earlier capture."""
    counts = _link_errors(section)
    earlier = _earlier(node.before, section.name)
    old = _link_errors(earlier) if earlier else {}
    yield from _all_there(section, len(counts), node, "NVLink errors")
    for gpu, errors in counts.items():
        if not errors or None in errors.values():
            yield at(section, UNKNOWN, f"GPU {gpu} does not say how many NVLink errors it had")
            continue
        before = old.get(gpu, {})
        grown = {name: (count or 0) - (before.get(name) or 0) for name, count in errors.items()}
        total = sum(count for count in grown.values() if count > 0)
        if total > policy().limits.nvlink_errors:
            since = "since the earlier capture" if old else "so far"
            worst = max(grown, key=lambda name: grown[name])
            message = f"GPU {gpu} had {total} NVLink errors {since}, most on link {worst}"
            yield at(section, MONITOR, message)


def _link_errors(section: Section) -> dict[str, dict[str, int | None]]:
    """Return errors by GPU, link and kind; None for a count that is none."""
    return {
        gpu: {
            f"{found['link']} ({found['name']})": int(found["count"])
            if found["count"].isdecimal()
            else None
            for _, line in lines
            if (found := _ERRORS.match(line))
        }
        for gpu, lines in by_gpu(section).items()
    }


def topology(section: Section, node: Subject) -> Findings:
    """Judge how each GPU reaches every other: by all NVLinks of both."""
    lines = [_ESCAPES.sub("", line) for line in section.output]
    names = [word for line in lines[:1] for word in line.split() if _GPU.fullmatch(word)]
    table = {
        words[0]: (index, words[1 : len(names) + 1])
        for index, line in enumerate(lines[1:], start=1)
        if (words := line.split()) and _GPU.fullmatch(words[0])
    }
    if len(names) != node.gpus or sorted(table) != sorted(names):
        yield at(section, UNKNOWN, f"the matrix has {len(table)} GPUs; there must be {node.gpus}")
        return
    wanted = f"NV{node.gpu.nvlinks}"
    for row, name in enumerate(names):
        index, cells = table[name]
        if len(cells) != len(names) or cells[row] != "X":
            yield at(section, UNKNOWN, f"the row of {name} could not be read", index)
            continue
        bad = {
            other: cell
            for other, cell in zip(names, cells, strict=True)
            if other != name and cell != wanted
        }
        if bad:
            other, cell = next(iter(bad.items()))
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            message = f"{name} reaches {other}{more} by {cell}; it must be {wanted}"
            yield at(section, ISOLATE, message, index)


def fabric(section: Section, node: Subject) -> Findings:
    """Judge the fabric manager's work where the driver reports it."""
    boards = parts(section)
    yield from _all_there(section, len(boards), node, "fabric states")
    for bus, fields in boards.items():
        index, state = fields.get("Fabric/State", (None, None))
        status = fields.get("Fabric/Status", (index, None))[1]
        if state is None or status is None or "?" in (state, status):
            yield at(section, UNKNOWN, f"GPU {bus} prints no Fabric block", index)
        elif state != "Completed" or status != "Success":
            message = (
                f"the fabric of GPU {bus} is {state} / {status}; it must be Completed / Success "
                "(nvidia-fabricmanager; CUDA fails with error 802 until then)"
            )
            yield at(section, RESET, message, index)
        elif (health := fields.get("Fabric/Health/Summary", (0, ""))[1]) == "Unhealthy":
            yield at(section, RESET, f"the fabric of GPU {bus} is {health}", index)


def fabric_manager(section: Section, _node: Subject) -> Findings:
    """Judge the service that runs the NVSwitches."""
    word = section.output[0].strip() if section.output else ""
    if word in {"inactive", "failed", "deactivating", "activating", "reloading"}:
        message = f"nvidia-fabricmanager is {word}; CUDA fails with error 802 until it is active"
        yield at(section, RESET, message)
    elif word != "active" or section.code != 0:
        yield at(section, UNKNOWN, f"systemctl says {word!r} of nvidia-fabricmanager")


def _earlier(capture: Capture | None, name: str) -> Section | None:
    section = capture.sections.get(name) if capture else None
    return section if section is not None and section.ran else None


def _all_there(section: Section, seen: int, node: Subject, what: str) -> Findings:
    if seen != node.gpus:
        message = f"{what} of {seen} GPUs were printed; there must be {node.gpus}"
        yield at(section, UNKNOWN, message)
