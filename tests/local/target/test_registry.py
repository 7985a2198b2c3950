from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from lightkube import ApiError

from scripts.local.target.node_objects import RUNNING
from scripts.local.target.registry import Registry
from tests.local.target.support import GROUP, instance


def refusal(status: int) -> ApiError:
    body = {"kind": "Status", "apiVersion": "v1", "code": status, "message": "refused"}
    response = httpx2.Response(status, json=body, request=httpx2.Request("POST", "https://api"))
    return ApiError(response.request, response)


@dataclass
class FullApi:
    """An API server that refuses what is there already."""

    held: dict[str, dict[str, Any]] = field(default_factory=dict)

    def create(self, node: dict[str, Any]) -> None:
        name = node["metadata"]["name"]
        if name in self.held:
            raise refusal(409)
        self.held[name] = node

    def node(self, name: str) -> dict[str, Any]:
        return self.held[name]

    def delete_node(self, name: str) -> None:
        del self.held[name]


@pytest.mark.parametrize("holder", ["i-7", "i-0"], ids=["another instance", "an earlier try"])
def test_a_node_is_registered_for_the_instance_that_has_the_address_now(holder: str) -> None:
    api, one = FullApi(), instance(0)
    api.held[one.dns_name] = {"spec": {"providerID": f"aws:///us-east-1a/{holder}"}}
    Registry(api, 10250).create(GROUP, one, RUNNING)
    assert api.held[one.dns_name]["spec"]["providerID"] == "aws:///us-east-1a/i-0"


def test_another_refusal_is_told() -> None:
    class Forbidding(FullApi):
        def create(self, node: dict[str, Any]) -> None:
            raise refusal(403 if node else 409)

    with pytest.raises(ApiError) as caught:
        Registry(Forbidding(), 10250).create(GROUP, instance(0), RUNNING)
    assert caught.value.response.status_code == 403
