"""Build what is missing, one folder's programs after the other, and keep what is finished."""

import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from scripts.errors import FailedError, UsageError
from scripts.local.toolchain import golang, processes, staging
from scripts.local.toolchain.catalog import Build, Folder
from scripts.local.toolchain.events import Event, Report, State, Step, Task
from scripts.local.toolchain.golang import Go
from scripts.local.toolchain.places import Places

__all__ = ["Order", "Workshop", "is_built", "kept_files", "program_path", "task_of"]

FETCHERS = 2
"""Folders whose modules are fetched at once; the second is fetched while the first is built."""

CPUS_FOR_ONE = 2
"""Up to here one ``go build`` keeps every core busy; two at once would only use more memory."""

PROXY_HELP = "point GOPROXY at a Go module proxy that this machine reaches, and run this again"

Order = tuple[Folder, Sequence[Build]]
"""What to build of one folder."""


class _StoppedError(Exception):
    """The caller asked for the end."""


class _RefusedError(Exception):
    """The modules of a folder could not be fetched."""


class _BrokenError(Exception):
    """Go had the modules and yet no program came out."""


def program_path(places: Places, folder: Folder, program: str) -> Path:
    """Return where ``program`` of ``folder`` is, or will be."""
    return places.root / folder.key / "bin" / program


def kept_files(places: Places, folder: Folder, build: Build) -> Path:
    """Return the folder with the files that ``build`` keeps of its modules."""
    return places.root / folder.key / "files" / build.name


def is_built(places: Places, folder: Folder, build: Build) -> bool:
    """Tell whether every program of ``build`` is there; its files are kept before them."""
    return all(program_path(places, folder, program).is_file() for program in build.programs)


def task_of(folder: Folder, build: Build) -> Task:
    """Return ``build`` as it is told about."""
    return Task(build.name, folder.version(build), build.usual_seconds)


