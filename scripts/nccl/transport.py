"""What a log says about the transport: which network, which provider, how many NICs, GPUDirect."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from scripts.nccl.lines import NcclLine

__all__ = ["MAX_HOSTS", "VIA", "Sighting", "Transport", "matters"]

K = TypeVar("K")

MAX_HOSTS = 4096
"""Hosts remembered a sighting; larger runs are not known."""

_KEPT_LINES = 3
_KEPT_KINDS = 16
_KEPT_ENDS = 16_384
"""Pairs of ranks whose hosts were noted; a channel between others is read again each time."""

VIA = " via NET/"
LIBFABRIC = " via NET/Libfabric/"
_ENDS = re.compile(r" : (?P<source>\d{1,9})\[[^\]]*\] -> (?P<target>\d{1,9})\[")
_PROVIDER = re.compile(r"selected provider is (?P<name>[^\s,]+)", re.IGNORECASE)
_NICS = re.compile(r"\(found (?P<count>\d{1,9}) nics?\)", re.IGNORECASE)
_NETWORK = re.compile(r"(?:Using network |Assigned NET plugin )(?P<name>.+?)(?: to comm)?\s*$")
_PLUGIN = re.compile(
    r"NET/Plugin: Could not find: \S*libnccl-net|Failed to initialize NET plugin"
    r"|aws-ofi-nccl initialization failed|No eligible providers were found"
    r"|Unexpected group size 0"
)
_OFI = re.compile(r"Initializing aws-ofi-nccl (?P<version>[\w.+-]+)")
_NO_GDR = re.compile(r"GDR not supported|disabling GDR|use ring PXN \d GDR 0", re.IGNORECASE)
_NVLS = re.compile(r"NVLS multicast support is (?P<missing>not )?available")


def matters(message: str) -> bool:
    """Tell quickly whether a message can be about the transport; most of a long log is not."""
    return "NET" in message or "GDR" in message or "NVLS" in message or "network" in message


@dataclass(slots=True)
class Sighting:
    """Where something was seen: its first lines and every host that said it."""

    lines: list[int] = field(default_factory=list[int])
    hosts: set[str] = field(default_factory=set[str])

    def add(self, number: int, host: str) -> None:
        """Note one more line, said by or of a host."""
        if len(self.lines) < _KEPT_LINES:
            self.lines.append(number)
        if host not in self.hosts and len(self.hosts) < MAX_HOSTS:
            self.hosts.add(host)

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(slots=True)
class Transport:
    """Evidence collected line by line; each kind keeps a few lines and the hosts."""

    messages: int = 0
    ofi: str | None = None
    networks: dict[str, Sighting] = field(default_factory=dict[str, Sighting])
    providers: dict[str, Sighting] = field(default_factory=dict[str, Sighting])
    nics: dict[int, Sighting] = field(default_factory=dict[int, Sighting])
    gdrdma: Sighting = field(default_factory=Sighting)
    without_gdrdma: Sighting = field(default_factory=Sighting)
    sockets: Sighting = field(default_factory=Sighting)
    no_gdr: Sighting = field(default_factory=Sighting)
    no_plugin: Sighting = field(default_factory=Sighting)
    nvls: Sighting = field(default_factory=Sighting)
    no_nvls: Sighting = field(default_factory=Sighting)
    _known_ends: set[str] = field(default_factory=set[str])

    def read(self, line: NcclLine, host_of: Mapping[int, str]) -> None:
        """Take what ``line`` says; ``host_of`` gives the host of each rank seen so far."""
        number, host, text = line.number, line.host, line.text
        if text.startswith("Channel ") and VIA in text:
            self.channel(number, host, text, host_of)
            return
        self.messages += 1
        if found := _PROVIDER.search(text):
            _seen(self.providers, found["name"].lower()).add(number, host)
            if count := _NICS.search(text):
                _seen(self.nics, int(count["count"])).add(number, host)
        elif found := _NETWORK.search(text):
            _seen(self.networks, found["name"].removeprefix("AWS ")).add(number, host)
        elif _PLUGIN.search(text):
            self.no_plugin.add(number, host)
        elif _NO_GDR.search(text):
            self.no_gdr.add(number, host)
        elif found := _NVLS.search(text):
            (self.no_nvls if found["missing"] else self.nvls).add(number, host)
        elif found := _OFI.search(text):
            self.ofi = self.ofi or found["version"]

    def knows(self, host: str, text: str, start: int) -> bool:
        """Tell whether a proving channel of ``host`` is known, with the hosts of both its ends.

        ``start`` is a place in ``text`` before the message.
        """
        if host not in self.gdrdma.hosts or not text.endswith("/GDRDMA"):
            return False
        via = text.find(LIBFABRIC, start)
        return via > 0 and text[text.find(" : ", start) : via] in self._known_ends

    def channel(self, number: int, host: str, text: str, host_of: Mapping[int, str]) -> None:
        """Take one channel between two ranks over a network."""
        self.messages += 1
        head, _, path = text.partition(VIA)
        network = path.partition("/")[0]
        if network == "Socket":
            self.sockets.add(number, host)
        elif not network.endswith("Libfabric"):
            _seen(self.networks, network).add(number, host)
        elif "/GDRDMA" not in path:
            self.without_gdrdma.add(number, host)
        else:
            self.gdrdma.add(number, host)
            self._other_end(number, head[head.find(" : ") :], host_of)

    def _other_end(self, number: int, ends: str, host_of: Mapping[int, str]) -> None:
        """Count a channel as proof of both its hosts: often one rank alone prints messages."""
        if (found := _ENDS.match(ends)) is None:
            return
        hosts = [host_of.get(int(end)) for end in found.groups()]
        for host in hosts:
            if host is not None:
                self.gdrdma.add(number, host)
        if None not in hosts and len(self._known_ends) < _KEPT_ENDS:
            self._known_ends.add(ends)


def _seen(sightings: dict[K, Sighting], key: K) -> Sighting:
    if key not in sightings and len(sightings) >= _KEPT_KINDS:
        return Sighting()
    return sightings.setdefault(key, Sighting())
