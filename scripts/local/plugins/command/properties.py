"""What each resource and function takes and gives: the one table behind Check and the schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.shared.wire import Value

Kind: TypeAlias = Literal[
    "string",
    "boolean",
    "integer",
    "number",
    "strings",
    "environment",
    "values",
    "logging",
    "connection",
    "proxy",
    "file",
    "files",
    "archive",
]

LOGGING: Final = {
    "stdout": "Capture stdout in logs but not stderr",
    "stderr": "Capture stderr in logs but not stdout",
    "stdoutAndStderr": "Capture stdout and stderr in logs",
    "none": "Capture no logs",
}


@dataclass(frozen=True)
class Property:
    """An input or an output."""

    kind: Kind
    required: bool = False
    default: Value = None
    secret: bool = False


@dataclass(frozen=True)
class Shape:
    """The inputs of a resource or a function, and what it gives beside them."""

    inputs: Mapping[str, Property]
    outputs: Mapping[str, Property] = field(default_factory=dict[str, Property])
    updates: bool = True
    """Whether a change of an input can be applied in place; otherwise it replaces."""


_TEXT: Final = Property("string")
_NEEDED_TEXT: Final = Property("string", required=True)

PROXY: Final[Mapping[str, Property]] = {
    "host": _NEEDED_TEXT,
    "port": Property("number", default=22),
    "user": Property("string", default="root"),
    "password": _TEXT,
    "privateKey": _TEXT,
    "privateKeyPassword": _TEXT,
    "agentSocketPath": _TEXT,
    "dialErrorLimit": Property("integer", default=10),
    "perDialTimeout": Property("integer", default=15),
    "hostKey": _TEXT,
}
CONNECTION: Final[Mapping[str, Property]] = PROXY | {"proxy": Property("proxy")}

_RUN: Final[Mapping[str, Property]] = {
    "environment": Property("environment"),
    "stdin": _TEXT,
    "logging": Property("logging"),
    "addPreviousOutputInEnv": Property("boolean", default=True),
}
_LOCAL: Final[Mapping[str, Property]] = _RUN | {
    "dir": _TEXT,
    "interpreter": Property("strings"),
    "assetPaths": Property("strings"),
    "archivePaths": Property("strings"),
}
_LIFE: Final[Mapping[str, Property]] = {
    "create": _TEXT,
    "update": _TEXT,
    "delete": _TEXT,
    "triggers": Property("values"),
}
_REMOTE: Final[Mapping[str, Property]] = {
    "connection": Property("connection", required=True, secret=True)
}
_TEXTS: Final[Mapping[str, Property]] = {"stdout": _NEEDED_TEXT, "stderr": _NEEDED_TEXT}
_FILES: Final[Mapping[str, Property]] = {
    "assets": Property("files"),
    "archive": Property("archive"),
}

LOCAL_COMMAND: Final = "command:local:Command"
LOCAL_RUN: Final = "command:local:run"
REMOTE_COMMAND: Final = "command:remote:Command"
COPY_TO_REMOTE: Final = "command:remote:CopyToRemote"
COPY_FILE: Final = "command:remote:CopyFile"

RESOURCES: Final[Mapping[str, Shape]] = {
    LOCAL_COMMAND: Shape(_LIFE | _LOCAL, _TEXTS | _FILES),
    REMOTE_COMMAND: Shape(_LIFE | _REMOTE | _RUN, _TEXTS),
    COPY_TO_REMOTE: Shape(
        _REMOTE
        | {
            "source": Property("file", required=True),
            "remotePath": _NEEDED_TEXT,
            "triggers": Property("values"),
        }
    ),
    COPY_FILE: Shape(
        _REMOTE
        | {
            "localPath": _NEEDED_TEXT,
            "remotePath": _NEEDED_TEXT,
            "triggers": Property("values"),
        },
        updates=False,
    ),
}
FUNCTIONS: Final[Mapping[str, Shape]] = {
    LOCAL_RUN: Shape(_LOCAL | {"command": _NEEDED_TEXT}, _TEXTS | _FILES)
}
