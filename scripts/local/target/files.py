"""Write files whole and private: a reader never sees half of one, another user never any."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

__all__ = ["dump_yaml", "read_json", "write_json", "write_private"]


def write_private(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step, readable by this user only."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """Replace ``path`` by ``value`` as indented JSON."""
    write_private(path, (json.dumps(value, indent=2) + "\n").encode())


def read_json(path: Path) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Read JSON, or give None when the file does not exist."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def dump_yaml(*documents: object) -> bytes:
    """Write YAML documents with their keys in the order given."""
    writer: Any = yaml  # its stubs know no complete types
    content: bytes = writer.safe_dump_all(documents, sort_keys=False, encoding="utf-8")
    return content
