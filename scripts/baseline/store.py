"""Runs and baselines as they are kept: an index in the cluster, and a bucket for good.

Each setting has one document in the index, with its latest runs and all its promotions. The bucket
has every run and every promotion as an object of its own, written once. Both only grow, so two that
know different things are brought together by taking all of both.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict

from scripts.baseline.bucket import Bucket
from scripts.baseline.promote import candidates, promote
from scripts.baseline.record import Baseline, Ledger, Run
from scripts.baseline.setting import Setting
from scripts.errors import UnknownError, UsageError
from scripts.records.documents import read_document
from scripts.records.shelf import LARGEST, Shelf, change

__all__ = ["KEPT_RUNS", "SHELF", "BaselineStore", "baselines_of"]

D = TypeVar("D", bound=BaseModel)

SHELF: Final = "baseline"

KEPT_RUNS: Final = 100
"""Latest runs of a setting in the index; the bucket has them all."""

LEAST_PREFIX: Final = 4
"""Letters of an id that name it, as long as no other begins so."""


class _StoredRun(BaseModel):
    """A run in the bucket, with the setting that its key only names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    setting: Setting
    run: Run


class BaselineStore:
    """Keeps runs, promotes baselines, finds both again."""

    def __init__(self, shelf: Shelf, bucket: Bucket | None = None) -> None:
        self._shelf = shelf
        self._bucket = bucket

    def ledgers(self) -> tuple[Ledger, ...]:
        """Return what is known of every setting."""
        return tuple(
            _read(Ledger, document.text, f"ConfigMap {SHELF}-{document.name}")
            for document in self._shelf.documents()
        )

    def ledger(self, name: str) -> Ledger:
        """Return what is known of the setting with this id, or the beginning of one.

        Raises
        ------
        UsageError
            If there is none, or more than one.
        """
        found = [
            each
            for each in self.ledgers()
            if each.setting.id == name
            or (len(name) >= LEAST_PREFIX and each.setting.id.startswith(name))
        ]
        if len(found) == 1:
            return found[0]
        what = "no" if not found else f"{len(found)} settings, not one,"
        raise UsageError(f"{name!r} names {what} setting that was measured; yard baseline list")

    def baselines(self, setting: Setting) -> tuple[Baseline | None, tuple[Baseline, ...]]:
        """Return the baseline of a setting, and those of its shape on other stacks."""
        return baselines_of(self.ledgers(), setting)

    def keep(self, setting: Setting, run: Run) -> None:
        """Keep a run; a second time changes nothing.

        Raises
        ------
        UnknownError
            If the index or the bucket does not take it; then the other one has it.
        """
        if problems := self.keep_all([(setting, run)]):
            raise UnknownError("; ".join(problems))

    def keep_all(self, runs: Iterable[tuple[Setting, Run]]) -> tuple[str, ...]:
        """Keep runs in index and bucket; returns why one of the two did not take all of them.

        Neither waits for the other: what only one of them has, :meth:`sync` brings to both. One
        that refused once is not asked again, as each question may take its whole time-out.
        """
        problems: list[str] = []
        index, bucket = True, self._bucket
        for setting, run in runs:
            if index:
                try:
                    self._merge(setting, [run], [])
                except UnknownError as error:
                    index = False
                    problems.append(str(error))
            if bucket is not None:
                text = _StoredRun(setting=setting, run=run).model_dump_json(indent=1)
                try:
                    bucket.put(_run_key(setting, run), text)
                except UnknownError as error:
                    bucket = None
                    problems.append(str(error))
        return tuple(problems)

    def promote(
        self,
        name: str,
        *,
        runs: Iterable[str] = (),
        by: str,
        why: str,
        now: datetime,
        force: bool = False,
    ) -> Baseline:
        """Make a baseline of named runs of a setting, or of its latest accepted ones.

        Somebody may promote another one at the same time; then all rules are held against that.

        Raises
        ------
        UsageError
            If anything speaks against it.
        """
        setting, wanted = self.ledger(name).setting, tuple(runs)
        made: list[Baseline] = []

        def edit(text: str | None) -> str | None:
            here = _read(Ledger, text or "", f"ConfigMap {SHELF}-{setting.id}")
            if made and made[-1] in here.promotions:
                return text  # the answer to our own change was lost
            before = here.baseline or self._last(setting)
            # The last promotion holds, so ours must be later, whatever the clocks say.
            later = here.baseline.at + timedelta(seconds=1) if here.baseline else now
            baseline = promote(
                setting,
                _chosen(here, wanted) if wanted else candidates(here.runs),
                before=before,
                by=by,
                why=why,
                at=max(now, later),
                force=force,
            )
            made.append(baseline)
            return _fit(here.model_copy(update={"promotions": (*here.promotions, baseline)}))

        change(self._shelf, setting.id, edit)
        baseline = made[-1]
        if self._bucket is not None:
            self._bucket.put(_promotion_key(baseline), baseline.model_dump_json(indent=1))
        return baseline

    def sync(self) -> tuple[int, int]:
        """Bring index and bucket together; returns how many settings and runs the bucket has."""
        if self._bucket is None:
            raise UsageError("there is no bucket to bring together with the index; give --bucket")
        for ledger in self.ledgers():
            for run in ledger.runs:
                stored = _StoredRun(setting=ledger.setting, run=run)
                self._bucket.put(_run_key(ledger.setting, run), stored.model_dump_json(indent=1))
            for baseline in ledger.promotions:
                self._bucket.put(_promotion_key(baseline), baseline.model_dump_json(indent=1))
        runs = list(self._all(self._bucket, "runs/", _StoredRun))
        promotions = list(self._all(self._bucket, "promotions/", Baseline))
        settings = {each.setting.id: each.setting for each in (*runs, *promotions)}
        for name, setting in settings.items():
            self._merge(
                setting,
                [each.run for each in runs if each.setting.id == name],
                [each for each in promotions if each.setting.id == name],
            )
        return len(settings), len(runs)

    def _last(self, setting: Setting) -> Baseline | None:
        """Return the last baseline of the same shape on any other stack."""
        _, others = self.baselines(setting)
        return max(others, key=lambda each: each.at, default=None)

    def _merge(self, setting: Setting, runs: list[Run], promotions: list[Baseline]) -> None:
        def edit(text: str | None) -> str:
            empty = Ledger(schema=1, setting=setting)
            here = _read(Ledger, text, f"ConfigMap {SHELF}-{setting.id}") if text else empty
            return _fit(
                here.model_copy(
                    update={
                        "runs": _union(here.runs, runs, lambda each: each.id, lambda each: each.at),
                        "promotions": _union(
                            here.promotions, promotions, lambda each: each.id, lambda each: each.at
                        ),
                    }
                )
            )

        change(self._shelf, setting.id, edit)

    @staticmethod
    def _all(bucket: Bucket, prefix: str, model: type[D]) -> Iterator[D]:
        for key in bucket.keys(prefix):
            yield _read(model, bucket.get(key), f"{key} of the bucket")


