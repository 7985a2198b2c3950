"""Runs Jobs and MPIJobs side by side over a Kubernetes API, and reads what they say."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from lightkube import ApiError

from scripts.errors import UnknownError, UsageError
from scripts.gate.absence import Absences
from scripts.gate.api import Api
from scripts.gate.jobs import CONTAINER, ROUND_LABEL, RUN_LABEL, GateJob, JobKind
from scripts.gate.objects import Manifest, labels
from scripts.gate.pods import NOT_TAKEN, Standing, queue_reason, standing
from scripts.gate.ports import JobResult, Progress
from scripts.text import names, words

__all__ = ["JOB_KINDS", "Runner", "pause"]

T = TypeVar("T")

JOB_KINDS: Final[tuple[JobKind, ...]] = ("Job", "MPIJob")

CREATORS: Final = 8
"""Objects that are created at a time: one by one, a thousand take as long as a test."""

READERS: Final = 8
"""Logs that are read at a time: each waits for its kubelet, and a thousand in a row for minutes."""

POLL_SECONDS: Final = 1.0
POLL_SECONDS_PER_JOB: Final = 0.01
LONGEST_POLL_SECONDS: Final = 5.0
"""A poll lists every pod of the run, each with the text of its script: some 10 KB."""

OPERATOR_SECONDS: Final = 120
"""Time in which an MPI operator that runs has seen an MPIJob, also one that was restarted."""

MOST_NAMES: Final = 2
"""Jobs in the same state that are all named."""

UID_LABEL: Final = "kueue.x-k8s.io/job-uid"

GONE: Final = Standing("gone", ended=True, problem="somebody has deleted it")


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs Jobs by way of ``api``; ``monotonic`` and ``sleep`` are the clock."""

    api: Api
    progress: Progress
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]

    def create(self, manifests: Sequence[Manifest]) -> None:
        """Create objects, some at a time; what exists already is left as it is."""
        with _threads(CREATORS, len(manifests)) as threads:
            for each in [threads.submit(self.api.create, manifest) for manifest in manifests]:
                each.result()

    def run(
        self,
        jobs: Sequence[GateJob],
        seconds: float,
        read: Callable[[GateJob, Iterable[str]], T],
        seen: Callable[[GateJob, JobResult[T]], None],
    ) -> dict[str, JobResult[T]]:
        """Create Jobs, wait for ``seconds`` at most, read their logs, and delete them.

        ``read`` and ``seen`` get each Job with its nodes in the order of ranks. Several logs are
        read at a time, each by one thread; ``seen`` is called by the caller's own.

        Raises
        ------
        UsageError
            If the cluster has no MPI operator that runs the MPIJobs among them.
        """
        self.create([job.manifest for job in jobs])
        pending = {job.name: job for job in jobs}
        results: dict[str, JobResult[T]] = {}
        begin = self.monotonic()
        absences = Absences(lambda: self.api.list("Node"), self.monotonic)
        shown = ""
        with _threads(READERS, len(jobs)) as threads:
            reading: dict[Future[JobResult[T]], GateJob] = {}
            while pending or reading:
                passed = self.monotonic() - begin
                states = self._standings(list(pending.values()), absences) if pending else {}
                if passed >= OPERATOR_SECONDS and not results and _not_taken(states):
                    self._delete(jobs)
                    raise UsageError(_no_operator(jobs[0].name))
                for name, job in list(pending.items()):
                    if states[name].ended or passed >= seconds:
                        ranked = _ranked(job, states[name])
                        task = threads.submit(self._result, ranked, states[name], read)
                        reading[task] = ranked or job
                        del pending[name]
                for task in [task for task in reading if task.done() or not pending]:
                    job = reading.pop(task)
                    results[job.name] = task.result()
                    seen(job, results[job.name])
                if pending:
                    line = self._waiting(pending, states)
                    if line != shown:
                        self.progress(line)
                    shown = line
                    self.sleep(min(pause(len(pending)), max(0.0, seconds - passed)))
        # Before the next round: workers of MPIJobs hold their GPUs until these are deleted.
        self._delete(jobs)
        return results

    def _standings(self, jobs: Sequence[GateJob], absences: Absences) -> dict[str, Standing]:
        """Return how each Job stands, by its pods, its conditions, and the nodes that it needs."""
        selector = {RUN_LABEL: labels(jobs[0].manifest)[RUN_LABEL]}
        asked: list[JobKind] = [kind for kind in JOB_KINDS if any(job.kind == kind for job in jobs)]
        found = [job for kind in asked for job in self.api.list(kind, selector)]
        states = standing(self.api.list("Pod", selector), found)
        gone = absences.gone()
        return {job.name: _without(job, states.get(job.name, GONE), gone) for job in jobs}

    def _waiting(self, pending: Mapping[str, GateJob], states: Mapping[str, Standing]) -> str:
        texts: dict[str, list[str]] = {}
        for name in pending:
            texts.setdefault(states[name].text, []).append(name)
        groups = [f"{len(jobs)} {text} ({_some(jobs)})" for text, jobs in sorted(texts.items())]
        queued = next((name for name in pending if states[name].queued), None)
        if queued is not None:
            groups.append(f"{queued}: {self._queue_reason(states[queued])}")
        return f"waiting for {words(len(pending), 'Job')}: {'; '.join(groups)}"

    def _queue_reason(self, state: Standing) -> str:
        """Return what Kueue says of a Job that waits in a queue."""
        try:
            found = self.api.list("Workload", {UID_LABEL: state.queued})
        except (ApiError, UnknownError, UsageError) as error:
            return f"why cannot be read: {error}"
        said = [reason for workload in found if (reason := queue_reason(workload))]
        return said[0] if said else "Kueue has not looked at it yet"

    def forget_other_rounds(self, jobs: Sequence[GateJob]) -> None:
        """Delete what a stopped gate has left of the run's earlier rounds: it holds their GPUs."""
        known = labels(jobs[0].manifest)
        run, this = known[RUN_LABEL], known[ROUND_LABEL]
        for kind in JOB_KINDS:
            found = self.api.list(kind, {RUN_LABEL: run})
            for other in sorted({labels(each).get(ROUND_LABEL, this) for each in found} - {this}):
                self.api.delete_all(kind, {RUN_LABEL: run, ROUND_LABEL: other})

    def _delete(self, jobs: Sequence[GateJob]) -> None:
        for kind in JOB_KINDS:
            known = [labels(job.manifest) for job in jobs if job.kind == kind]
            for run, part in sorted({(each[RUN_LABEL], each[ROUND_LABEL]) for each in known}):
                self.api.delete_all(kind, {RUN_LABEL: run, ROUND_LABEL: part})

    def _result(
        self,
        job: GateJob | None,
        state: Standing,
        read: Callable[[GateJob, Iterable[str]], T],
    ) -> JobResult[T]:
        """Return what came of a Job; it is None where the nodes of its ranks are not known."""
        problem = state.problem
        if not state.ended:
            why = f": {self._queue_reason(state)}" if state.queued else ""
            problem = f"it did not end in time: {state.text}{why}"
        if not state.pod:
            return JobResult(None, problem)
        if job is None:
            text = "its log is not read, for nobody knows which of its pods ran on which node"
            return JobResult(None, f"{problem}; {text}" if problem else text)
        try:
            value = self.api.read_log(state.pod, CONTAINER, lambda lines: read(job, lines))
        except (ApiError, UnknownError) as error:
            text = f"its log cannot be read: {error}"
            return JobResult(None, f"{problem}; {text}" if problem else text)
        return JobResult(value, problem)


