"""Bring the target up, see how it is, take it down."""

import contextlib
import datetime as dt
import fcntl
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from scripts.errors import FailedError, UsageError
from scripts.local.home import Home
from scripts.local.target import process
from scripts.local.target.api import Api
from scripts.local.target.etcd import Etcd, save_baseline
from scripts.local.target.files import dump_yaml, write_private
from scripts.local.target.installations import Installation, install, installations
from scripts.local.target.kubeconfig import client_kubeconfig, webhook_kubeconfig
from scripts.local.target.kueue import controller_configuration
from scripts.local.target.part import REPOSITORY, Part, part_environment
from scripts.local.target.parts import ORDER, parts
from scripts.local.target.pki import Pki, ensure_pki
from scripts.local.target.ports import PortInUseError, is_free, load_ports
from scripts.local.target.stages import kwok_configuration
from scripts.local.toolchain.tools import Tools

__all__ = ["RESTART_GRACE_SECONDS", "Target", "down", "exclusive", "prepare", "up"]

START_SECONDS = 90.0
"""How long a part may take to be well: ten times what it takes on two busy cores."""

RESTART_GRACE_SECONDS = 1.0
"""A part that comes back at once need not say farewell to those who are connected; the API server
would wait for them for a minute. What it stores is safe in etcd."""

PORT_SECONDS = 2.0
POLL_SECONDS = 0.1
LOG_LINES = 12
"""How much of a log is shown when a part did not start."""

Report = Callable[[str], None]


@dataclass(frozen=True)
class Target:
    """A prepared home: its parts, and the way in."""

    home: Home
    tools: Tools
    ports: Mapping[str, int]
    pki: Pki
    parts: tuple[Part, ...]

    @property
    def api(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    @property
    def aws(self) -> str:
        """The address of the AWS simulator."""
        return f"http://127.0.0.1:{self.ports['simulator']}"

    def kubernetes(self) -> Api:
        """Log in to the API server as the target's administrator."""
        return Api(self.home)

    def etcd(self) -> Etcd:
        """Reach the store behind the API server."""
        return Etcd(f"https://127.0.0.1:{self.ports['etcd']}", self.pki)


@contextlib.contextmanager
def exclusive(home: Home) -> Generator[None]:
    """Hold the home's lock, so that one ``up`` or ``down`` works at a time.

    Raises
    ------
    UsageError
        If another one holds it.
    """
    home.make()
    with home.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another `yard local up` or `down` is working on {home.root};"
                " wait until it has ended"
            ) from None
        yield


def prepare(home: Home, tools: Tools, stacks: Path = REPOSITORY) -> Target:
    """Make ports, certificates and configuration files; what is good already stays as it is."""
    home.make()
    ports = load_ports(home.ports)
    pki = ensure_pki(home.pki, dt.datetime.now(dt.UTC))
    target = Target(home, tools, ports, pki, parts(home, tools, ports, pki, stacks))
    for name in ("controller-manager", "scheduler", "kwok", "kueue", "mpi-operator"):
        _write(home.config / f"{name}.kubeconfig", client_kubeconfig(target.api, pki, name))
    _write(home.kubeconfig, client_kubeconfig(target.api, pki, "admin"))
    review = webhook_kubeconfig(f"{target.aws}/trainyard/token-review")
    _write(home.config / "token-review.yaml", review)
    _write(home.config / "kwok.yaml", kwok_configuration(tools.kwok_module))
    certificates = home.config / "kueue-certificates"
    certificates.mkdir(mode=0o700, exist_ok=True)
    _write(certificates / "tls.crt", pki.certificate("kueue-webhook").read_bytes())
    _write(certificates / "tls.key", pki.key("kueue-webhook").read_bytes())
    configuration = controller_configuration(ports, certificates)
    _write(home.config / "kueue.yaml", dump_yaml(configuration))
    return target


