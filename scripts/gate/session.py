"""A gate on a real cluster: its lease, journal and reports, and the replacement of bad nodes."""

import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from lightkube import Client

from scripts.baseline.bucket import open_bucket
from scripts.baseline.ruling import Weight
from scripts.baseline.store import SHELF as BASELINES
from scripts.baseline.store import BaselineStore
from scripts.blacklist.store import SHELF as BLACKLIST
from scripts.blacklist.store import BlacklistStore
from scripts.errors import UsageError
from scripts.gate.api import Api
from scripts.gate.cluster import KubeCluster
from scripts.gate.history import History
from scripts.gate.instances import AutoScaling
from scripts.gate.jobs import GATE_OF_LABEL
from scripts.gate.journal import SHELF as JOURNAL
from scripts.gate.journal import Header, Journal, open_run, unfinished
from scripts.gate.keep import Keep, Logs
from scripts.gate.lease import Holder, Lease, leases
from scripts.gate.patience import Patience
from scripts.gate.replace import Replacing, guests
from scripts.gate.request import Clock, Request, kept_name
from scripts.gate.run import Gate
from scripts.gate.screen import Screen
from scripts.gate.sent_back import SHELF as SENT_BACK
from scripts.gate.sent_back import SentBackStore
from scripts.gate.verdict import Former, WaveVerdict, after_replacement, for_cluster
from scripts.pictures.report import save
from scripts.records.config_maps import ConfigMapShelf
from scripts.verdicts import Verdict

__all__ = ["Session", "Settings", "new_run", "same_run", "stopped"]

RESUMED_FOR: Final = timedelta(hours=6)
"""A run that began longer ago is not gone on with by itself: its nodes have lived on since."""

REPLACEMENTS: Final = 2
"""Times that bad nodes of a wave are replaced and the new ones proved, in one run."""

ARRIVAL_SECONDS: Final = 1800.0
"""How long a wave waits for new nodes: EKS takes minutes to drain, EC2 minutes to start; where no
capacity is left, nothing comes, however long anybody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a gate is run, beside what it is asked.

    Parameters
    ----------
    reports
        Folder of the reports.
    keep
        Which logs stay, in a folder of the run below ``reports``.
    bucket
        URL of the bucket with baselines; None keeps the index in the cluster only.
    weight
        Whether a baseline may fail a wave, or only warns.
    replace
        How many bad nodes of the wave may be replaced.
    repaired
        Whether EKS repairs nodes of the pool by itself; then the gate leaves those to it.
    """

    reports: Path
    keep: Keep = Keep.BAD
    bucket: str | None = None
    weight: Weight = Weight.WARN
    replace: int = 0
    repaired: bool = True


