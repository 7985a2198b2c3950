"""Assets and archives of files that a command has left, with Pulumi's own hashes.

A file's hash is the SHA-256 of its bytes. An archive's hash is the SHA-256 of the tar stream that
the Pulumi SDK for Go would write: the members in order of their names, each with mode 0600 and no
time, and then two empty blocks.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from scripts.local.plugins.command import globs
from scripts.local.plugins.shared.wire import Archive, Asset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLOCK: Final = 512
_NAME_BYTES: Final = 100
_PREFIX_BYTES: Final = 155


class _Hash(Protocol):
    def update(self, data: bytes, /) -> object: ...


def collect(folder: str, patterns: Sequence[str]) -> dict[str, Asset]:
    """Give an asset for each file under ``folder`` that the patterns choose, by relative path.

    Raises
    ------
    globs.GlobError
        A pattern cannot be read.
    OSError
        A file or a folder cannot be read.
    """
    paths = {name: str(Path(folder, name)) for name in globs.find(folder, patterns)}
    return {name: Asset(hash=_file_hash(path), path=path) for name, path in paths.items()}


def archive(assets: dict[str, Asset]) -> Archive:
    """Put assets with paths into an archive."""
    digest = hashlib.sha256()
    for name, asset in sorted(assets.items()):
        size = Path(asset.path).stat().st_size
        for header in _headers(name.encode(), size):
            digest.update(header)
        _feed(digest, asset.path)
        digest.update(bytes(-size % _BLOCK))
    digest.update(bytes(2 * _BLOCK))
    return Archive(hash=digest.hexdigest(), assets=dict(assets))


def _file_hash(path: str) -> str:
    digest = hashlib.sha256()
    _feed(digest, path)
    return digest.hexdigest()


def _feed(digest: _Hash, path: str) -> None:
    with Path(path).open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)


def _headers(name: bytes, size: int) -> Iterator[bytes]:
    """Give the header blocks of a member, with an extended one for a name that does not fit."""
    split = _split(name)
    if split is None:
        record = _record(b"path", name)
        folder, slash, base = name.rpartition(b"/")
        extended = _fit(folder + slash + b"PaxHeaders.0/" + base)
        yield _header(extended, len(record), kind=b"x")
        yield record + bytes(-len(record) % _BLOCK)
        split = b"", _fit(name)
    prefix, base = split
    yield _header(base, size, kind=b"0", mode=0o600, prefix=prefix)


def _split(name: bytes) -> tuple[bytes, bytes] | None:
    """Split a name into the prefix and the name of a header, or tell that it does not fit."""
    if not name.isascii():
        return None
    if len(name) <= _NAME_BYTES:
        return b"", name
    cut = name[: _PREFIX_BYTES + 1].rfind(b"/")
    if cut <= 0 or len(name) - cut - 1 > _NAME_BYTES:
        return None
    return name[:cut], name[cut + 1 :]


def _record(key: bytes, value: bytes) -> bytes:
    """Write an extended field, whose first number is the length of the whole field."""
    body = b" " + key + b"=" + value + b"\n"
    length = len(body)
    while length != len(body) + len(str(length)):
        length = len(body) + len(str(length))
    return str(length).encode() + body


def _fit(name: bytes) -> bytes:
    """Keep what a header can show of a name that stands in full in an extended field."""
    return name.decode().encode("ascii", "ignore")[:_NAME_BYTES].rstrip(b"/")


def _header(name: bytes, size: int, *, kind: bytes, mode: int = 0, prefix: bytes = b"") -> bytes:
    # An extended header names no device; that of a file names device 0.
    device = bytes(8) if kind == b"x" else b"%07o\0" % 0
    fields = (
        name.ljust(_NAME_BYTES, b"\0"),
        b"%07o\0" % mode,
        b"%07o\0" % 0,  # user
        b"%07o\0" % 0,  # group
        b"%011o\0" % size,
        b"%011o\0" % 0,  # time
        b" " * 8,  # the checksum counts itself as spaces
        kind,
        bytes(100),  # link
        b"ustar\x0000",
        bytes(64),  # names of user and group
        device * 2,
        prefix.ljust(_PREFIX_BYTES, b"\0"),
        bytes(12),
    )
    block = b"".join(fields)
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]