def _write(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        write_private(path, content)


NODE_PLAYER = "kwok"
"""Each of its processes has an identity of its own, and waits for the leases of the one before."""


@dataclass
class _Start:
    """The course of one ``up``."""

    target: Target
    report: Report
    pool: ThreadPoolExecutor
    installations: Sequence[Installation]
    well: set[str] = field(default_factory=set[str])
    started: dict[str, float] = field(default_factory=dict[str, float])
    installing: dict[str, Future[bool]] = field(default_factory=dict[str, Future[bool]])

    def run(self) -> None:
        """Start each part as soon as those it needs are well, until all are."""
        waiting = list(self.target.parts)
        while not self.well.issuperset(part.name for part in self.target.parts):
            for part in [part for part in waiting if set(part.needs) <= self.well]:
                waiting.remove(part)
                self._begin(part)
            for part in self.target.parts:
                if part.name in self.started and part.name not in self.well:
                    self._look(part)
            if "kube-apiserver" in self.well:
                self._look_at_installations()
            time.sleep(POLL_SECONDS)

    def _begin(self, part: Part) -> None:
        home = self.target.home
        record = process.find(home, part.name)
        self.started[part.name] = time.monotonic()
        if record and record.fingerprint == part.fingerprint():
            return
        if record:
            self.report(f"{part.name}: its settings changed, starting it anew")
            process.stop(home, part.name, grace=RESTART_GRACE_SECONDS)
        elif part.port:
            _await_port(part.name, part.port)
        self.report(f"{part.name}: starting {part.version} ({part.about})")
        for sign in part.signs:
            sign.unlink(missing_ok=True)
        if part.name == NODE_PLAYER:
            with self.target.kubernetes() as api:
                api.release_nodes()
        process.start(
            home,
            part.name,
            part.argv,
            environ=part_environment(),
            fingerprint=part.fingerprint(),
            version=part.version,
        )

    def _look(self, part: Part) -> None:
        """Take note of a part that is well; give up on one that ended or takes too long."""
        health = part.probe()
        waited = time.monotonic() - self.started[part.name]
        if health.verdict == "pass":
            self.well.add(part.name)
            self.report(f"{part.name}: well after {waited:.1f} s")
            return
        if process.find(self.target.home, part.name) is None:
            raise _did_not_start(self.target.home, part, "it ended")
        if waited > START_SECONDS:
            seen = f"after {START_SECONDS:g} s {health.detail}"
            raise _did_not_start(self.target.home, part, seen)

    def _look_at_installations(self) -> None:
        """Put the controllers' objects into the control plane while other parts start."""
        target = self.target
        for each in self.installations:
            if each.name not in self.installing:
                self.installing[each.name] = self.pool.submit(
                    install, each, target.home.state, target.kubernetes, target.etcd()
                )
            if each.name not in self.well and self.installing[each.name].done():
                if self.installing[each.name].result():
                    self.report(each.told)
                self.well.add(each.name)


def _await_port(name: str, port: int) -> None:
    """Give a part that has just ended a moment to let go of its port."""
    deadline = time.monotonic() + PORT_SECONDS
    while not is_free(port):
        if time.monotonic() > deadline:
            raise PortInUseError(name, port)
        time.sleep(POLL_SECONDS)


def _did_not_start(home: Home, part: Part, seen: str) -> FailedError:
    log = home.logs / f"{part.name}.log"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
    told = "\n".join(f"  {line}" for line in lines)
    return FailedError(
        f"{part.name} did not start: {seen}; the end of its log ({log}):\n{told}\n"
        "the other parts are left as they are: see `yard local status`, mend, and run"
        " `yard local up` again"
    )


def up(home: Home, tools: Tools, report: Report, stacks: Path = REPOSITORY) -> Target:
    """Start what does not run, and wait until every part is well.

    Raises
    ------
    UsageError
        If another ``up`` or ``down`` is working, or a port of the target is in use.
    FailedError
        If a part did not start.
    """
    with exclusive(home):
        target = prepare(home, tools, stacks)
        with ThreadPoolExecutor(1) as pool:
            wanted = installations(tools, target.ports, target.pki)
            _Start(target, report, pool, wanted).run()
        baseline = home.state / "baseline.json"
        if not baseline.exists():
            save_baseline(target.etcd(), baseline)
    return target


def down(home: Home, report: Report, *, wipe: bool) -> None:
    """End all parts, the last started first; with ``wipe`` give up the state as well.

    Raises
    ------
    UsageError
        If another ``up`` or ``down`` is working.
    """
    with exclusive(home):
        for name in reversed(ORDER):
            if process.stop(home, name):
                report(f"{name}: ended")
        if wipe:
            pulumi = home.backend.parent
            for path in (home.state, home.pki, home.config, home.logs, home.pids, pulumi):
                shutil.rmtree(path)
            for path in (home.ports, home.kubeconfig, home.faults):
                path.unlink(missing_ok=True)
            report(f"wiped {home.root}")
