from pathlib import Path

import pytest

from scripts.errors import UsageError
from scripts.local.home import Home
from scripts.local.stacks import Place, place_of, places, seed_project, working_copy

SITE = """\
config:
  trainyard:site:
    account: "{account}"
    region: us-east-1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for stack, account in (("dev", "111122223333"), ("local", "000000000000")):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text(SITE.format(account=account))
    (tmp_path / "Pulumi.empty.yaml").write_text("")
    (tmp_path / "Pulumi.yaml").write_text("name: trainyard\nruntime: python\n")
    return tmp_path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


def test_a_stack_file_names_its_account_and_region(folder: Path) -> None:
    assert place_of(folder / "Pulumi.dev.yaml") == Place("111122223333", "us-east-1")


def test_the_places_are_those_of_all_stacks(folder: Path) -> None:
    (folder / "Pulumi.twin.yaml").write_text(SITE.format(account="111122223333"))
    assert places(folder) == [
        Place("111122223333", "us-east-1"),
        Place("000000000000", "us-east-1"),
    ]


def test_a_stack_that_does_not_exist_is_told_with_those_that_do(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        place_of(folder / "Pulumi.pord.yaml")
    assert str(caught.value) == (
        f"there is no stack 'pord', because there is no {folder}/Pulumi.pord.yaml;"
        " there are: dev, empty, local"
    )


def test_a_stack_without_an_account_is_told(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        place_of(folder / "Pulumi.empty.yaml")
    assert str(caught.value) == (
        f"{folder}/Pulumi.empty.yaml names no account and region; set `account` and `region` in"
        " its `trainyard:site`"
    )


def test_pulumi_writes_to_a_copy_that_is_made_anew(folder: Path, home: Home) -> None:
    original = folder / "Pulumi.dev.yaml"
    copy = working_copy(home, original)
    assert copy == home.stacks / "Pulumi.dev.yaml"
    copy.write_text(copy.read_text() + "encryptionsalt: v1:abc\n")
    assert working_copy(home, original).read_text() == SITE.format(account="111122223333")


def test_a_stack_is_made_beside_the_repository(folder: Path, home: Home) -> None:
    seed = seed_project(home, folder)
    assert [path.name for path in seed.iterdir()] == ["Pulumi.yaml"]
    assert (seed / "Pulumi.yaml").read_text() == "name: trainyard\nruntime: python\n"


def test_a_working_copy_leaves_out_the_salt_of_another_state(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make()
    original = tmp_path / "Pulumi.local.yaml"
    original.write_text("config: {}\nencryptionsalt: v1:abc\n")
    assert working_copy(home, original).read_text() == "config: {}\n"
    assert original.read_text() == "config: {}\nencryptionsalt: v1:abc\n"
