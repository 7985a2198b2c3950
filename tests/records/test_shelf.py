from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from scripts.errors import UnknownError
from scripts.records.shelf import LARGEST, Document, Shelf, change
from tests.records.api import ConfigMapApi
from tests.records.fake import MemoryShelf

SHELVES: list[Callable[[], Shelf]] = [MemoryShelf, lambda: ConfigMapApi().shelf("kind")]


def append(word: str) -> Callable[[str | None], str]:
    return lambda text: f"{text or ''}{word} "


@pytest.fixture(params=SHELVES, ids=["memory", "ConfigMaps"])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    made: Shelf = request.param()
    return made


def test_a_document_is_kept_read_changed_and_removed(shelf: Shelf) -> None:
    assert shelf.read("a") is None
    assert shelf.add("a", "one")
    assert not shelf.add("a", "two"), "what is there is never overwritten"
    first = shelf.read("a")
    assert first is not None
    assert (first.name, first.text) == ("a", "one")
    assert shelf.replace(first, "three")
    assert [each.text for each in shelf.documents()] == ["three"]
    shelf.remove("a")
    shelf.remove("a")
    assert shelf.documents() == []


def test_a_change_of_what_somebody_else_changed_is_refused(shelf: Shelf) -> None:
    shelf.add("a", "one")
    mine = shelf.read("a")
    assert mine is not None
    assert shelf.replace(mine, "theirs")
    assert not shelf.replace(mine, "mine")
    shelf.remove("a")
    assert not shelf.replace(mine, "mine")
    assert shelf.documents() == []


def test_many_writers_of_one_document_lose_nothing(shelf: Shelf) -> None:
    words = [f"w{index}" for index in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda word: change(shelf, "a", append(word)), words))
    found = shelf.read("a")
    assert found is not None
    assert sorted(found.text.split()) == sorted(words)


def test_an_edit_that_wants_nothing_writes_nothing() -> None:
    api = ConfigMapApi()
    shelf = api.shelf("kind")
    assert change(shelf, "a", lambda _text: None) is None
    shelf.add("a", "one")
    assert change(shelf, "a", lambda text: text) == "one"
    assert [line for line in api.requests if not line.startswith("GET")] == ["POST"]


def test_kinds_do_not_meet() -> None:
    api = ConfigMapApi()
    api.shelf("one").add("a", "1")
    api.shelf("two").add("a", "2")
    assert [each.text for each in api.shelf("one").documents()] == ["1"]
    assert sorted(api.held) == ["one-a", "two-a"]


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_change_whose_answer_is_lost_is_made_once(method: str) -> None:
    api = ConfigMapApi()
    shelf = api.shelf("kind")
    shelf.add("b", "")
    lost: list[str] = []

    def lose(line: str) -> bool:
        if line.startswith(method) and not lost:
            lost.append(line)
            return True
        return False

    api.lose = lose

    def once(text: str | None) -> str:
        return text if text and "word" in text else f"{text or ''}word "

    name = "a" if method == "POST" else "b"
    assert change(shelf, name, once) == "word "
    assert len(lost) == 1


def test_others_without_end_stop_the_change_and_nothing_is_written() -> None:
    api = ConfigMapApi()
    shelf = api.shelf("kind")
    shelf.add("a", "")
    count = iter(range(1000))

    def meddle(line: str) -> None:
        if line.startswith("PATCH"):
            api._keep("kind-a", {**api.held["kind-a"], "data": {"record.json": f"{next(count)}"}})

    api.before = meddle
    with pytest.raises(UnknownError) as caught:
        change(shelf, "a", append("mine"))
    assert str(caught.value) == (
        "a was changed by others 50 times in a row, so nothing was written; try again"
    )
    assert api.held["kind-a"]["data"] == {"record.json": "49"}


def test_a_config_map_without_its_text_is_named() -> None:
    api = ConfigMapApi()
    shelf = api.shelf("kind")
    shelf.add("a", "one")
    api.held["kind-a"]["data"] = {}
    with pytest.raises(UnknownError) as caught:
        shelf.documents()
    assert str(caught.value) == (
        "ConfigMap kind-a holds no record.json; somebody has changed it: restore it, or delete it "
        "and what it says is forgotten"
    )


def test_what_no_config_map_holds_is_refused_before_it_is_sent() -> None:
    api = ConfigMapApi()
    shelf = api.shelf("kind")
    with pytest.raises(UnknownError) as caught:
        shelf.add("a", "ä" * LARGEST)
    assert str(caught.value) == f"a has {2 * LARGEST} bytes, and {LARGEST} fit a ConfigMap"
    with pytest.raises(UnknownError):
        shelf.replace(Document("a", "", "1"), "x" * (LARGEST + 1))
    assert api.requests == []
