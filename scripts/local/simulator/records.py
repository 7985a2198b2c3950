"""The simulator's own state: plain records by account, region and kind."""

from typing import Any

__all__ = ["Record", "Records"]

Record = dict[str, Any]
"""One resource, in the shape in which the AWS API describes it."""


class Records:
    """Tables of records; plain data all through, so that it can be written to a file."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str, str], dict[str, Record]] = {}

    def table(self, account: str, region: str, kind: str) -> dict[str, Record]:
        """Return the table of one kind, keyed by the resource's id, made when first asked for."""
        return self.tables.setdefault((account, region, kind), {})

    def everywhere(self, kind: str) -> list[tuple[str, str, Record]]:
        """List the records of one kind everywhere, as (account, region, record)."""
        return [
            (account, region, record)
            for (account, region, found), table in self.tables.items()
            if found == kind
            for record in table.values()
        ]
