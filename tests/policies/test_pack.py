import ast
import importlib
import pkgutil
import re
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from pulumi_policy import EnforcementLevel

import rules
from rules import ALL, types
from rules.base import ResourceRule, StackRule
from rules.taggable import LIST, render
from tests.policies.bags import BUCKETS, FABRIC, GOOD
from tests.policies.support import UNKNOWN, analyze, analyze_stack

PACK = Path(rules.__file__).parent.parent
SITE = Path(str(distribution("pulumi_aws").locate_file("")))
CLASS = re.compile(r'^@pulumi\.type_token\("([^"]+)"\)\nclass (\w+)\(', re.MULTILINE)
TOKENS = {name: value for name, value in vars(types).items() if name.isupper()}


def test_every_rule_of_every_module_is_in_the_pack() -> None:
    found = [
        rule
        for module in pkgutil.iter_modules(rules.__path__)
        for rule in getattr(importlib.import_module(f"rules.{module.name}"), "RULES", ())
    ]
    assert sorted(rule.name for rule in ALL) == sorted(rule.name for rule in found)
    assert len({rule.name for rule in ALL}) == len(ALL)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_a_policy_says_what_it_is_for_and_where_it_comes_from(rule: ResourceRule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert rule.description
    assert not rule.description.endswith(".")
    assert rule.remediation_steps
    assert rule.remediation_steps.endswith(".")
    assert rule.tags
    assert rule.severity
    assert rule.framework
    assert rule.framework.reference
    assert rule.kinds


def test_only_the_named_policies_are_advisory() -> None:
    advisory = [r.name for r in ALL if r.enforcement_level is not EnforcementLevel.MANDATORY]
    assert advisory == ["iam-trust-pod-identity-cluster"]


def test_stack_policies_are_few_because_each_reads_the_whole_stack_again() -> None:
    assert len([rule for rule in ALL if isinstance(rule, StackRule)]) <= 8


def test_a_type_token_is_that_of_its_class() -> None:
    # The SDKs' text is read, because importing these modules takes ten seconds.
    wanted = {token for token in TOKENS.values() if not token.startswith("pulumi:providers:")}
    found: dict[str, str] = {}
    for token in wanted:
        package, module, _ = token.split(":")
        folder = SITE / f"pulumi_{package}" / module.replace(".sh", "").partition("/")[0]
        if token not in found:
            for file in folder.rglob("*.py"):
                found.update(CLASS.findall(file.read_text(encoding="utf-8")))
    assert {token: found.get(token) for token in wanted} == {
        token: token.rpartition(":")[2] for token in wanted
    }


def test_the_list_of_taggable_kinds_is_that_of_the_installed_sdk() -> None:
    assert LIST.read_text(encoding="utf-8") == render()


def test_the_entry_point_assembles_the_pack_and_does_nothing_else() -> None:
    # Anything printed before the pack's port would end the engine's handshake.
    body = ast.parse((PACK / "__main__.py").read_text(encoding="utf-8")).body
    assert [ast.unparse(statement) for statement in body[1:]] == [
        "from pulumi_policy import PolicyPack",
        "from rules import ALL",
        "PolicyPack('trainyard', policies=list(ALL))",
    ]


def test_the_pack_runs_in_the_environment_of_the_repository() -> None:
    pack = yaml.safe_load((PACK / "PulumiPolicy.yaml").read_text(encoding="utf-8"))
    assert pack["runtime"] == {"name": "python", "options": {"virtualenv": "../.venv"}}
    assert pack["version"]


@pytest.mark.parametrize(("kind", "props"), sorted(GOOD.items()))
def test_a_compliant_resource_passes_every_policy(kind: str, props: dict[str, object]) -> None:
    assert analyze(kind, props) == []


@pytest.mark.parametrize("stack", [FABRIC, BUCKETS])
def test_a_compliant_stack_passes_every_policy(stack: list[object]) -> None:
    assert analyze_stack(stack) == []


@pytest.mark.parametrize(("kind", "props"), sorted(GOOD.items()))
def test_no_unknown_property_keeps_a_policy_from_running(
    kind: str, props: dict[str, object]
) -> None:
    unknown = dict.fromkeys(props, UNKNOWN)
    for violation in analyze(kind, unknown):
        assert violation.message.partition("\n")[2].startswith(f"it ({kind}): ")


def test_every_governed_kind_has_a_compliant_bag() -> None:
    refused = {
        "iam-no-users-no-keys",
        "kubernetes-no-opaque-release",
        "tags-owner-and-cost-center",
    }
    governed = {
        kind
        for rule in ALL
        if isinstance(rule, ResourceRule) and rule.name not in refused
        for kind in rule.kinds
    }
    # A policy or an attachment of a user is refused whole.
    assert governed - set(GOOD) == {types.IAM_USER_POLICY, types.IAM_USER_POLICY_ATTACHMENT}
