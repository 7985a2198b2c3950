from __future__ import annotations

import hashlib
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from scripts.local.plugins.command import assets

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.local.plugins.shared.wire import Asset

SHORT = {"a.txt": b"hello", "sub/b.bin": b"z" * 512, "empty": b""}
LONG = {
    "d" * 80 + "/" + "e" * 60 + "/" + "f" * 90: b"split",
    "g" * 150 + ".txt": b"too long",
    "d" * 100 + "/" + "e" * 100 + "/" + "f" * 20: b"too long before the name",
    "ü/naïve.txt": b"not ASCII",
}


def write(folder: Path, files: dict[str, bytes]) -> dict[str, Asset]:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return assets.collect(str(folder), ["**"])


def test_an_asset_has_the_path_and_the_hash_of_its_file(tmp_path: Path) -> None:
    found = write(tmp_path, {"sub/a.txt": b"hello"})
    [asset] = found.values()
    assert list(found) == ["sub/a.txt"]
    assert asset.path == str(tmp_path / "sub" / "a.txt")
    assert asset.hash == hashlib.sha256(b"hello").hexdigest()


# Computed with resource.NewAssetArchive of github.com/pulumi/pulumi/sdk/v3 v3.274.1.
@pytest.mark.parametrize(
    ("files", "digest"),
    [
        ({}, "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"),
        (SHORT, "b4fc04a3ffe13285da865b5b00061eb5e1b275466cffb1c19e126d755b9bd83b"),
        (SHORT | LONG, "6862e0a77ce79f064720ced3f35b3a44d6f4d4e9559350fad0b36795e9964d86"),
    ],
)
def test_an_archive_has_the_hash_that_the_engine_would_compute(
    tmp_path: Path, files: dict[str, bytes], digest: str
) -> None:
    assert assets.archive(write(tmp_path, files)).hash == digest


def test_the_hash_is_that_of_a_tar_file_that_others_can_read(tmp_path: Path) -> None:
    stream = io.BytesIO()
    for name, data in sorted((SHORT | LONG).items()):
        for header in assets._headers(name.encode(), len(data)):
            stream.write(header)
        stream.write(data + bytes(-len(data) % 512))
    stream.write(bytes(1024))
    digest = hashlib.sha256(stream.getvalue()).hexdigest()
    stream.seek(0)
    with tarfile.open(fileobj=stream) as tar:
        read = {member.name: tar.extractfile(member).read() for member in tar}
    assert read == SHORT | LONG
    assert assets.archive(write(tmp_path, SHORT | LONG)).hash == digest


def test_an_archive_names_its_members(tmp_path: Path) -> None:
    members = write(tmp_path, SHORT)
    assert assets.archive(members).assets == members
