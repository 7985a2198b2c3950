"""The whole program, for every stack of the repository, as an engine would see it."""

import json
from collections import Counter
from typing import Any

import pulumi
import pytest

from components.settings import parse, stack_settings
from components.site import Site
from components.site_config import SiteConfig
from tests.policies.support import analyze, messages
from tests.support.engine import run
from tests.support.stacks import STACKS, config, declared, raw

TAGS = {"owner", "cost-center", "environment", "stack"}

DOCUMENTS = {
    "aws:ec2/vpcEndpoint:VpcEndpoint": "policy",
    "aws:iam/role:Role": "assumeRolePolicy",
    "aws:iam/rolePolicy:RolePolicy": "policy",
    "aws:kms/key:Key": "policy",
    "aws:s3/bucketPolicy:BucketPolicy": "policy",
    "aws:sns/topicPolicy:TopicPolicy": "policy",
}


@pytest.mark.parametrize("stack", STACKS)
def test_every_resource_has_a_parent(stack: str) -> None:
    engine = declared(stack)
    parentless = {
        urn.rpartition("::")[2]
        for urn, parent in engine.parents.items()
        if not parent or parent.endswith(f"::trainyard-{stack}")
    }
    assert parentless <= {f"trainyard-{stack}", stack}
    assert len(engine.parents) >= len(engine.declared)


@pytest.mark.parametrize("stack", STACKS)
def test_no_two_resources_of_a_kind_share_a_name(stack: str) -> None:
    counted = Counter((r.typ, r.name) for r in declared(stack).declared)
    assert [name for name, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("stack", STACKS)
def test_every_iam_document_is_known_in_the_preview_of_a_fresh_stack(stack: str) -> None:
    documents = [
        (r.name, r.inputs.get(DOCUMENTS[r.typ]))
        for r in declared(stack, preview=True).declared
        if r.typ in DOCUMENTS
    ]
    assert len(documents) > 20
    assert [name for name, text in documents if not json.loads(text or "{}").get("Version")] == []


@pytest.mark.parametrize("stack", STACKS)
def test_a_preview_declares_what_an_update_does(stack: str) -> None:
    made = {(r.typ, r.name) for r in declared(stack).declared}
    shown = {(r.typ, r.name) for r in declared(stack, preview=True).declared}
    assert shown == made


@pytest.mark.parametrize("stack", STACKS)
def test_what_carries_tags_carries_all_of_them(stack: str) -> None:
    lacking = {
        r.name: TAGS - r.inputs["tags"].keys()
        for r in declared(stack).declared
        if "tags" in r.inputs and TAGS - r.inputs["tags"].keys()
    }
    assert lacking == {}


@pytest.mark.parametrize("stack", STACKS)
def test_the_policy_pack_has_nothing_to_say(stack: str) -> None:
    provider = {"defaultTags": json.dumps({"tags": config(stack).names(stack).tags})}
    said = {
        r.name: messages(violations)
        for r in declared(stack).declared
        if ":" in r.typ and not r.typ.startswith(("trainyard:", "pulumi:"))
        if (violations := analyze(r.typ, r.inputs, provider=provider))
    }
    assert said == {}


@pytest.mark.parametrize("stack", STACKS)
def test_no_resource_holds_a_credential(stack: str) -> None:
    text = json.dumps([r.inputs for r in declared(stack).declared], default=str)
    assert "secretString" not in text
    assert "accessKey" not in text
    assert "AKIA" not in text


def test_half_the_nodes_in_as_many_waves_are_as_many_resources() -> None:
    smaller = raw("prod")
    smaller["pools"][0]["waves"] = [50, 100, 100, 100, 100, 62]
    smaller["tenants"][0]["gpus"] = 4096
    site = parse(SiteConfig, smaller, "smaller")
    assert (config("prod").pools[0].nodes, site.pools[0].nodes) == (1024, 512)
    engine = run(lambda: Site(site, stack="prod") and None, stack="prod")
    assert len(engine.declared) == len(declared("prod").declared)


def test_what_holds_data_in_production_refuses_to_be_deleted() -> None:
    kinds = {"Bucket", "Cluster", "Key", "LustreFileSystem", "Repository", "Secret"}
    open_to_deletion = {
        stack: [urn for urn, kept in declared(stack).protected.items() if not kept]
        for stack in STACKS
    }
    assert {urn for urn in open_to_deletion["prod"] if _kind(urn) in kinds} == set()
    assert {_kind(urn) for urn in open_to_deletion["dev"]} >= kinds


def test_the_provider_holds_the_account_and_no_credentials() -> None:
    provider: dict[str, Any] = declared("dev").only("aws")
    assert {"accessKey", "secretKey", "token", "endpoints"}.isdisjoint(provider)
    assert json.loads(provider["allowedAccountIds"]) == ["111122223333"]


def test_the_kubeconfig_asks_for_a_token_each_time_and_holds_none() -> None:
    provider = declared("local").only("kubernetes")
    [user] = json.loads(provider["kubeconfig"])["users"]
    assert list(user["user"]) == ["exec"]
    assert user["user"]["exec"]["args"] == [
        "eks",
        "get-token",
        "--cluster-name",
        "trainyard-local",
        "--region",
        "us-east-1",
        "--output",
        "json",
    ]


def test_a_stack_without_settings_is_told_where_they_go() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        run(lambda: stack_settings(SiteConfig) and None, stack="empty")
    assert str(caught.value).splitlines() == [
        "Pulumi.empty.yaml: 1 to fix, nothing was changed",
        "  (whole file): has no trainyard:site under config; write the site's settings there",
    ]


def _kind(urn: str) -> str:
    return urn.split("::")[2].rpartition(":")[2]
