"""Keep the simulator's state through restarts: the records here, and moto's backends.

The file is one line that says what wrote it, then a pickle with one part per backend. Only parts
of services that were called since the last save are made anew. The file is replaced as a whole, so
that a process killed at any moment leaves the last complete one.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# moto's registry of backends is generic over each backend's class, which nothing here needs.

import io
import json
import pickle
import platform
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509 import Certificate, load_pem_x509_certificate
from moto.backends import get_backend
from moto.core.base_backend import AccountSpecificBackend, BackendDict, BaseBackend
from moto.core.models import DEFAULT_ACCOUNT_ID
from typing_extensions import override

from scripts.errors import UsageError
from scripts.local.simulator.records import Records

__all__ = ["FORMAT", "Store"]

FORMAT = 1
"""Raise this when the shape of a record or of the file changes."""

Key = tuple[str, str, str]
"""Service, account and region of one of moto's backends."""

PLAIN = NoEncryption()
RLOCK = type(threading.RLock())

TOUCHES_TOO = {"cloudtrail": ("s3",)}
"""Services whose calls write into another one's backend."""


def _writer() -> dict[str, object]:
    """Say what wrote a file: pickles of moto's objects are good for one version of it only."""
    return {
        "format": FORMAT,
        "moto": version("moto"),
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def _registry(service: str) -> "BackendDict[Any]":
    return cast("BackendDict[Any]", get_backend(cast("Any", service)))


def _account(service: str, account: str) -> "AccountSpecificBackend[Any]":
    return _registry(service)[account]


def _backend(service: str, account: str, region: str) -> Any:  # noqa: ANN401 - any class of moto's
    return _registry(service)[account][region]


def _private_key(pem: bytes) -> object:
    """Read back a key that moto made for a KMS key; it protects nothing but the stand-in's data."""
    return load_pem_private_key(pem, password=None)


def _certificate(pem: bytes) -> object:
    """Read back a certificate that somebody has imported into ACM."""
    return load_pem_x509_certificate(pem)


def _as_text(obj: PrivateKeyTypes | Certificate) -> Any:  # noqa: ANN401 - pickle's own form
    """Write what cryptography keeps beyond pickle's reach."""
    if isinstance(obj, Certificate):
        return _certificate, (obj.public_bytes(Encoding.PEM),)
    return _private_key, (obj.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, PLAIN),)


def _backends() -> dict[Key, BaseBackend]:
    """Collect every backend that a call has made; moto makes some for its default account too."""
    in_use: Any = getattr(BackendDict, "_instances")  # noqa: B009 - moto's list, private and untyped
    return {
        (registry.service_name, account, region): backend
        for registry in in_use
        for account, region, backend in registry.iter_backends()
        if account != DEFAULT_ACCOUNT_ID
    }


class _Pickler(pickle.Pickler):
    """Write names for what moto has of itself: backends and their registry."""

    def __init__(self, file: io.BytesIO, keys: dict[int, Key]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._keys = keys

    @override
    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, RLOCK):
            return threading.RLock, ()  # ECR's backend holds one
        if isinstance(obj, PrivateKeyTypes | Certificate):
            return _as_text(obj)
        if isinstance(obj, BaseBackend) and id(obj) in self._keys:
            return _backend, self._keys[id(obj)]
        if isinstance(obj, BackendDict):
            return _registry, (obj.service_name,)
        if isinstance(obj, AccountSpecificBackend):
            return _account, (obj.service_name, obj.account_id)
        return NotImplemented


def _pickled(content: object, keys: dict[int, Key]) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, keys).dump(content)
    return buffer.getvalue()


class Store:
    """The state file of one simulator.

    Parameters
    ----------
    path
        The file; its folder exists.
    records
        The tables of this package, filled by :meth:`load`.
    lock
        Held while the state is read or replaced.
    """

    def __init__(self, path: Path, records: Records, lock: threading.RLock) -> None:
        self.path = path
        self.changed = threading.Event()
        """Set when there is something to save."""
        self._records = records
        self._lock = lock
        self._writing = threading.Lock()
        self._parts: dict[Key, bytes] = {}
        self._touched: set[str] = set()
        self._count = 0

    def touch(self, service: str) -> None:
        """Note that a call may have changed a service's state."""
        self._touched.update((service, *TOUCHES_TOO.get(service, ())))
        self.changed.set()

    def notice_new(self) -> None:
        """Note whether a reading call made a backend: it may have ids of its own, as a VPC."""
        count = len(_backends())
        if count != self._count:
            self._count = count
            self.changed.set()

    def save(self, *, whole: bool = False) -> int:
        """Write the state; ``whole`` makes every part anew. Returns the size in bytes."""
        with self._writing:
            with self._lock:
                content = self._content(whole=whole)
            draft = self.path.with_suffix(".new")
            draft.touch(mode=0o600)
            draft.write_bytes(content)
            draft.replace(self.path)
            return len(content)

    def _content(self, *, whole: bool) -> bytes:
        self.changed.clear()
        backends = _backends()
        keys = {id(backend): key for key, backend in backends.items()}
        for key, backend in backends.items():
            if whole or key not in self._parts or key[0] in self._touched:
                self._parts[key] = _pickled(vars(backend), keys)
        self._touched.clear()
        header = json.dumps(_writer()).encode() + b"\n"
        return header + pickle.dumps((self._records.tables, self._parts))

    def load(self) -> None:
        """Read the state, if there is a file.

        Raises
        ------
        UsageError
            If another version wrote the file, or it is damaged; the file stays as it is.
        """
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            self._check_writer(file.readline())
            try:
                tables, parts = pickle.load(file)  # noqa: S301 - written by this class, mode 0600
                loaded = {key: pickle.loads(part) for key, part in parts.items()}  # noqa: S301 - the same
            except (pickle.UnpicklingError, EOFError, AttributeError, ImportError) as error:
                raise UsageError(self._unreadable(f"is damaged ({error})")) from error
        with self._lock:
            self._records.tables = tables
            self._parts = parts
            for key, state in loaded.items():
                backend = _backend(*key)
                vars(backend).clear()
                vars(backend).update(state)
            self._count = len(_backends())

    def _check_writer(self, line: bytes) -> None:
        try:
            writer = json.loads(line)
        except ValueError:
            raise UsageError(self._unreadable("is damaged (no first line)")) from None
        if writer != _writer():
            raise UsageError(
                self._unreadable(
                    f"was written by {_spelled(writer)}, this is {_spelled(_writer())}"
                )
            )

    def _unreadable(self, what: str) -> str:
        return (
            f"the simulator's state file {self.path} {what}; it cannot be read. "
            "Run the version that wrote it, or move the file away to start with empty accounts "
            "(it was not touched)."
        )


def _spelled(writer: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in writer.items())
