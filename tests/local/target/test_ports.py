import socket
from pathlib import Path

import pytest

from scripts.local.target import ports


def test_each_name_gets_the_next_candidate_that_is_free_and_not_taken() -> None:
    chosen = ports.choose(["a", "b"], [2], [1, 2, 3, 4], free=lambda port: port != 1)
    assert chosen == {"a": 3, "b": 4}


def test_ports_are_remembered(tmp_path: Path) -> None:
    first = ports.load_ports(tmp_path / "ports.json")
    assert sorted(first) == sorted(ports.NAMES)
    assert len(set(first.values())) == len(ports.NAMES)
    assert ports.load_ports(tmp_path / "ports.json") == first


def test_a_home_of_an_earlier_version_gets_the_ports_that_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "ports.json"
    file.write_text('{"simulator": 20001}')
    loaded = ports.load_ports(file)
    assert loaded["simulator"] == 20001
    assert sorted(loaded) == sorted(ports.NAMES)


def test_a_port_that_something_listens_on_is_not_free() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not ports.is_free(port)
    assert ports.is_free(port)


def test_a_port_in_use_is_told_with_the_way_out() -> None:
    with pytest.raises(ports.PortInUseError) as caught:
        raise ports.PortInUseError("etcd", 20001)
    assert str(caught.value) == (
        "port 20001 of 127.0.0.1, which this target keeps for etcd, is used by another program;"
        " stop that program, or give up this target's state with `yard local down --wipe` and"
        " start again"
    )
    assert caught.value.exit_code == 2
