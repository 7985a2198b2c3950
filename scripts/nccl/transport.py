"""What a log says about the transport: which network, which provider, how many NICs, GPUDirect."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from scripts.nccl.lines import NcclLine

__all__ = ["MAX_HOSTS", "Sighting", "Transport"]

K = TypeVar("K")

MAX_HOSTS = 4096
"""Hosts remembered a sighting; larger runs are not known."""

_KEPT_LINES = 3

_CHANNEL = re.compile(
    r"Channel \d+(?:/\d+)? : (?P<source>\d{1,9})\[[^\]]*\] -> (?P<target>\d{1,9})\[[^\]]*\] "
    r"\[(?:send|receive)\] via NET/(?P<net>[^/]+)/(?P<rest>\S*)"
)
_PROVIDER = re.compile(r"selected provider is (?P<name>[^\s,]+)", re.IGNORECASE)
_NICS = re.compile(r"\(found (?P<count>\d{1,9}) nics?\)", re.IGNORECASE)
_NETWORK = re.compile(r"Using network (?P<name>.+?)\s*$")
_PLUGIN = re.compile(
    r"NET/Plugin: Could not find: \S*libnccl-net|Failed to initialize NET plugin"
    r"|aws-ofi-nccl initialization failed|No eligible providers were found"
)
_NO_GDR = re.compile(r"GDR not supported|disabling GDR|use ring PXN \d GDR 0", re.IGNORECASE)
_NVLS = re.compile(r"NVLS multicast support is (?P<missing>not )?available")


@dataclass(slots=True)
class Sighting:
    """Where something was seen: its first lines and every host that said it."""

    lines: list[int] = field(default_factory=list[int])
    hosts: set[str] = field(default_factory=set[str])

    def add(self, line: NcclLine, host: str | None = None) -> None:
        """Note one more line, said by its own host unless another is named."""
        if len(self.lines) < _KEPT_LINES:
            self.lines.append(line.number)
        if len(self.hosts) < MAX_HOSTS:
            self.hosts.add(host or line.host)

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(slots=True)
class Transport:
    """Evidence collected line by line; each kind keeps a few lines and the hosts."""

    messages: int = 0
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

    def read(self, line: NcclLine, host_of: Mapping[int, str]) -> None:
        """Take what ``line`` says; ``host_of`` gives the host of each rank seen so far."""
        self.messages += 1
        if channel := _CHANNEL.search(line.text):
            self._channel(line, channel, host_of)
        elif found := _NETWORK.search(line.text):
            _seen(self.networks, found["name"].removeprefix("AWS ")).add(line)
        elif found := _PROVIDER.search(line.text):
            _seen(self.providers, found["name"].lower()).add(line)
            if count := _NICS.search(line.text):
                _seen(self.nics, int(count["count"])).add(line)
        elif _PLUGIN.search(line.text):
            self.no_plugin.add(line)
        elif _NO_GDR.search(line.text):
            self.no_gdr.add(line)
        elif found := _NVLS.search(line.text):
            (self.no_nvls if found["missing"] else self.nvls).add(line)

    def _channel(self, line: NcclLine, channel: re.Match[str], host_of: Mapping[int, str]) -> None:
        if channel["net"] == "Socket":
            self.sockets.add(line)
        elif not channel["net"].endswith("Libfabric"):
            _seen(self.networks, channel["net"]).add(line)
        elif "/GDRDMA" not in channel["rest"]:
            self.without_gdrdma.add(line)
        else:
            self.gdrdma.add(line)
            for end in (channel["source"], channel["target"]):
                if host := host_of.get(int(end)):
                    self.gdrdma.add(line, host)


def _seen(sightings: dict[K, Sighting], key: K) -> Sighting:
    if key not in sightings and len(sightings) >= MAX_HOSTS:
        return Sighting()
    return sightings.setdefault(key, Sighting())
