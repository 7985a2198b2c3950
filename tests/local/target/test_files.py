import stat
from pathlib import Path

import pytest

from scripts.local.target.files import dump_yaml, read_json, write_json, write_private


def test_a_file_is_written_whole_and_for_its_user_only(tmp_path: Path) -> None:
    write_private(tmp_path / "file", b"old")
    write_private(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "folder", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_json_comes_back_as_it_was_written(tmp_path: Path) -> None:
    assert read_json(tmp_path / "file") is None
    write_json(tmp_path / "file", {"a": [1, None]})
    assert read_json(tmp_path / "file") == {"a": [1, None]}


def test_yaml_documents_keep_the_order_of_their_keys() -> None:
    assert dump_yaml({"b": 1, "a": 2}, {"c": "ü"}) == b'b: 1\na: 2\n---\nc: "\\xFC"\n'
