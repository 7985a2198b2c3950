"""Expected results that are too long for a test's text, kept as files that a review reads.

``pytest --update-golden`` writes them again; the difference is then what a reviewer judges.
"""

from pathlib import Path
from typing import Any

import yaml

__all__ = ["Golden"]

DATA = Path(__file__).parents[1] / "data"


class Block(yaml.SafeDumper):
    """Writes texts of several lines as they are."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Block.add_representer(str, _text)


class Golden:
    """Compares with the files under tests/data, or writes them."""

    def __init__(self, *, update: bool) -> None:
        self._update = update

    def check(self, name: str, content: Any) -> None:  # noqa: ANN401 - whatever a test found
        """Insist that ``content`` is what the file ``name`` holds."""
        path = DATA / name
        text = yaml.dump(content, Dumper=Block, sort_keys=True, width=120)
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing; run pytest --update-golden and review it"
        assert text == path.read_text(), f"{name} differs; --update-golden writes it again"
