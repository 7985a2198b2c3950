"""Runs and promotions are kept, found again, and lost by nobody."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.catalog.floors import GIB
from scripts.baseline.record import Baseline, BasePoint, Ledger, Run
from scripts.baseline.sample import Point
from scripts.baseline.store import KEPT_RUNS, SHELF, BaselineStore
from scripts.errors import UnknownError, UsageError
from scripts.records.shelf import LARGEST
from scripts.verdicts import Verdict
from tests.baseline.fake import MemoryBucket
from tests.baseline.make import NOW, SETTING, days, run, stack, three
from tests.records.api import ConfigMapApi
from tests.records.fake import MemoryShelf

quick = settings(max_examples=60, deadline=None)

words = st.text(max_size=12)
numbers = st.floats(0.001, 1e6)
placements = st.sampled_from(["out", "in"])
times = st.datetimes(NOW.replace(year=2000, tzinfo=None), timezones=st.just(NOW.tzinfo))
points = st.builds(
    Point, size=st.integers(1, 2**40), placement=placements, time_us=numbers, busbw=numbers
)
runs = st.builds(
    Run,
    run=words,
    label=words,
    at=times,
    verdict=st.sampled_from(Verdict),
    reasons=st.lists(words, max_size=2).map(tuple),
    points=st.lists(points, max_size=3).map(tuple),
    log=words,
)
baselines = st.builds(
    Baseline,
    setting=st.just(SETTING),
    points=st.lists(
        st.builds(
            BasePoint,
            size=st.integers(1, 2**40),
            placement=placements,
            time_us=numbers,
            busbw=numbers,
            spread=numbers,
        ),
        max_size=2,
    ).map(tuple),
    runs=st.lists(words, max_size=2).map(tuple),
    logs=st.lists(words, max_size=2).map(tuple),
    at=times,
    by=words,
    why=st.text(min_size=1, max_size=20),
    forced=st.lists(words, max_size=2).map(tuple),
)


def filled(store: BaselineStore) -> BaselineStore:
    for each in three():
        store.keep(SETTING, each)
    return store


@quick
@given(runs, baselines)
def test_what_is_kept_comes_back_as_it_was(made: Run, promoted: Baseline) -> None:
    ledger = Ledger(schema=1, setting=SETTING, runs=(made,), promotions=(promoted,))
    assert Ledger.model_validate_json(ledger.text()) == ledger
    shelf, bucket = MemoryShelf(), MemoryBucket()
    BaselineStore(shelf, bucket).keep(SETTING, made)
    assert BaselineStore(shelf).ledger(SETTING.id).runs == (made,)
    other = MemoryShelf()
    BaselineStore(other, bucket).sync()
    assert BaselineStore(other).ledgers() == BaselineStore(shelf).ledgers()


def test_a_run_is_kept_once_however_often_a_resumed_gate_keeps_it() -> None:
    store = BaselineStore(MemoryShelf(), MemoryBucket())
    for _ in range(3):
        store.keep(SETTING, run())
    assert len(store.ledger(SETTING.id).runs) == 1


def test_settings_do_not_mix() -> None:
    store = filled(BaselineStore(MemoryShelf()))
    store.keep(stack(nccl="2.31.0"), run("r9"))
    assert [len(each.runs) for each in store.ledgers()] in ([1, 3], [3, 1])
    assert store.baselines(SETTING) == (None, ())


def test_gates_that_keep_runs_at_the_same_time_lose_none() -> None:
    api, bucket = ConfigMapApi(), MemoryBucket()
    made = [run(f"r{n}", at=days(n)) for n in range(24)]

    def keep(each: Run) -> None:
        BaselineStore(api.shelf(SHELF), bucket).keep(SETTING, each)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(keep, made))
    assert BaselineStore(api.shelf(SHELF)).ledger(SETTING.id).runs == tuple(made)
    assert len(bucket.held) == 24


def test_a_promotion_holds_and_is_kept_in_the_bucket_as_well() -> None:
    bucket = MemoryBucket()
    store = filled(BaselineStore(MemoryShelf(), bucket))
    made = store.promote(SETTING.id, by="me", why="first good wave", now=days(1))
    assert store.ledger(SETTING.id).baseline == made
    assert store.baselines(SETTING) == (made, ())
    assert store.baselines(stack(nccl="2.31.0")) == (None, (made,))
    assert [key for key in bucket.held if key.startswith("promotions/")] == [
        f"promotions/{SETTING.id}/{made.id}.json"
    ]


def test_named_runs_are_taken_and_others_left() -> None:
    store = filled(BaselineStore(MemoryShelf()))
    for name in ("a", "b", "c"):
        store.keep(SETTING, run(name, scale=1.1, at=days(1)))
    wanted = [each.id for each in store.ledger(SETTING.id).runs if each.run in {"a", "b", "c"}]
    assert store.promote(SETTING.id, runs=wanted, by="me", why="x", now=NOW).runs == tuple(wanted)
    with pytest.raises(UsageError) as caught:
        store.promote(SETTING.id, runs=["r7"], by="me", why="x", now=NOW)
    assert str(caught.value) == (
        f"r7: no such run of this setting; yard baseline show {SETTING.id}"
    )


def test_of_two_promotions_at_the_same_time_the_later_is_held_against_the_earlier() -> None:
    api = ConfigMapApi()
    store = filled(BaselineStore(api.shelf(SHELF)))
    faster = [run(f"f{n}", scale=1.05 + n / 1000) for n in range(3)]
    for each in faster:
        store.keep(SETTING, each)
    meddled: list[Baseline] = []

    def meddle(line: str) -> None:
        if line.startswith("PATCH") and not meddled:
            api.before = lambda _line: None
            theirs = BaselineStore(api.shelf(SHELF))
            chosen = [each.id for each in faster]
            meddled.append(theirs.promote(SETTING.id, runs=chosen, by="you", why="y", now=NOW))

    api.before = meddle
    slow = [each.id for each in three()]
    with pytest.raises(UsageError, match="it is slower than the baseline of 2026-12-01"):
        store.promote(SETTING.id, runs=slow, by="me", why="x", now=NOW)
    assert store.ledger(SETTING.id).promotions == tuple(meddled)


def test_a_later_promotion_holds_whatever_the_clocks_say() -> None:
    store = filled(BaselineStore(MemoryShelf()))
    first = store.promote(SETTING.id, by="me", why="x", now=days(5))
    second = store.promote(SETTING.id, by="me", why="y", now=days(1))
    assert second.at > first.at
    assert store.ledger(SETTING.id).baseline == second


def test_a_promotion_whose_answer_was_lost_is_made_once() -> None:
    api = ConfigMapApi()
    store = filled(BaselineStore(api.shelf(SHELF)))
    lost: list[str] = []

    def lose(line: str) -> bool:
        if line.startswith("PATCH") and not lost:
            lost.append(line)
            return True
        return False

    api.lose = lose
    made = store.promote(SETTING.id, by="me", why="x", now=NOW)
    assert len(lost) == 1
    assert store.ledger(SETTING.id).promotions == (made,)


def test_a_new_cluster_learns_everything_from_the_bucket() -> None:
    bucket = MemoryBucket()
    old = filled(BaselineStore(MemoryShelf(), bucket))
    old.promote(SETTING.id, by="me", why="x", now=days(1))
    old.keep(stack(nccl="2.31.0"), run("r9"))
    new = BaselineStore(MemoryShelf(), bucket)
    assert new.sync() == (2, 4)
    assert new.ledgers() == old.ledgers()
    assert new.sync() == (2, 4), "a second time changes nothing"
    assert new.ledgers() == old.ledgers()


def test_what_the_bucket_missed_is_brought_to_it_later() -> None:
    shelf, bucket = MemoryShelf(), MemoryBucket()
    without = filled(BaselineStore(shelf))
    without.promote(SETTING.id, by="me", why="x", now=days(1))
    BaselineStore(shelf, bucket).sync()
    assert len(bucket.held) == 4
    with pytest.raises(UsageError) as caught:
        without.sync()
    assert str(caught.value) == (
        "there is no bucket to bring together with the index; give --bucket"
    )


def test_a_bucket_that_is_away_loses_no_run_and_is_asked_once() -> None:
    bucket = MemoryBucket()
    bucket.away = True
    store = BaselineStore(MemoryShelf(), bucket)
    runs = [(SETTING, run("r1")), (SETTING, run("r2"))]
    assert store.keep_all(runs) == (f"cannot write runs/{SETTING.id}/r1.r0.r1xxxx.json: away",)
    with pytest.raises(UnknownError):
        store.keep(SETTING, run("r3"))
    bucket.away = False
    assert store.sync() == (1, 3)


def test_an_index_that_takes_nothing_loses_no_run() -> None:
    class Full(MemoryShelf):
        def add(self, name: str, text: str) -> bool:  # noqa: ARG002 - the protocol's
            raise UnknownError(f"{name} is refused")

    bucket = MemoryBucket()
    runs = [(SETTING, run("r1")), (SETTING, run("r2"))]
    assert BaselineStore(Full(), bucket).keep_all(runs) == (f"{SETTING.id} is refused",)
    assert BaselineStore(MemoryShelf(), bucket).sync() == (1, 2)


def test_the_index_keeps_the_latest_runs_and_stays_below_a_config_map() -> None:
    store, bucket = BaselineStore(MemoryShelf()), MemoryBucket()
    for n in range(KEPT_RUNS + 3):
        store.keep(SETTING, run(f"r{n}", at=days(n)))
    kept = store.ledger(SETTING.id).runs
    assert (len(kept), kept[0].run, kept[-1].run) == (KEPT_RUNS, "r3", f"r{KEPT_RUNS + 2}")
    wide = {GIB + n: 300.0 for n in range(1000)}
    shelf = MemoryShelf()
    for n in range(8):
        BaselineStore(shelf, bucket).keep(SETTING, run(f"r{n}", wide, at=days(n)))
    [document] = shelf.documents()
    assert len(document.text.encode()) <= LARGEST
    assert BaselineStore(shelf).ledger(SETTING.id).runs[-1].run == "r7"
    assert len(bucket.held) == 8


@pytest.mark.parametrize(
    ("name", "what"),
    [("zzzz", "no setting"), ("a", "no setting"), ("", "no setting")],
)
def test_an_id_must_name_one_setting(name: str, what: str) -> None:
    store = filled(BaselineStore(MemoryShelf()))
    assert store.ledger(SETTING.id[:4]).setting == SETTING
    with pytest.raises(UsageError) as caught:
        store.ledger(name)
    assert str(caught.value) == f"{name!r} names {what} that was measured; yard baseline list"


def test_a_ledger_that_cannot_be_read_is_named() -> None:
    shelf = MemoryShelf()
    shelf.add(SETTING.id, '{"schema": 7}')
    with pytest.raises(UnknownError) as caught:
        BaselineStore(shelf).ledgers()
    assert str(caught.value) == (
        f"ConfigMap baseline-{SETTING.id} cannot be read (schema: Input should be 1); restore or "
        "delete it, and bring the rest back with yard baseline sync"
    )
