import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.errors import UsageError
from scripts.local.env import environment, exports
from scripts.local.home import Home
from scripts.local.stacks import Place
from scripts.local.target import process
from scripts.local.target.files import write_json

PLACE = Place("111122223333", "us-west-2")


class FakeTools:
    def environment(self, pulumi_home: Path, path: str) -> dict[str, str]:
        return {"PATH": f"/tools:{path}", "PULUMI_HOME": str(pulumi_home)}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    home = Home(tmp_path)
    home.make()
    write_json(home.ports, {"simulator": 20001})
    monkeypatch.setattr(process, "find", lambda _home, name: name)
    return home


def test_the_environment_points_everything_at_the_target(home: Home) -> None:
    found = environment(home, FakeTools(), PLACE, {"PATH": "/usr/bin"})
    assert found == {
        "PATH": f"/tools:{Path(sys.executable).parent}:/usr/bin",
        "PULUMI_HOME": f"{home.root}/pulumi/home",
        "PULUMI_BACKEND_URL": f"file://{home.root}/pulumi/backend?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": f"{home.root}/pulumi/passphrase",
        "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:20001",
        "AWS_ACCESS_KEY_ID": "EMBEDDED111122223333",
        "AWS_SECRET_ACCESS_KEY": "embedded",
        "AWS_REGION": "us-west-2",
        "AWS_DEFAULT_REGION": "us-west-2",
        "AWS_SESSION_TOKEN": "",
        "AWS_PROFILE": "default",
        "AWS_DEFAULT_PROFILE": "default",
        "AWS_CONFIG_FILE": f"{home.root}/config/aws",
        "AWS_SHARED_CREDENTIALS_FILE": f"{home.root}/config/aws",
        "AWS_EC2_METADATA_DISABLED": "true",
        "KUBECONFIG": f"{home.root}/kubeconfig",
        "TRAINYARD_HOME": str(home.root),
    }


def test_the_passphrase_is_random_private_and_kept(home: Home) -> None:
    for _ in range(2):
        environment(home, FakeTools(), PLACE)
    first = home.passphrase.read_text()
    assert len(first) == 43
    assert stat.S_IMODE(home.passphrase.stat().st_mode) == 0o600
    assert home.passphrase.read_text() == first


def test_the_users_own_aws_profiles_are_out_of_sight(home: Home) -> None:
    found = environment(home, FakeTools(), PLACE)
    assert Path(found["AWS_CONFIG_FILE"]).read_bytes() == b"[default]\n"


def test_a_target_that_is_not_up_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find", lambda _home, _name: None)
    with pytest.raises(UsageError) as caught:
        environment(home, FakeTools(), PLACE)
    assert str(caught.value) == (
        "the embedded target is not up (simulator and kube-apiserver not running); start it with"
        " `yard local up`"
    )


def test_a_shell_reads_the_exports_as_they_are_meant() -> None:
    value = 'it\'s $HOME `x` \\ "y"'
    shown = subprocess.run(
        ["/bin/sh", "-c", exports({"A": value}, "sh") + 'printf %s "$A"'],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.defpath},
    )
    assert shown.stdout == value


def test_fish_has_its_own_way_to_export() -> None:
    assert exports({"A": "it's \\"}, "fish") == "set -gx A 'it\\'s \\\\'\n"
