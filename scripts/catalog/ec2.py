"""What EC2 says of instance types, asked once for all of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import InstanceTypeInfoTypeDef

__all__ = ["Answer", "NotAskedError", "ask"]

SIGN_IN = (
    "sign in (AWS_PROFILE, or `aws sso login`), or take the embedded target's with "
    '`eval "$(yard local env)"`'
)
ALLOW = (
    "sign in anew, or let this identity do ec2:DescribeInstanceTypes and "
    "ec2:DescribeInstanceTypeOfferings"
)


class NotAskedError(Exception):
    """EC2 could not be asked: nothing is known, neither good nor bad."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What EC2 said in one region; a type that it does not know there is missing."""

    region: str
    types: "Mapping[str, InstanceTypeInfoTypeDef]"
    zones: Mapping[str, tuple[str, ...]]


def ask(names: Collection[str], region: str | None) -> Answer:
    """Ask EC2 about the types ``names``, with the credentials and endpoint of the environment.

    Raises
    ------
    NotAskedError
        If there are no credentials or no region, or EC2 refuses or does not answer; it says what to
        do.
    """
    try:
        session = boto3.Session(region_name=region)
        if session.get_credentials() is None:
            raise NotAskedError(f"there are no AWS credentials here; {SIGN_IN}")
        where = session.region_name
        if not where:
            raise NotAskedError("no region is set; name one with --region")
        # A person waits: an endpoint that is down should say so soon.
        config = Config(connect_timeout=5, retries={"mode": "standard", "max_attempts": 3})
        make = cast("Any", session.client)  # it has an overload per service
        client: EC2Client = make("ec2", config=config)
        return Answer(where, _types(client, names), _zones(client, names))
    except ClientError as error:
        raise NotAskedError(f"EC2 refused: {error}; {ALLOW}") from error
    except BotoCoreError as error:
        raise NotAskedError(
            f"EC2 did not answer: {error}; look at --region, AWS_PROFILE and "
            "AWS_ENDPOINT_URL, then ask again"
        ) from error


def _types(client: "EC2Client", names: Collection[str]) -> "dict[str, InstanceTypeInfoTypeDef]":
    # As a filter: named outright, one type that the region does not know fails the whole call.
    pages = client.get_paginator("describe_instance_types").paginate(
        Filters=[{"Name": "instance-type", "Values": list(names)}]
    )
    return {info.get("InstanceType", ""): info for page in pages for info in page["InstanceTypes"]}


def _zones(client: "EC2Client", names: Collection[str]) -> dict[str, tuple[str, ...]]:
    pages = client.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": list(names)}],
    )
    found: dict[str, list[str]] = {}
    for page in pages:
        for offer in page["InstanceTypeOfferings"]:
            found.setdefault(offer.get("InstanceType", ""), []).append(offer.get("Location", ""))
    return {name: tuple(sorted(zones)) for name, zones in found.items()}
