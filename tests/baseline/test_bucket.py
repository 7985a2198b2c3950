"""The bucket: real calls of the AWS SDK against the simulated account of the embedded target."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from scripts.baseline.bucket import S3Bucket, open_bucket
from scripts.baseline.store import BaselineStore
from scripts.errors import UnknownError, UsageError
from scripts.local.simulator.app import Simulator
from scripts.local.simulator.calls import Settings
from scripts.local.simulator.server import running
from tests.baseline.make import SETTING, days, three
from tests.records.fake import MemoryShelf

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    state: Path = tmp_path_factory.mktemp("simulator")
    settings = Settings("https://127.0.0.1:6443", "no certificate")
    with running(Simulator(settings, state, state / "requests.log")) as address:
        yield address


@pytest.fixture
def account(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point the SDK at the simulator, as `yard local env` does, and make a bucket."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "EMBEDDED900000000777")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "embedded")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client: Any = boto3.client("s3")
    client.create_bucket(Bucket="records")


@pytest.mark.usefixtures("account")
def test_texts_are_written_once_read_and_listed() -> None:
    bucket = open_bucket("s3://records/a/b/")
    bucket.put("runs/2", "two")
    bucket.put("runs/1", "one")
    bucket.put("runs/1", "one")
    assert bucket.get("runs/1") == "one"
    assert list(bucket.keys("runs/")) == ["runs/1", "runs/2"]
    assert list(open_bucket("s3://records").keys("a/b/runs/")) == ["a/b/runs/1", "a/b/runs/2"]
    with pytest.raises(UnknownError) as caught:
        bucket.put("runs/1", "other")
    assert str(caught.value) == (
        "s3://records/a/b/runs/1 holds another record already; records are never overwritten: look "
        "who wrote it"
    )


@pytest.mark.usefixtures("account")
def test_a_second_cluster_learns_its_baselines_from_the_bucket() -> None:
    bucket = open_bucket("s3://records/baselines")
    old = BaselineStore(MemoryShelf(), bucket)
    for each in three():
        old.keep(SETTING, each)
    made = old.promote(SETTING.id, by="me", why="first good wave", now=days(1))
    new = BaselineStore(MemoryShelf(), open_bucket("s3://records/baselines"))
    assert new.sync() == (1, 3)
    assert new.ledger(SETTING.id).baseline == made


@pytest.mark.usefixtures("account")
def test_a_bucket_that_is_not_there_is_unknown_with_a_way_out() -> None:
    bucket = open_bucket("s3://nowhere")
    for call in (
        lambda: bucket.put("a", "b"),
        lambda: bucket.get("a"),
        lambda: list(bucket.keys("a")),
    ):
        with pytest.raises(UnknownError) as caught:
            call()
        assert str(caught.value).startswith("cannot ")
        assert "NoSuchBucket" in str(caught.value)
        assert str(caught.value).endswith(
            "look at AWS_PROFILE, AWS_ENDPOINT_URL and the rights to this prefix (s3:GetObject, "
            "s3:PutObject, s3:ListBucket)"
        )


def test_no_credentials_are_unknown_too() -> None:
    bucket = open_bucket("s3://records")
    with pytest.raises(UnknownError, match="cannot write s3://records/a: "):
        bucket.put("a", "b")


@pytest.mark.parametrize("url", ["records", "s3://", "https://records", "s3:///prefix"])
def test_what_is_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_bucket(url, client=object())  # type: ignore[arg-type] # never asked
    assert str(caught.value) == (
        f"--bucket {url!r} is no bucket; give it as s3://NAME or s3://NAME/PREFIX"
    )


def test_a_bucket_may_have_no_prefix() -> None:
    assert isinstance(open_bucket("s3://records", client=object()), S3Bucket)  # type: ignore[arg-type] # never asked