@dataclass
class Workshop:
    """Builds with one Go, and tells about it."""

    places: Places
    go: Go
    report: Report
    _stop: threading.Event = field(default_factory=threading.Event)
    _telling: threading.Lock = field(default_factory=threading.Lock)

    def build(self, orders: Sequence[Order]) -> None:
        """Build all that is ordered; what one folder lacks does not stop the others.

        Raises
        ------
        UsageError
            The modules of one folder or more could not be fetched.
        FailedError
            Go had the modules and yet a build failed.
        """
        workers = 1 if self.places.cpus <= CPUS_FOR_ONE else len(orders)
        with ExitStack() as stack:
            sources = [
                Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trainyard-")))
                for _ in orders
            ]
            fetchers = stack.enter_context(ThreadPoolExecutor(FETCHERS))
            builders = stack.enter_context(ThreadPoolExecutor(workers))
            fetches = [
                fetchers.submit(self._fetch, *order, source)
                for order, source in zip(orders, sources, strict=True)
            ]
            jobs = [
                builders.submit(self._build_folder, *order, source, fetch)
                for order, source, fetch in zip(orders, sources, fetches, strict=True)
            ]
            try:
                problems = [job.exception() for job in jobs]
            except BaseException:
                self._stop.set()
                raise
        _raise([problem for problem in problems if problem])

    def _build_folder(
        self, folder: Folder, builds: Sequence[Build], source: Path, fetch: Future[None]
    ) -> None:
        first = task_of(folder, builds[0])

        def waiting(seconds: float) -> None:
            self._tell(Step(first, State.WAITING, seconds, "another yard builds it"))

        with processes.locked(self.places.root / f"{folder.key}.lock", waiting) as lock:
            self._await(fetch, first)
            for build in builds:
                task = task_of(folder, build)
                if is_built(self.places, folder, build):
                    self._tell(Step(task, State.HAVE))
                else:
                    self._build_one(folder, build, source, lock)

    def _await(self, fetch: Future[None], task: Task) -> None:
        start = time.monotonic()
        while not fetch.done():
            self._tell(Step(task, State.FETCHING, time.monotonic() - start))
            try:
                fetch.exception(processes.TICK_SECONDS)
            except TimeoutError:
                continue
        if fetch.exception():
            self._tell(Step(task, State.FAILED, time.monotonic() - start))
        fetch.result()

    def _fetch(self, folder: Folder, builds: Sequence[Build], source: Path) -> None:
        """Fetch exactly the modules that the packages need; compile nothing yet."""
        staging.copy_code(folder, source)
        for build in builds:
            if build.embeds:
                self._fetch_with(["mod", "download", build.module], folder, source)
                staging.make_embeds(self.go, build, build.embeds, source)
        packages = [package for build in builds for package in build.programs.values()]
        self._fetch_with(["list", "-deps", "-f", "", *packages], folder, source)

    def _fetch_with(self, arguments: Sequence[str], folder: Folder, source: Path) -> None:
        log = self.places.logs / f"{folder.path.name}-modules.log"
        code = processes.run(
            [self.go.program, *arguments],
            folder=source,
            environment=self.go.environment,
            log=log,
            tick=lambda _: self._check_stop(),
        )
        if code:
            raise _RefusedError(self._refusal(folder, log))

    def _refusal(self, folder: Folder, log: Path) -> str:
        proxy = golang.without_passwords(self.go.ask("env", "GOPROXY", folder=folder.path))
        words = processes.tail(log, without="go: downloading ")
        names = ", ".join(build.name for build in folder.builds)
        return "\n".join(
            [
                f"the Go modules of {names} could not be fetched through GOPROXY={proxy}",
                *(f"  seen: {golang.without_passwords(line)}" for line in words),
                f"  way out: {PROXY_HELP}",
            ]
        )

    def _build_one(self, folder: Folder, build: Build, source: Path, lock: int) -> None:
        task, start = task_of(folder, build), time.monotonic()
        log = self.places.logs / f"{build.name}.log"
        programs = program_path(self.places, folder, "")
        programs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=programs) as fresh:
            code = processes.run(
                _go_build(self.go, folder, build, Path(fresh)),
                folder=source,
                environment=self.go.environment,
                log=log,
                tick=lambda seconds: self._tell(Step(task, State.BUILDING, seconds)),
                keep=[lock],
            )
            if code:
                self._tell(Step(task, State.FAILED, time.monotonic() - start))
                raise _BrokenError(_breakage(task, log, code))
            staging.keep_files(self.go, build, source, kept_files(self.places, folder, build))
            for program in build.programs:
                (Path(fresh) / program).rename(programs / program)
        self._tell(Step(task, State.DONE, time.monotonic() - start))

    def _tell(self, event: Event) -> None:
        self._check_stop()
        with self._telling:
            self.report(event)

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise _StoppedError


def _go_build(go: Go, folder: Folder, build: Build, target: Path) -> list[str | Path]:
    # A folder as target names each program after its package, which a single one need not be.
    single = next(iter(build.programs)) if len(build.programs) == 1 else ""
    flags = ["-trimpath", "-buildvcs=false", "-ldflags", folder.linker_flags(build)]
    output = f"{target}/{single}"
    return [go.program, "build", *flags, "-o", output, *build.programs.values()]


def _breakage(task: Task, log: Path, code: int) -> str:
    words = processes.tail(log, without="go: downloading ")
    return "\n".join(
        [
            f"{task.name} {task.version} was not built: go ended with {code}",
            *(f"  seen: {line}" for line in words),
            f"  way out: read {log}, mend it and run this again; what is finished is kept",
        ]
    )


def _raise(problems: Sequence[BaseException]) -> None:
    """Raise one error for all ``problems``, or the first that nobody foresaw."""
    for problem in problems:
        if not isinstance(problem, _RefusedError | _BrokenError):
            raise problem
    if problems:
        refused = all(isinstance(problem, _RefusedError) for problem in problems)
        kind = UsageError if refused else FailedError
        raise kind("\n".join(str(problem) for problem in problems))
