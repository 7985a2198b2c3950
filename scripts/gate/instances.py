"""Replaces instances by EC2 Auto Scaling.

The group of a node belongs to its EKS node group: an instance that is ended there without a
decrement is drained by EKS, ended, and another one is started in its place. Credentials and the
endpoint come from the environment, as for any AWS tool; the region is in a node's provider id.
Errors are told by their code: AWS's own texts name accounts and roles.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from scripts.blacklist.entry import instance_of
from scripts.gate.ports import NodeState
from scripts.gate.replace import Replaced

__all__ = ["AutoScaling", "Client", "client", "region_of"]

ATTEMPTS: Final = 8
"""Tries of one call: botocore's standard mode waits 20 s at most between two of them."""

REGION: Final = re.compile(r"[a-z]{2,}(?:-[a-z]+)+-\d+")
"""How the name of a zone begins: us-east-1a, us-gov-west-1b, and us-east-1-dfw-2a, a local one."""

UNMANAGED: Final = "No managed instance found"
"""What Auto Scaling says of an instance that has gone as of one that no group has."""

MISSING: Final = "InvalidInstanceID.NotFound"
DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
GOING: Final = frozenset({"shutting-down", "terminated"})
FAILED: Final = "Failed"
SERVER_ERROR: Final = 500

SKEW: Final = timedelta(minutes=1)
"""How far our clock and AWS's may be apart."""

TROUBLE_LENGTH: Final = 300

ARN: Final = re.compile(r"arn:aws\S*")

Client = Callable[[str, str], Any]
"""Makes a client of a service in a region."""


def client(service: str, region: str) -> Any:  # noqa: ANN401 - boto3 makes its clients at run time
    """Return a client that outlives throttling."""
    config = Config(retries={"mode": "standard", "total_max_attempts": ATTEMPTS})
    session: Any = boto3.Session()  # its overloads, one per service, lack Auto Scaling
    return session.client(service, region_name=region, config=config)


def region_of(provider_id: str) -> str:
    """Return the region in a provider id (``aws:///ZONE/ID``); empty where there is none."""
    parts = provider_id.removeprefix("aws:///").split("/")
    found = REGION.match(parts[0]) if provider_id.startswith("aws:///") else None
    return found.group() if found else ""


class AutoScaling:
    """A :class:`scripts.gate.replace.Replacer` for the nodes of EKS node groups."""

    def __init__(
        self,
        make: Client = client,
        now: Callable[[], datetime] = lambda: datetime.now(tz=UTC),
    ) -> None:
        self._make = make
        self._now = now
        self._clients: dict[tuple[str, str], Any] = {}
        self._groups: dict[tuple[str, str], datetime] = {}

    def replace(self, nodes: Sequence[NodeState]) -> Replaced:
        """End the instances of nodes, one after the other; their groups start others."""
        ordered: dict[str, str] = {}
        left: dict[str, str] = {}
        unheard: set[str] = set()
        for node in nodes:
            try:
                why = self._end(region_of(node.provider_id), instance_of(node.provider_id))
            except (BotoCoreError, ClientError) as error:
                why = _said(error, "autoscaling:TerminateInstanceInAutoScalingGroup")
                if _may_be_done(error):
                    unheard.add(node.name)
            if why:
                left[node.name] = why
            else:
                ordered[node.name] = node.provider_id
        return Replaced(ordered, left, frozenset(unheard))

    def trouble(self) -> str:
        """Return what last failed in the groups that were told to start other instances."""
        found: list[tuple[datetime, str]] = []
        for (region, group), since in self._groups.items():
            try:
                answer = self._client("autoscaling", region).describe_scaling_activities(
                    AutoScalingGroupName=group, MaxRecords=20
                )
            except (BotoCoreError, ClientError) as error:
                return _said(error, "autoscaling:DescribeScalingActivities")
            found += [
                (each["StartTime"], each.get("StatusMessage", "it does not say why"))
                for each in answer["Activities"]
                if each["StatusCode"] == FAILED and each["StartTime"] >= since - SKEW
            ]
        if not found:
            return ""
        text = ARN.sub("(an ARN)", " ".join(max(found)[1].split()))[:TROUBLE_LENGTH]
        return f"Auto Scaling could not start another instance: {text}"

    def _end(self, region: str, instance: str) -> str:
        """Have an instance ended; returns why it stays, or nothing."""
        if not (region and instance):
            return "its provider id names no EC2 instance in a zone"
        now = self._now()
        try:
            answer = self._client("autoscaling", region).terminate_instance_in_auto_scaling_group(
                InstanceId=instance, ShouldDecrementDesiredCapacity=False
            )
        except ClientError as error:
            if UNMANAGED not in _word(error, "Message"):
                raise
            return self._unmanaged(region, instance)
        group = answer.get("Activity", {}).get("AutoScalingGroupName", "")
        if group:
            self._groups.setdefault((region, group), now)
        return ""

    def _unmanaged(self, region: str, instance: str) -> str:
        """Tell an instance that has gone, which is well, from one that is in no group."""
        try:
            answer = self._client("ec2", region).describe_instances(InstanceIds=[instance])
        except ClientError as error:
            if _word(error, "Code") == MISSING:
                return ""
            return f"Auto Scaling knows no {instance}, and {_said(error, 'ec2:DescribeInstances')}"
        states = [
            each["State"]["Name"] for held in answer["Reservations"] for each in held["Instances"]
        ]
        if GOING.issuperset(states):
            return ""
        return f"{instance} is in no Auto Scaling group, so nothing would take its place"

    def _client(self, service: str, region: str) -> Any:  # noqa: ANN401 - as above
        key = (service, region)
        if key not in self._clients:
            self._clients[key] = self._make(service, region)
        return self._clients[key]


def _may_be_done(error: BotoCoreError | ClientError) -> bool:
    """Tell whether AWS may have done what it was asked, though it did not say so."""
    if isinstance(error, ClientError):
        return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= SERVER_ERROR
    return isinstance(error, HTTPClientError)


def _word(error: ClientError, key: Literal["Code", "Message"]) -> str:
    return error.response.get("Error", {}).get(key, "")


def _said(error: BotoCoreError | ClientError, right: str) -> str:
    """Return an error in one sentence without what it says of accounts, roles and keys."""
    if not isinstance(error, ClientError):
        return f"AWS could not be asked: {type(error).__name__}"
    code = _word(error, "Code")
    if code in DENIED:
        return f"AWS refused it ({code}): the identity that runs the gate needs {right}"
    return f"AWS refused it: {code}"