def baselines_of(
    ledgers: Iterable[Ledger], setting: Setting
) -> tuple[Baseline | None, tuple[Baseline, ...]]:
    """Return the baseline of a setting, and those of its shape on other stacks."""
    same = [each for each in ledgers if each.setting.shape == setting.shape]
    own = next((each.baseline for each in same if each.setting == setting), None)
    others = (each.baseline for each in same if each.setting != setting)
    return own, tuple(each for each in others if each is not None)


def _run_key(setting: Setting, run: Run) -> str:
    return f"runs/{setting.id}/{run.id}.json"


def _promotion_key(baseline: Baseline) -> str:
    return f"promotions/{baseline.setting.id}/{baseline.id}.json"


def _union(
    old: Iterable[D], new: Iterable[D], name: Callable[[D], str], at: Callable[[D], datetime]
) -> tuple[D, ...]:
    """Return all of both, each once, oldest first; what was there first stays as it is."""
    everything = sorted([*old, *new], key=name)
    once = (next(same) for _, same in groupby(everything, key=name))
    return tuple(sorted(once, key=lambda each: (at(each), name(each))))


def _chosen(ledger: Ledger, wanted: tuple[str, ...]) -> tuple[Run, ...]:
    known = {run.id: run for run in ledger.runs}
    if missing := [name for name in wanted if name not in known]:
        raise UsageError(
            f"{', '.join(missing)}: no such run of this setting; yard baseline show "
            f"{ledger.setting.id}"
        )
    return tuple(known[name] for name in dict.fromkeys(wanted))


def _fit(ledger: Ledger) -> str:
    """Write a ledger, without its oldest runs where it would not fit a ConfigMap."""
    runs = ledger.runs[-KEPT_RUNS:]
    while True:
        text = ledger.model_copy(update={"runs": runs}).text()
        if len(text.encode()) <= LARGEST or not runs:
            return text
        runs = runs[max(1, len(runs) // 10) :]


def _read(model: type[D], text: str, where: str) -> D:
    then = "; restore or delete it, and bring the rest back with yard baseline sync"
    return read_document(model, text, where, then)
