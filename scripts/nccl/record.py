"""What one run of nccl-tests said, whatever it was written in: the facts that are judged."""

from dataclasses import dataclass, field

from scripts.nccl.table import MAX_ROWS, Table
from scripts.nccl.transport import Transport

__all__ = ["MAX_RANKS", "Banner", "Devices", "Footer", "Log", "Quote"]

MAX_RANKS = 65_536
"""Ranks remembered: 8,192 nodes of eight GPUs."""

KEPT_NAMES = 8


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of the log worth showing."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Banner:
    """What the run was asked to do: sizes in bytes; ``validation`` 0 compares nothing."""

    line: int
    low: int
    high: int
    step: int
    by_factor: bool
    validation: int

    def sizes(self, reduced_to: int | None) -> list[int]:
        """Return the sizes that the run prints, cut where memory was short."""
        high = self.high if reduced_to is None else min(self.high, reduced_to)
        sizes: list[int] = []
        size = self.low
        while size <= high and len(sizes) < MAX_ROWS:
            sizes.append(size)
            grown = size * self.step if self.by_factor else size + self.step
            if grown <= size:
                break
            size = grown
        return sizes


@dataclass(slots=True)
class Devices:
    """Which rank ran where, on what. ``pid_of`` tells one run from another on the same hosts."""

    line: int = 0
    last_line: int = 0
    host_of: dict[int, str] = field(default_factory=dict[int, str])
    group_of: dict[int, int] = field(default_factory=dict[int, int])
    pid_of: dict[int, int] = field(default_factory=dict[int, int])
    names: set[str] = field(default_factory=set[str])
    repeated: int = 0

    def add(
        self, line: int, rank: int, host: str, name: str, *, group: int = 0, pid: int | None = None
    ) -> None:
        """Note one rank, all of it at once; a rank that was listed before is only counted.

        Of those that are more than we remember nothing is noted.
        """
        self.line = self.line or line
        self.last_line = line
        if len(self.names) < KEPT_NAMES:
            self.names.add(name)
        if rank in self.host_of:
            self.repeated += 1
        elif len(self.host_of) < MAX_RANKS:
            self.host_of[rank] = host
            self.group_of[rank] = group
            if pid is not None:
                self.pid_of[rank] = pid

    def ranks_by_host(self) -> dict[str, int]:
        """Count the ranks of each host, in order of first rank."""
        counts: dict[str, int] = {}
        for host in self.host_of.values():
            counts[host] = counts.get(host, 0) + 1
        return counts

    def ranks_by_group(self) -> dict[int, int]:
        """Count the ranks of each communicator."""
        counts: dict[int, int] = {}
        for group in self.group_of.values():
            counts[group] = counts.get(group, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class Footer:
    """A summary line: its number, and the word at its end if there is one."""

    line: int
    value: float
    word: str | None


@dataclass(slots=True)
class Log:
    """Everything that was understood. Lists are cut, counts are not.

    ``cut`` says where a document breaks off that is not read by lines. ``exit_code`` is that of
    the launcher, as ``scripts/jobs`` prints it, and ``launcher`` holds its own complaints. Line
    numbers of JSON output are 0.
    """

    lines: int = 0
    from_json: bool = False
    version: str | None = None
    nccl: str | None = None
    cut: str = ""
    reduced_to: int | None = None
    exit_code: int | None = None
    programs: list[str] = field(default_factory=list[str])
    banners: list[Banner] = field(default_factory=list[Banner])
    tables: list[Table] = field(default_factory=list[Table])
    bounds: list[Footer] = field(default_factory=list[Footer])
    averages: list[Footer] = field(default_factory=list[Footer])
    concluded: list[Quote] = field(default_factory=list[Quote])
    misread: list[Quote] = field(default_factory=list[Quote])
    warnings: list[Quote] = field(default_factory=list[Quote])
    failures: list[Quote] = field(default_factory=list[Quote])
    launcher: list[Quote] = field(default_factory=list[Quote])
    devices: Devices = field(default_factory=Devices)
    transport: Transport = field(default_factory=Transport)

    @property
    def collectives(self) -> set[str]:
        """The collectives that the log says it is of: ``all_reduce_perf`` is all_reduce."""
        return {name.removesuffix("_mpi").removesuffix("_perf") for name in self.programs}
