"""A bucket that keeps every run and every promotion for good, also when its cluster is gone."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from scripts.errors import UnknownError, UsageError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["Bucket", "S3Bucket", "open_bucket"]

TAKEN: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
"""S3's answers when a key exists, and when somebody else writes it at this moment."""

SCHEME: Final = "s3://"


class Bucket(Protocol):
    """Texts under keys, each written once."""

    def put(self, key: str, text: str) -> None:
        """Write a text; what is there already must be the same."""
        ...

    def get(self, key: str) -> str:
        """Return a text."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """Return the keys that begin with a prefix, in order."""
        ...


class S3Bucket:
    """A prefix of an S3 bucket."""

    def __init__(self, client: "S3Client", name: str, prefix: str) -> None:
        self._client = client
        self._name = name
        self._prefix = f"{prefix}/" if prefix else ""

    def put(self, key: str, text: str) -> None:
        """Write a text under a key that must be free, or hold the same text.

        Raises
        ------
        UnknownError
            If something else is there, or S3 does not take it.
        """
        try:
            self._client.put_object(
                Bucket=self._name,
                Key=self._prefix + key,
                Body=text.encode(),
                ContentType="application/json",
                IfNoneMatch="*",
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") not in TAKEN:
                raise self._failed("write", key, error) from error
            if self.get(key) != text:
                raise UnknownError(
                    f"{self._where(key)} holds another record already; records are never "
                    "overwritten: look who wrote it"
                ) from None
        except BotoCoreError as error:
            raise self._failed("write", key, error) from error

    def get(self, key: str) -> str:
        """Return the text under a key."""
        try:
            answer = self._client.get_object(Bucket=self._name, Key=self._prefix + key)
            return answer["Body"].read().decode()
        except (BotoCoreError, ClientError) as error:
            raise self._failed("read", key, error) from error

    def keys(self, prefix: str) -> Iterator[str]:
        """Return the keys that begin with a prefix, in order."""
        try:
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._name, Prefix=self._prefix + prefix
            )
            for page in pages:
                for found in page.get("Contents", ()):
                    yield found.get("Key", "").removeprefix(self._prefix)
        except (BotoCoreError, ClientError) as error:
            raise self._failed("list", prefix, error) from error

    def _where(self, key: str) -> str:
        return f"{SCHEME}{self._name}/{self._prefix}{key}"

    def _failed(self, verb: str, key: str, error: Exception) -> UnknownError:
        return UnknownError(
            f"cannot {verb} {self._where(key)}: {error}; look at AWS_PROFILE, AWS_ENDPOINT_URL and "
            "the rights to this prefix (s3:GetObject, s3:PutObject, s3:ListBucket)"
        )


def open_bucket(url: str, client: "S3Client | None" = None) -> S3Bucket:
    """Return the bucket of ``s3://NAME/PREFIX``, with the credentials of the environment.

    Raises
    ------
    UsageError
        If ``url`` is not of this form.
    """
    name, _, prefix = url.removeprefix(SCHEME).partition("/")
    if not url.startswith(SCHEME) or not name:
        raise UsageError(f"--bucket {url!r} is no bucket; give it as s3://NAME or s3://NAME/PREFIX")
    if client is None:
        config = Config(connect_timeout=5, retries={"mode": "standard", "max_attempts": 3})
        make = cast("Any", boto3.Session().client)  # it has an overload per service
        client = cast("S3Client", make("s3", config=config))
    return S3Bucket(client, name, prefix.strip("/"))
