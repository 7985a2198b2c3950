"""What is kept of a capture beside its verdict: versions and settings, and who the GPUs are."""

import re
from collections.abc import Iterator

from scripts.node.capture import Capture, Section
from scripts.node.finding import absent
from scripts.node.gpu_checks import IDENTITY, SETTINGS
from scripts.node.smi import rows

__all__ = ["facts", "identities"]

_FIRST_LINES = {"kernel": "kernel", "efa_driver": "efa-driver", "memlock": "memlock"}
"""Fact -> the section whose first line it is."""

_SYSCTL = {
    "numa_balancing": "kernel/numa_balancing",
    "rmem_max": "net/core/rmem_max",
    "max_map_count": "vm/max_map_count",
    "file_max": "fs/file-max",
    "clock_source": "clocksource",
    "governor": "governor",
}
_VERSIONS = {
    "efa_installer": re.compile(r"# EFA installer version: (?P<value>\S+)"),
    "libfabric": re.compile(r"libfabric: (?P<value>\S+)"),
    "os": re.compile(r'PRETTY_NAME="(?P<value>[^"]+)"'),
}
_SETTINGS = {"power_limit": "power_limit", "max_clock": "max_clock", "mig": "mig"}


def facts(capture: Capture) -> dict[str, str]:
    """Return versions and settings by name; what was not told is left out."""
    found = dict(_all(capture))
    return {name: value for name, value in found.items() if not absent(value)}


def identities(capture: Capture) -> Iterator[dict[str, str]]:
    """Yield what names a GPU for good: node names vanish when a node is replaced."""
    section = capture.sections.get("gpus")
    for _, words in rows(section, len(IDENTITY)) if section else ():
        yield dict(zip(IDENTITY, words, strict=True))


def _all(capture: Capture) -> Iterator[tuple[str, str]]:
    for fact, name in _FIRST_LINES.items():
        if (section := _ran(capture, name)) and section.output:
            yield fact, section.output[0].strip()
    for gpu in identities(capture):
        # Several versions on one node are a finding of its own.
        yield "driver", gpu["driver"]
        yield "vbios", gpu["vbios"]
    if section := _ran(capture, "settings"):
        for _, words in rows(section, len(SETTINGS)):
            told: dict[str, str] = dict(zip(SETTINGS, words, strict=True))
            yield from ((fact, told[name]) for fact, name in _SETTINGS.items())
    if section := _ran(capture, "sysctl"):
        values = dict(line.split(maxsplit=1) for line in section.output if len(line.split()) > 1)
        yield from ((fact, values.get(name, "-").strip()) for fact, name in _SYSCTL.items())
    if section := _ran(capture, "versions"):
        text = "\n".join(section.output)
        for fact, pattern in _VERSIONS.items():
            if match := pattern.search(text):
                yield fact, match["value"]
    yield from _places(capture)


def _places(capture: Capture) -> Iterator[tuple[str, str]]:
    if section := _ran(capture, "machine"):
        pairs = [line.partition(":") for line in section.output]
        told = {name.strip(): value.strip() for name, _, value in pairs}
        yield "machine", told.get("product_name", "-")
        yield "instance_id", told.get("board_asset_tag", "-")
    if section := _ran(capture, "numa"):
        lines = sorted(line.split() for line in section.output if line.startswith("node"))
        yield "numa", " ".join(words[1] for words in lines if len(words) > 1)


def _ran(capture: Capture, name: str) -> Section | None:
    section = capture.sections.get(name)
    return section if section is not None and section.ran else None
