"""One gate at a time works on a wave; a silent one is succeeded."""

import json
from collections.abc import Callable

import pytest

from scripts.errors import UnknownError
from scripts.gate.lease import Holder, Lease
from scripts.gate.request import Clock
from tests.records.fake import MemoryShelf

FIRST, SECOND = Holder("r1", "host-a", 11), Holder("r2", "host-b", 22)


class Seconds:
    """A clock that goes on by sleeping; something may happen at each sleep."""

    def __init__(self, happens: Callable[[], object] = lambda: None) -> None:
        self.passed = 0.0
        self._happens = happens

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        self._happens()

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.passed, sleep=self.sleep)


def lease(
    shelf: MemoryShelf, holder: Holder, time: Seconds | None = None, said: list[str] | None = None
) -> Lease:
    lines = [] if said is None else said
    return Lease(shelf, "train-1", holder, lines.append, (time or Seconds()).clock())


def test_a_free_wave_is_taken_and_given_back() -> None:
    shelf = MemoryShelf()
    with lease(shelf, FIRST) as held:
        [document] = shelf.documents()
        told = json.loads(document.text)
        assert told == {"run": "r1", "host": "host-a", "process": 11, "words": 0}
        held.check()
    assert shelf.documents() == []


def test_who_is_killed_is_succeeded_once_it_has_been_silent() -> None:
    shelf, said, time = MemoryShelf(), list[str](), Seconds()
    lease(shelf, FIRST)._take()
    with lease(shelf, SECOND, time, said):
        assert json.loads(shelf.documents()[0].text)["run"] == "r2"
    [line] = said
    assert line == (
        "run r1 (process 11 on host-a) was the last on this wave; waiting 45 s to see whether it "
        "still works"
    )
    assert 45 <= time.passed < 60


def test_who_still_works_keeps_the_wave() -> None:
    shelf = MemoryShelf()
    with lease(shelf, FIRST) as held:
        second = lease(shelf, SECOND, Seconds(held.renew))
        with pytest.raises(UnknownError) as refused:
            second.__enter__()
        assert str(refused.value) == (
            "run r1 (process 11 on host-a) works on this wave; let it end, or stop it and run "
            "this again"
        )


def test_who_lost_the_wave_stops_at_its_next_word() -> None:
    shelf = MemoryShelf()
    with lease(shelf, FIRST) as held:
        [document] = shelf.documents()
        other = {"run": "r2", "host": "host-b", "process": 22, "words": 0}
        assert shelf.replace(document, json.dumps(other))
        held.renew()
        with pytest.raises(UnknownError) as stopped:
            held.check()
        assert str(stopped.value) == (
            "the wave is held by run r2 (process 22 on host-b), so this gate stops without a "
            "verdict"
        )
    assert json.loads(shelf.documents()[0].text)["run"] == "r2", "what is another's stays"


def test_a_lease_that_nobody_can_read_is_unknown() -> None:
    shelf = MemoryShelf()
    shelf.add("train-1", "{")
    with pytest.raises(UnknownError) as stopped:
        lease(shelf, FIRST).__enter__()
    assert str(stopped.value) == (
        "the lease of wave train-1 is not readable; delete ConfigMap lease-train-1 if no gate "
        "works on it"
    )