def _without(job: GateJob, state: Standing, gone: Mapping[str, float]) -> Standing:
    """Return how a Job stands of whose nodes some are gone: it has ended, if it had not before."""
    lost = [name for name in job.nodes if name in gone]
    if not lost or state.ended:
        return state
    seconds = max(gone[name] for name in lost)
    problem = f"{names(lost)} not Ready for {seconds:.0f} s"
    return Standing(state.text, ended=True, problem=problem)


def _ranked(job: GateJob, state: Standing) -> GateJob | None:
    """Return a Job with its nodes in the order of ranks; None while some pod has no node.

    The scheduler may put any pod on any of the nodes, and a log names pods. None also where a node
    has come in between that the Job was not made for.
    """
    if set(state.nodes) == set(job.nodes):
        return replace(job, nodes=state.nodes)
    return job if len(job.nodes) == 1 else None


def _some(jobs: Sequence[str]) -> str:
    """Name a Job or two, or one of many: the line comes again and again."""
    return f"{jobs[0]} and {len(jobs) - 1} more" if len(jobs) > MOST_NAMES else ", ".join(jobs)


@contextmanager
def _threads(most: int, tasks: int) -> Generator[ThreadPoolExecutor]:
    """Give threads for some tasks; at an error those that have not begun are left."""
    pool = ThreadPoolExecutor(max(1, min(most, tasks)))
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _not_taken(states: Mapping[str, Standing]) -> bool:
    return bool(states) and all(state.text == NOT_TAKEN for state in states.values())


def pause(pending: int) -> float:
    """Return the seconds until the next look at so many Jobs."""
    return min(LONGEST_POLL_SECONDS, max(POLL_SECONDS, POLL_SECONDS_PER_JOB * pending))


def _no_operator(name: str) -> str:
    return (
        f"no MPI operator runs the MPIJobs of this cluster: {name} was not taken up in "
        f"{OPERATOR_SECONDS} s; look at Deployment mpi-operator in namespace mpi-operator, which "
        "`pulumi up` installs with the scheduler layer"
    )
