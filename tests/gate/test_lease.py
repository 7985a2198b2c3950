"""One gate at a time works on a wave; a silent one is succeeded."""

import json
import threading
from collections.abc import Callable

import pytest
from typing_extensions import override

from scripts.errors import UnknownError, UsageError
from scripts.gate import lease as leases
from scripts.gate.lease import Holder, Lease
from scripts.gate.request import Clock
from scripts.records.shelf import Document
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
        "run r1 (process 11 on host-a) was the last on wave train-1; waiting 45 s to see whether "
        "it still works"
    )
    assert 45 <= time.passed < 60


def test_who_still_works_keeps_the_wave() -> None:
    shelf = MemoryShelf()
    with lease(shelf, FIRST) as held:
        second = lease(shelf, SECOND, Seconds(held.renew))
        with pytest.raises(UnknownError) as refused:
            second.__enter__()
        assert str(refused.value) == (
            "run r1 (process 11 on host-a) works on wave train-1; let it end, or stop it and run "
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
            "wave train-1 is held by run r2 (process 22 on host-b), so this run stops without a "
            "verdict"
        )
    assert json.loads(shelf.documents()[0].text)["run"] == "r2", "what is another's stays"


def test_who_was_cut_off_asks_before_it_goes_on() -> None:
    shelf, time = MemoryShelf(), Seconds()
    with lease(shelf, FIRST, time) as held:
        [document] = shelf.documents()
        other = {"run": "r2", "host": "host-b", "process": 22, "words": 0}
        assert shelf.replace(document, json.dumps(other))
        held.check()
        time.passed = 25
        with pytest.raises(UnknownError, match="wave train-1 is held by run r2"):
            held.check()


def test_who_cannot_ask_whose_the_wave_is_does_not_go_on() -> None:
    class Away(MemoryShelf):
        @override
        def replace(self, document: Document, text: str) -> bool:
            raise UnknownError("the API is away")

    time = Seconds()
    with lease(Away(), FIRST, time) as held:
        time.passed = 25
        with pytest.raises(UnknownError, match="the API is away"):
            held.check()


def test_a_speaker_that_is_refused_once_speaks_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "SPEAK_SECONDS", 0.001)
    spoke = threading.Event()

    class Refuses(MemoryShelf):
        refused = False

        @override
        def replace(self, document: Document, text: str) -> bool:
            if not self.refused:
                self.refused = True
                raise UsageError("the Kubernetes API refuses")
            spoke.set()
            return super().replace(document, text)

    with lease(Refuses(), FIRST) as held:
        assert spoke.wait(10)
        held.check()


def test_a_lease_that_can_be_neither_taken_nor_read_is_not_waited_for_without_end() -> None:
    class Hides(MemoryShelf):
        @override
        def read(self, name: str) -> None:
            return None

    shelf = Hides()
    shelf.add("train-1", "somebody has taken its labels off")
    with pytest.raises(UnknownError) as stopped:
        lease(shelf, FIRST, Seconds()).__enter__()
    assert str(stopped.value) == (
        "the lease of wave train-1 can neither be taken nor read; delete ConfigMap lease-train-1 "
        "if nobody works on it"
    )


def test_a_lease_that_nobody_can_read_is_unknown() -> None:
    shelf = MemoryShelf()
    shelf.add("train-1", "{")
    with pytest.raises(UnknownError) as stopped:
        lease(shelf, FIRST).__enter__()
    assert str(stopped.value) == (
        "the lease of wave train-1 is not readable; delete ConfigMap lease-train-1 if nobody "
        "works on it"
    )
