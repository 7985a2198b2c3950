"""Reads the forms in which nvidia-smi prints: rows of csv, and indented fields."""

import re
from collections.abc import Iterator

from scripts.node.capture import Section

__all__ = ["by_gpu", "flag", "number", "parts", "rows", "table", "unread"]

_BUS = re.compile(r"GPU (?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)\s*$")
_INDEX = re.compile(r"GPU (?P<index>\d{1,3}): ")
_FIELD = re.compile(r"\s*(?P<name>[^:]+?)\s+:\s+(?P<value>.*?)\s*$")
_NUMBER = re.compile(r"(?P<value>\d{1,12}(?:\.\d{1,6})?)(?: \w+%?)?", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)


def table(section: Section) -> list[tuple[int, list[str]]]:
    """Return the lines of csv with their index, each split into words."""
    return [
        (index, [word.strip() for word in line.split(",")])
        for index, line in enumerate(section.output)
        if line.strip()
    ]


def rows(section: Section, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of GPUs, which begin with an index or a bus, with as many columns."""
    for index, words in table(section):
        if len(words) == columns and (_COUNT.fullmatch(words[0]) or _is_bus(words[0])):
            yield index, words


def unread(section: Section, columns: int) -> int:
    """Count the lines that are no such rows."""
    return len(table(section)) - len(list(rows(section, columns)))


def number(word: str) -> float | None:
    """Read "26.562 GB/s" or "350.00 W"; None for what is no plain number before its unit."""
    found = _NUMBER.match(word.strip())
    if found is None or not re.fullmatch(r"[\w/%]*", word.strip()[found.end() :]):
        return None
    return float(found["value"])


def flag(word: str) -> int | None:
    """Read a count, or the Yes and No that other driver releases print."""
    known = {"yes": 1, "no": 0}
    if word.lower() in known:
        return known[word.lower()]
    return int(word) if _COUNT.fullmatch(word) else None


def by_gpu(section: Section) -> dict[str, list[tuple[int, str]]]:
    """Return the lines below each ``GPU 0: name``, by the index of the GPU."""
    found: dict[str, list[tuple[int, str]]] = {}
    current: list[tuple[int, str]] = []
    for index, line in enumerate(section.output):
        if head := _INDEX.match(line):
            current = found.setdefault(head["index"], [])
        else:
            current.append((index, line))
    return found


def parts(section: Section) -> dict[str, dict[str, tuple[int, str]]]:
    """Read the indented text of ``nvidia-smi -q``: by GPU, fields by path with their line."""
    boards: dict[str, dict[str, tuple[int, str]]] = {}
    fields: dict[str, tuple[int, str]] = {}
    path: list[tuple[int, str]] = []
    for index, line in enumerate(section.output):
        if found := _BUS.match(line):
            fields = boards.setdefault(found["bus"], {})
            path = []
            continue
        indent = len(line) - len(line.lstrip())
        path = [step for step in path if step[0] < indent]
        if found := _FIELD.match(line):
            name = "/".join([*(step for _, step in path), found["name"]])
            # The same field twice with two values says nothing.
            twice = name in fields and fields[name][1] != found["value"]
            fields[name] = (index, "?" if twice else found["value"])
        elif line.strip():
            path.append((indent, line.strip()))
    return boards


def _is_bus(word: str) -> bool:
    return re.fullmatch(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+", word) is not None
