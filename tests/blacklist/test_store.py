from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.blacklist.entry import MOST_GPUS, REASON_LENGTH, Cleared, Entry, Evidence, Gpu
from scripts.blacklist.policy import Cause
from scripts.blacklist.sightings import sightings
from scripts.blacklist.store import SHELF, BlacklistStore
from scripts.errors import UnknownError, UsageError
from scripts.records.shelf import LARGEST
from tests.blacklist.make import NOW, days, entry, gated, gpu
from tests.records.api import ConfigMapApi
from tests.records.fake import MemoryShelf

quick = settings(max_examples=60, deadline=None)

words = st.text(max_size=20)
times = st.datetimes(NOW.replace(year=2000, tzinfo=None), timezones=st.just(NOW.tzinfo))
entries = st.builds(
    Entry,
    schema=st.just(1),
    cause=st.sampled_from(Cause),
    reason=st.text(min_size=1, max_size=REASON_LENGTH),
    instance_id=words,
    gpus=st.lists(st.builds(Gpu, serial=words, uuid=words), max_size=3).map(tuple),
    evidence=st.builds(
        Evidence,
        run=words,
        check=words,
        numbers=st.dictionaries(
            words, st.floats(allow_nan=False, allow_infinity=False), max_size=3
        ),
        log=words,
        report=words,
    ),
    node=words,
    by=words,
    at=times,
    until=st.none() | times,
    cleared=st.none() | st.builds(Cleared, at=times, by=words, reason=st.just("mended")),
)


@quick
@given(entries)
def test_an_entry_comes_back_as_it_was_put_there(made: Entry) -> None:
    shelf = MemoryShelf()
    BlacklistStore(shelf).add(made, keep_until=True)
    assert BlacklistStore(shelf).read().entries == (made,)


def test_the_largest_entry_is_far_below_what_a_config_map_holds() -> None:
    made = entry(*range(MOST_GPUS)).model_copy(update={"reason": "ä" * REASON_LENGTH})
    assert len(made.text().encode()) < LARGEST / 50


def test_gates_that_write_at_the_same_time_lose_nothing() -> None:
    api = ConfigMapApi()
    made = [entry(index, run=f"run-{index}") for index in range(32)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: BlacklistStore(api.shelf(SHELF)).add(each), made))
    assert {each.id for each in BlacklistStore(api.shelf(SHELF)).read().entries} == {
        each.id for each in made
    }


def test_a_gate_that_resumes_adds_nothing_twice_and_brings_nothing_back() -> None:
    store = BlacklistStore(MemoryShelf())
    verdict, checks = gated(14, {"node-05": {"link"}})
    found = sightings(verdict, checks, NOW)
    [first] = store.add(*found)
    assert first.until == NOW + timedelta(days=30)
    cleared = store.clear(first, Cleared(at=days(1), by="me", reason="cable replaced"))
    [again] = store.add(*sightings(verdict, checks, days(2)))
    assert again == cleared
    assert store.read().entries == (cleared,)


def test_the_same_hardware_a_third_time_is_kept_out_for_ever() -> None:
    store = BlacklistStore(MemoryShelf())
    for number in range(3):
        at = days(20 * number)
        [last] = store.add(entry(1, instance=f"i-0000000{number}", at=at, run=f"r{number}"))
    assert (last.repeats, last.until) == (2, None)


def test_clearing_is_kept_with_who_and_why_and_only_once() -> None:
    store = BlacklistStore(MemoryShelf())
    [made] = store.add(entry(1))
    mine = Cleared(at=days(1), by="me", reason="host replaced")
    assert store.clear(made, mine).cleared == mine
    assert store.clear(made, mine).cleared == mine, "as after an answer that was lost"
    with pytest.raises(UsageError) as caught:
        store.clear(made, Cleared(at=days(2), by="you", reason="other"))
    assert str(caught.value) == (
        f"entry {made.id} was cleared before: host replaced (me, 2026-12-02)"
    )


def test_an_entry_that_is_gone_cannot_be_cleared() -> None:
    with pytest.raises(UsageError) as caught:
        BlacklistStore(MemoryShelf()).clear(entry(1), Cleared(at=NOW, by="me", reason="x"))
    assert str(caught.value) == (f"entry {entry(1).id} is no longer there; yard blacklist list")


def test_a_clear_and_another_change_at_the_same_time_both_stand() -> None:
    api = ConfigMapApi()
    store = BlacklistStore(api.shelf(SHELF))
    [made] = store.add(entry(1))
    meddled: list[str] = []

    def meddle(line: str) -> None:
        if line.startswith("PATCH") and not meddled:
            meddled.append(line)
            name = f"{SHELF}-{made.id}"
            text = made.model_copy(update={"node": "written in between"}).text()
            api._keep(name, {**api.held[name], "data": {"record.json": text}})

    api.before = meddle
    done = store.clear(made, Cleared(at=NOW, by="me", reason="x"))
    assert (done.node, done.cleared is not None) == ("written in between", True)
    assert store.read().entries == (done,)


def test_what_is_over_for_a_year_is_forgotten_and_nothing_else() -> None:
    store = BlacklistStore(MemoryShelf())
    cleared = Cleared(at=days(-400), by="me", reason="x")
    old = entry(1, at=days(-500), until=days(-400))
    gone = entry(2, at=days(-500)).model_copy(update={"cleared": cleared})
    ever = entry(3, at=days(-500))
    recent = entry(4, at=days(-50), until=days(-20))
    store.add(old, gone, ever, recent, keep_until=True)
    store.add(entry(5))
    assert {each.gpus[0] for each in store.read().entries} == {gpu(3), gpu(4), gpu(5)}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "the whole: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ('{"schema": 2}', "schema: Input should be 1"),
    ],
)
def test_an_entry_that_cannot_be_read_lets_nobody_slip_through(text: str, what: str) -> None:
    shelf = MemoryShelf()
    shelf.add("4f1c0a9be2d7", text)
    with pytest.raises(UnknownError) as caught:
        BlacklistStore(shelf).read()
    assert str(caught.value) == (
        f"entry 4f1c0a9be2d7 of the blacklist cannot be read ({what}), so nobody knows whom it "
        "keeps out; restore or delete ConfigMap blacklist-4f1c0a9be2d7"
    )
