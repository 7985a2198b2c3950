"""The tables of ``yard catalog``: instance types and bandwidth floors."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from components.catalog import InstanceType
from components.catalog.floors import Floor, floors
from scripts.catalog.words import accelerators, nodes
from scripts.text import size

__all__ = ["FloorRow", "floor_rows", "floors_table", "types_table"]

GB_PER_TB = 1000


@dataclass(frozen=True, slots=True)
class FloorRow:
    """A floor, with what it speaks for."""

    collective: str
    instance_type: str
    nodes: str
    floor: Floor

    def __str__(self) -> str:
        """Return it as a line that needs no heading."""
        return (
            f"{self.collective}, nodes {self.nodes}: {self.floor.busbw:g} GB/s from "
            f"{size(self.floor.from_bytes)} on (confidence {self.floor.confidence})"
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "collective": self.collective,
            "instance_type": self.instance_type,
            "nodes": self.floor.nodes,
            "until_nodes": self.floor.until_nodes,
            "from_bytes": self.floor.from_bytes,
            "busbw": self.floor.busbw,
            "source": self.floor.source,
            "date": self.floor.date.isoformat(),
            "confidence": self.floor.confidence,
        }


def floor_rows(instance_type: str | None = None) -> Iterator[FloorRow]:
    """Return every floor, or those of one instance type, in the order of the data."""
    for collective, types in floors().items():
        for name, rows in types.items():
            if instance_type in (None, name):
                for span, row in nodes(rows):
                    yield FloorRow(collective, name, span, row)


def types_table(kinds: Iterable[InstanceType]) -> Table:
    """Lay instance types out for a terminal of 80 columns."""
    shown = _table()
    for title in ("type", "accelerators"):
        shown.add_column(title, no_wrap=True)
    for title in ("GiB", "EFA/\ncards", "Gbit/s", "pods", "NVMe\nTB"):
        shown.add_column(title, justify="right", no_wrap=True)
    shown.add_column("sure", no_wrap=True)
    for kind in kinds:
        shown.add_row(
            kind.name,
            accelerators(kind).replace(" x ", " ").replace(",", ""),
            str(kind.memory_gib),
            f"{kind.efa_interfaces}/{kind.network_cards}",
            str(kind.network_gbps or "-"),
            f"{kind.max_pods}/{kind.max_pods_with_prefixes}",
            f"{kind.local_nvme_gb / GB_PER_TB:g}",
            kind.confidence,
        )
    return shown


def floors_table(rows: Iterable[FloorRow]) -> Table:
    """Lay floors out; only the source may take more than one line."""
    shown = _table()
    for title in ("collective", "type", "nodes", "from", "GB/s"):
        shown.add_column(title, no_wrap=True, justify="right" if title == "GB/s" else "left")
    shown.add_column("sure", no_wrap=True)
    shown.add_column("source")
    for row in rows:
        shown.add_row(
            row.collective,
            row.instance_type,
            row.nodes,
            size(row.floor.from_bytes),
            f"{row.floor.busbw:g}",
            row.floor.confidence,
            row.floor.source,
        )
    return shown


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
