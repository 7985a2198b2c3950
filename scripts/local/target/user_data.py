"""What user data tells the EKS images: nodeadm's NodeConfig, and the scripts beside it."""

import base64
import binascii
import re
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from typing import Any, cast

import yaml

__all__ = ["NodeConfig", "UserData", "UserDataError", "read"]

Json = dict[str, Any]

CONFIG = "application/node.eks.aws"
HUGE_PAGES = re.compile(r"vm\.nr_hugepages\s*=\s*(?P<pages>\d+)")

UNITS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
}
"""Suffixes of amounts of memory, as Kubernetes writes them."""

CLUSTER = ("name", "apiServerEndpoint", "certificateAuthority", "cidr")
"""What nodeadm must know of the cluster."""

AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kMG]|[KMG]i|m)?")


class UserDataError(Exception):
    """User data with which no node comes up."""


@dataclass(frozen=True)
class NodeConfig:
    """What nodeadm is told of the kubelet and of the machine."""

    max_pods: int | None = None
    local_storage: bool = False
    """Whether the local NVMe drives become the node's ephemeral storage."""

    not_told: tuple[str, ...] = ()
    """What it does not say of the cluster; EKS adds that for images of its own only."""

    kube_cpu_millis: int | None = None
    kube_memory_mib: int | None = None
    """What the kubelet keeps for Kubernetes; the image's own rule where it is not said."""

    system_cpu_millis: int = 0
    system_memory_mib: int = 0
    """What the kubelet keeps for the rest of the machine."""


@dataclass(frozen=True)
class UserData:
    """All of it that shows at a Node."""

    config: NodeConfig = field(default_factory=NodeConfig)
    huge_pages: int = 0
    """Pages of 2 MiB that a script sets aside."""


def read(encoded: str | None) -> UserData:
    """Read the user data of a launch template.

    Raises
    ------
    UserDataError
        If nodeadm could not read it, so that its node would never join.
    """
    if not encoded:
        return UserData()
    try:
        content = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise UserDataError(f"user data is not base64: {error}") from error
    texts = [(part.get_content_type(), _text(part)) for part in message_from_bytes(content).walk()]
    merged: Json = {}
    for kind, text in texts:
        if kind == CONFIG:
            merged = _merged(merged, _loaded(text))
    pages = [HUGE_PAGES.search(text) for kind, text in texts if kind != CONFIG]
    found = next((int(match["pages"]) for match in pages if match), 0)
    return UserData(_node_config(merged), found)


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    return payload.decode(errors="replace") if isinstance(payload, bytes) else ""


def _loaded(text: str) -> Json:
    try:
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # a date that is none is a ValueError
        raise UserDataError(f"NodeConfig is not YAML: {error}") from error
    if not isinstance(loaded, dict) or loaded.get("kind") != "NodeConfig":  # pyright: ignore[reportUnknownMemberType] - YAML has any shape
        raise UserDataError("the part for nodeadm is no object of kind NodeConfig")
    return cast("Json", loaded)


def _merged(one: Json, other: Json) -> Json:
    """Lay one configuration over another, as nodeadm does with several parts."""
    both = {
        key: _merged(one[key], other[key])
        for key in one.keys() & other.keys()
        if isinstance(one[key], dict) and isinstance(other[key], dict)
    }
    return {**one, **other, **both}


def _node_config(loaded: Json) -> NodeConfig:
    spec = _inner(loaded, "spec")
    kubelet = _inner(spec, "kubelet", "config")
    kube, system = _inner(kubelet, "kubeReserved"), _inner(kubelet, "systemReserved")
    storage = _inner(spec, "instance", "localStorage")
    cluster, most = _inner(spec, "cluster"), kubelet.get("maxPods")
    if most is not None and (type(most) is not int or most < 1):
        raise UserDataError(f"maxPods is {most!r}, not a whole number above zero")
    return NodeConfig(
        max_pods=most,
        not_told=tuple(name for name in CLUSTER if not cluster.get(name)) if loaded else (),
        local_storage=str(storage.get("strategy", "")).upper().startswith("RAID"),
        kube_cpu_millis=_millis(kube["cpu"]) if "cpu" in kube else None,
        kube_memory_mib=_mebibytes(kube["memory"]) if "memory" in kube else None,
        system_cpu_millis=_millis(system.get("cpu", 0)),
        system_memory_mib=_mebibytes(system.get("memory", 0)),
    )


def _inner(loaded: Json, *names: str) -> Json:
    """Follow names into a configuration; an empty one where there is nothing."""
    for name in names:
        found: object = loaded.get(name) or {}
        if not isinstance(found, dict):
            raise UserDataError(f"{name} is {found!r}, not an object")
        loaded = cast("Json", found)
    return loaded


def _millis(amount: object) -> int:
    number, unit = _amount(amount)
    if unit not in {"", "m"}:
        raise UserDataError(f"{amount!r} is no amount of cores")
    return round(number if unit == "m" else number * 1000)


def _mebibytes(amount: object) -> int:
    number, unit = _amount(amount)
    if unit not in UNITS:
        raise UserDataError(f"{amount!r} is no amount of memory")
    return round(number * UNITS[unit] / 2**20)


def _amount(amount: object) -> tuple[float, str]:
    match = AMOUNT.fullmatch(str(amount))
    if match is None:
        raise UserDataError(f"{amount!r} is no amount")
    return float(match["number"]), match["unit"] or ""
