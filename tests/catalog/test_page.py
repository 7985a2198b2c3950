from pathlib import Path

from click.testing import CliRunner

from components.catalog import instance_types
from scripts.catalog.cli import catalog
from scripts.catalog.page import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_page_is_current() -> None:
    committed = (ROOT / "docs" / "instance-types.md").read_text()
    assert committed == page(), "write it again: yard catalog docs > docs/instance-types.md"


def test_the_command_prints_the_page() -> None:
    assert CliRunner().invoke(catalog, ["docs"]).output == page()


def test_every_type_stands_in_its_tables() -> None:
    rows = [line.split(" | ")[0].removeprefix("| ") for line in page().splitlines()]
    for name, kind in instance_types().items():
        assert rows.count(name) >= (3 if kind.accelerator else 1)


def test_every_row_of_a_table_has_the_columns_of_its_head() -> None:
    for table in page().split("\n\n"):
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1