def new_run(now: datetime) -> str:
    """Return the id of a run: when it began, and what tells it from others of the same second."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class Session:
    """Proves waves of one cluster.

    Parameters
    ----------
    client
        A client of the cluster's API.
    namespace
        Where gates run and keep their records.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        settings: Settings,
        screen: Screen,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._settings = settings
        self._screen = screen
        self._clock = clock or Clock()
        self._api = Api(client, namespace, Patience())
        self._cluster = KubeCluster(self._api, namespace, screen.say)
        self._blacklist = BlacklistStore(self._shelf(BLACKLIST))
        self._replacer = AutoScaling()
        self._gate: Gate | None = None

    def prove(self, request: Request) -> WaveVerdict:
        """Judge a wave; who interrupts it finds a report of what was known by then.

        A run that has not ended goes on from what it kept.

        Raises
        ------
        UnknownError
            If another gate works on the wave.
        UsageError
            If the request cannot be judged at all.
        """
        shelf, holder = leases(self._client, self._namespace), Holder.here(request.run)
        with Lease(shelf, request.place, holder, self._screen.say, self._clock) as lease:
            try:
                return self._prove(request, lease.check)
            finally:
                if self._gate:
                    self._write(self._gate.verdict)

    def _prove(self, request: Request, guard: Callable[[], None]) -> WaveVerdict:
        end = self._clock.monotonic() + request.timeout
        gate, verdict = self._run(request, guard)
        if request.former:
            verdict = self._after(request.former, gate, guard)
        replacing = Replacing(
            self._replacer,
            SentBackStore(self._shelf(SENT_BACK)),
            self._screen.say,
            most=self._settings.replace,
            repaired=self._settings.repaired,
            blacklist=self._blacklist,
        )
        for _ in range(REPLACEMENTS):
            replaced = replacing.run(
                verdict,
                gate.checks,
                gate.members,
                problem=gate.problem,
                pods=lambda nodes: self._guests(nodes, guard),
                now=self._clock.now(),
            )
            verdict.warnings += [
                f"{name} is not replaced: {why}" for name, why in sorted(replaced.left.items())
            ]
            if not replaced.ordered:
                break
            former = Former.of(verdict, replaced.ordered)
            request = replace(
                request,
                former=former,
                run=new_run(self._clock.now()),
                timeout=max(1.0, end - self._clock.monotonic()),
                again=False,
                without=request.without | set(replaced.ordered.values()),
                ready_within=ARRIVAL_SECONDS,
            )
            gate, _ = self._run(request, guard)
            verdict = self._after(former, gate, guard, verdict)
        return verdict

    def _run(self, request: Request, guard: Callable[[], None]) -> tuple[Gate, WaveVerdict]:
        settings, say = self._settings, self._screen.say
        request, journal = self._open(request)
        bucket = open_bucket(settings.bucket) if settings.bucket else None
        history = History(
            store=BaselineStore(self._shelf(BASELINES), bucket),
            run=request.run,
            instance=request.instance,
            image=request.image,
            progress=say,
            weight=Weight.ENFORCE if request.regression else settings.weight,
            pictures=settings.reports,
        )
        self._gate = Gate(
            request,
            self._cluster,
            say,
            self._clock,
            blacklist=self._blacklist,
            history=history,
            report=str(self._report(request.pool, request.wave)),
            logs=Logs(settings.reports / "logs" / request.run, settings.keep, say),
            journal=journal,
            guard=guard,
            tally=self._screen.tally,
        )
        return self._gate, self._gate.run()

    def _open(self, request: Request) -> tuple[Request, Journal]:
        """Go on with a run that has not ended, or begin it."""
        shelf, run, say = self._journals(request.place), request.run, self._screen.say
        found = unfinished(shelf, request.place)
        if found and found.request.run == run:
            say(f"run {run} began at {found.started:%H:%M} and has not ended: going on with it")
            return request, Journal(shelf, run, say, resumes=True)
        if found:
            say(
                f"run {found.request.run} of {found.started:%Y-%m-%d %H:%M} has not ended and is "
                "given up: it is too old, or was asked for something else"
            )
        open_run(shelf, request, self._clock.now())
        return request, Journal(shelf, run, say)

    def _after(
        self,
        former: Former,
        gate: Gate,
        guard: Callable[[], None],
        first: WaveVerdict | None = None,
    ) -> WaveVerdict:
        """Keep what the wave is after replacement, and let the report say so."""
        guard()
        then = gate.verdict
        trouble = self._replacer.trouble() if then.verdict is Verdict.UNKNOWN else ""
        gate.verdict = kept = after_replacement(former, then, trouble, first)
        self._cluster.store(kept_name(kept.pool, kept.wave), for_cluster(kept))
        return kept

    def _guests(
        self, nodes: Collection[str], guard: Callable[[], None]
    ) -> Mapping[str, Sequence[str]]:
        """Return the pods that speak against ending nodes; only who holds the wave ends any."""
        guard()
        found = guests(self._api.list("Pod", everywhere=True))
        return {name: pods for name, pods in found.items() if name in nodes}

    def _write(self, verdict: WaveVerdict) -> None:
        folder = self._settings.reports
        path = self._report(verdict.pool, verdict.wave)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(verdict.as_json(), indent=1) + "\n", encoding="utf-8")
            written = [path, *save(verdict, verdict.places, folder)]
        except OSError as error:
            self._screen.say(f"the report could not be written: {error}")
            return
        for each in written:
            self._screen.say(f"report: {each}")

    def _report(self, pool: str, wave: str) -> Path:
        return self._settings.reports / f"{kept_name(pool, wave)}.json"

    def _shelf(self, kind: str) -> ConfigMapShelf:
        return ConfigMapShelf(self._api, self._namespace, kind)

    def _journals(self, place: str) -> ConfigMapShelf:
        return _journals(self._api, self._namespace, place)


def stopped(client: Client, namespace: str, pool: str, wave: str) -> Request:
    """Return what the run over a wave was asked that has not ended.

    Raises
    ------
    UsageError
        If there is none.
    """
    found = _unfinished(client, namespace, f"{pool}-{wave}")
    if found is None:
        raise UsageError(
            f"no gate over wave {wave} of pool {pool} has stopped before its end; yard gate status "
            "shows the waves, yard gate run begins a gate"
        )
    return found.request


def same_run(client: Client, request: Request, now: datetime) -> Request:
    """Return the run that was asked for the same and has not ended, or else ``request``."""
    found = _unfinished(client, request.namespace, request.place)
    if found and now - found.started < RESUMED_FOR and request.same(found.request):
        return replace(found.request, timeout=request.timeout)
    return request


def _unfinished(client: Client, namespace: str, place: str) -> Header | None:
    return unfinished(_journals(Api(client, namespace, Patience()), namespace, place), place)


def _journals(api: Api, namespace: str, place: str) -> ConfigMapShelf:
    return ConfigMapShelf(api, namespace, JOURNAL, owner={GATE_OF_LABEL: place})
