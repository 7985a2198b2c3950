"""One simulator for all tests of it; every test has an account of its own."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from scripts.local.simulator.app import Simulator
from scripts.local.simulator.calls import Settings
from scripts.local.simulator.server import running

if TYPE_CHECKING:
    from pathlib import Path

REGION = "us-east-1"
KUBE_ENDPOINT = "https://127.0.0.1:6443"
KUBE_CA = "-----BEGIN CERTIFICATE-----\nmade for tests\n-----END CERTIFICATE-----\n"
ACCOUNTS = count(900_000_000_001)

SESSION = botocore.session.get_session()


class Account:
    """Clients of one account of a simulator."""

    def __init__(self, url: str, number: str) -> None:
        self.url = url
        self.number = number

    @cache  # noqa: B019 - a handful of accounts, for the run of the tests
    def client(self, service: str) -> Any:  # noqa: ANN401 - botocore makes its clients at run time
        return SESSION.create_client(
            service,
            region_name=REGION,
            endpoint_url=self.url,
            aws_access_key_id=f"EMBEDDED{self.number}",
            aws_secret_access_key="embedded",  # noqa: S106 - the word that all callers sign with
            config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
        )

    @cache  # noqa: B019 - as above
    def role(self, name: str, *services: str) -> str:
        """Make a role that the services may assume, once; returns its ARN."""
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": services},
            "Action": "sts:AssumeRole",
        }
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        role = self.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)
        arn: str = role["Role"]["Arn"]
        return arn

    def vpc(self) -> str:
        vpc: str = self.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        return vpc

    def subnet(self, vpc: str, number: int = 0, zone: str = "use1-az4") -> str:
        subnet: str = self.client("ec2").create_subnet(
            VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZoneId=zone
        )["Subnet"]["SubnetId"]
        return subnet

    def two_subnets(self) -> list[str]:
        vpc = self.vpc()
        return [self.subnet(vpc, 0, "use1-az4"), self.subnet(vpc, 1, "use1-az6")]


def refusal(operation: Callable[..., Any], **params: object) -> tuple[str, str]:
    """Code and message that an operation is refused with."""
    with pytest.raises(ClientError) as caught:
        operation(**params)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def nodegroup(account: Account, cluster: dict[str, Any], **more: object) -> dict[str, Any]:
    request = {
        "clusterName": "train",
        "nodegroupName": "wave-1",
        "subnets": cluster["resourcesVpcConfig"]["subnetIds"][:1],
        **more,
    }
    if "nodeRole" not in request:
        request["nodeRole"] = account.role("node", "ec2.amazonaws.com")
    made: dict[str, Any] = account.client("eks").create_nodegroup(**request)["nodegroup"]
    return made


def launch_template(account: Account, **data: object) -> str:
    made: str = account.client("ec2").create_launch_template(
        LaunchTemplateName="pool", LaunchTemplateData=data or {"EbsOptimized": True}
    )["LaunchTemplate"]["LaunchTemplateId"]
    return made


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Simulator:
    state: Path = tmp_path_factory.mktemp("simulator")
    return Simulator(Settings(KUBE_ENDPOINT, KUBE_CA), state, state / "requests.log")


@pytest.fixture(scope="session")
def url(simulator: Simulator) -> Iterator[str]:
    with running(simulator) as address:
        yield address


@pytest.fixture
def account(url: str) -> Account:
    return Account(url, str(next(ACCOUNTS)))


@pytest.fixture
def other_account(url: str) -> Account:
    return Account(url, str(next(ACCOUNTS)))


@pytest.fixture
def room_for_a_cluster(simulator: Simulator) -> Iterator[None]:
    """Only one cluster may live at a time, so it goes after the test."""
    yield
    for key in [key for key in simulator.records.tables if key[2].startswith("eks:")]:
        del simulator.records.tables[key]


@pytest.fixture
def cluster(account: Account, room_for_a_cluster: None) -> dict[str, Any]:  # noqa: ARG001 - fixtures cannot use marks
    """Make an EKS cluster named ``train``."""
    made: dict[str, Any] = account.client("eks").create_cluster(
        name="train",
        version="1.34",
        roleArn=account.role("cluster", "eks.amazonaws.com"),
        resourcesVpcConfig={
            "subnetIds": account.two_subnets(),
            "endpointPrivateAccess": True,
            "endpointPublicAccess": False,
        },
        accessConfig={"authenticationMode": "API"},
        tags={"team": "ml"},
    )["cluster"]
    return made
