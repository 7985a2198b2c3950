import stat
from pathlib import Path

from scripts.local.home import Home, find_home


def test_the_environment_names_the_home() -> None:
    assert find_home({"TRAINYARD_HOME": "/some/where"}) == Home(Path("/some/where"))


def test_without_a_name_it_is_the_users_state_folder() -> None:
    assert find_home({}).root.parts[-2:] == ("trainyard", "local")


def test_only_its_user_may_look_into_a_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make()
    home.make()
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700
    assert {path.name for path in home.root.iterdir()} == {
        "bin",
        "config",
        "logs",
        "pids",
        "pki",
        "pulumi",
        "state",
    }
