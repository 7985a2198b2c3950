from pathlib import Path

import pytest

from scripts.local.home import Home
from scripts.local.target import ports
from scripts.local.target.part import KUEUE_OBJECTS, MPI_OBJECTS, Part, part_environment
from scripts.local.target.parts import ORDER, parts
from scripts.local.target.pki import Pki


class FakeTools:
    kueue_module = mpi_module = kwok_module = Path("/module")

    def path(self, name: str) -> Path:
        return Path("/bin") / name

    def version(self, _name: str) -> str:
        return "v1"


@pytest.fixture
def all_parts() -> tuple[Part, ...]:
    home = Home(Path("/home"))
    numbers = {name: 20000 + count for count, name in enumerate(ports.NAMES)}
    return parts(home, FakeTools(), numbers, Pki(home.pki))


def test_the_parts_are_those_of_the_order(all_parts: tuple[Part, ...]) -> None:
    assert tuple(part.name for part in all_parts) == ORDER


def test_each_part_stands_after_those_it_needs(all_parts: tuple[Part, ...]) -> None:
    seen = {KUEUE_OBJECTS, MPI_OBJECTS}
    for part in all_parts:
        assert set(part.needs) <= seen, part.name
        seen.add(part.name)


def test_no_part_listens_beyond_this_machine(all_parts: tuple[Part, ...]) -> None:
    for part in all_parts:
        text = " ".join(part.argv)
        assert "0.0.0.0" not in text  # noqa: S104 - looked for, not bound
        if part.name.startswith("kube-"):
            assert "--bind-address=127.0.0.1" in part.argv
        if part.name == "mpi-operator":
            assert f"-health-address=127.0.0.1:{part.port}" in part.argv


def test_no_key_stands_on_a_command_line(all_parts: tuple[Part, ...]) -> None:
    words = [word for part in all_parts for word in part.argv]
    assert [word for word in words if "BEGIN" in word or "password" in word] == []


def test_what_stands_in_is_told(all_parts: tuple[Part, ...]) -> None:
    stand_ins = [part.name for part in all_parts if not part.real]
    assert stand_ins == ["simulator", "kwok", "kubelet", "nodes"]


def test_a_part_has_another_fingerprint_when_a_file_changed(tmp_path: Path) -> None:
    def fingerprint(version: str = "v1") -> str:
        part = Part("a", "", True, version, ("/bin/a",), None, (), lambda: None, (tmp_path / "f",))
        return part.fingerprint()

    (tmp_path / "f").write_text("one")
    first = fingerprint()
    assert fingerprint() == first
    assert fingerprint("v2") != first
    (tmp_path / "f").write_text("two")
    assert fingerprint() != first


def test_a_part_gets_no_credentials_and_no_proxy() -> None:
    given = {"PATH": "/bin", "HOME": "/root", "AWS_SECRET_ACCESS_KEY": "x", "HTTPS_PROXY": "y"}
    assert sorted(part_environment(given)) == ["HOME", "PATH", "PYTHONPATH", "PYTHONUNBUFFERED"]
