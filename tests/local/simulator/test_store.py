"""State survives restarts, whole, and a file that cannot be read stays."""

import json
import threading
from pathlib import Path

import pytest
from moto.core.base_backend import BackendDict

from scripts.errors import UsageError
from scripts.local.simulator.app import Simulator
from scripts.local.simulator.records import Records
from scripts.local.simulator.server import running
from scripts.local.simulator.store import Store

from .conftest import Account
from .everything import build, snapshot


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "aws.state", Records(), threading.RLock())


@pytest.mark.usefixtures("room_for_a_cluster")
def test_everything_comes_back_as_it_was(simulator: Simulator, account: Account) -> None:
    build(account)
    before = snapshot(account)
    simulator.store.save()
    BackendDict.reset()
    again = Simulator(simulator.settings, simulator.store.path.parent)
    with running(again) as url:
        assert snapshot(Account(url, account.number)) == before


def test_only_what_was_touched_is_written_anew(simulator: Simulator, account: Account) -> None:
    account.client("ec2").describe_vpcs()
    account.client("ecr").create_repository(repositoryName="a")
    simulator.store.save()
    parts = dict(simulator.store._parts)
    account.client("ecr").create_repository(repositoryName="b")
    simulator.store.save()
    renewed = {key[0] for key, part in simulator.store._parts.items() if part is not parts[key]}
    assert renewed == {"ecr"}


def test_a_default_vpc_that_was_only_looked_at_is_saved_too(
    simulator: Simulator, account: Account
) -> None:
    simulator.store.save()
    account.client("ec2").describe_vpcs()
    assert simulator.store.changed.is_set()


def test_a_call_that_changes_nothing_needs_no_save(simulator: Simulator, account: Account) -> None:
    account.client("ec2").describe_vpcs()
    simulator.store.save()
    account.client("ec2").describe_vpcs()
    account.client("sts").get_caller_identity()
    assert not simulator.store.changed.is_set()


def test_without_a_file_there_is_nothing_to_load(store: Store) -> None:
    store.load()
    assert not store.path.exists()


def test_a_file_of_another_version_stays_and_the_way_out_is_named(store: Store) -> None:
    store.save()
    header, rest = store.path.read_bytes().split(b"\n", 1)
    ours = json.loads(header)
    other = json.dumps({**ours, "moto": "4.0.0"}).encode() + b"\n" + rest
    store.path.write_bytes(other)
    with pytest.raises(UsageError) as caught:
        store.load()
    assert str(caught.value) == (
        f"the simulator's state file {store.path} was written by format 1, moto 4.0.0, python "
        f"{ours['python']}, this is format 1, moto {ours['moto']}, python {ours['python']}; it "
        "cannot be read. Run the version that wrote it, or move the file away to start with empty "
        "accounts (it was not touched)."
    )
    assert store.path.read_bytes() == other


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "no first line"),
        (b"\x80\x05rubbish\n", "no first line"),
        (None, "pickle data was truncated"),
    ],
)
def test_a_damaged_file_stays_and_the_way_out_is_named(
    store: Store, content: bytes | None, what: str
) -> None:
    store.save()
    store.path.write_bytes(store.path.read_bytes()[:-5] if content is None else content)
    with pytest.raises(UsageError) as caught:
        store.load()
    assert str(caught.value) == (
        f"the simulator's state file {store.path} is damaged ({what}); it cannot be read. Run the "
        "version that wrote it, or move the file away to start with empty accounts (it was not "
        "touched)."
    )


def test_only_its_owner_reads_the_file(store: Store) -> None:
    store.save()
    assert store.path.stat().st_mode & 0o777 == 0o600
