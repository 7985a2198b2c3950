import json

import pytest

from rules import types
from rules.addons import ADDONS as RULE
from tests.policies.bags import GOOD
from tests.policies.support import UNKNOWN, analyze, messages

KIND = types.EKS_ADDON
MOVING = (
    "addonVersion is not set, so EKS takes the default of the day; "
    "name one that aws eks describe-addon-versions lists"
)
UNJUDGED = (
    "configurationValues does not set enableNetworkPolicy to the text 'true', so no network policy "
    "holds; set it"
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"addonVersion": None}, [MOVING]),
        ({"addonVersion": ""}, [MOVING]),
        ({"addonVersion": UNKNOWN}, []),
        ({"configurationValues": None}, [UNJUDGED]),
        ({"configurationValues": "{}"}, [UNJUDGED]),
        ({"configurationValues": json.dumps({"enableNetworkPolicy": "false"})}, [UNJUDGED]),
        ({"configurationValues": json.dumps({"enableNetworkPolicy": True})}, [UNJUDGED]),
        ({"configurationValues": 'enableNetworkPolicy: "true"'}, []),
        (
            {"configurationValues": UNKNOWN},
            ["configurationValues is not known at preview; build it from settings"],
        ),
        ({"addonName": "coredns", "configurationValues": None}, []),
    ],
)
def test_an_addon_is_pinned_and_the_network_one_judges_policies(
    change: dict[str, object], expected: list[str]
) -> None:
    violations = analyze(KIND, {**GOOD[KIND], **change}, policies=[RULE])
    assert messages(violations) == [f"it ({KIND}): {text}" for text in expected]
    assert {violation.level for violation in violations} <= {"MANDATORY"}


def test_settings_that_cannot_be_read_do_not_pass() -> None:
    bag = {**GOOD[KIND], "configurationValues": "{enableNetworkPolicy"}
    [message] = messages(analyze(KIND, bag, policies=[RULE]))
    assert message == f"it ({KIND}): {UNJUDGED}"
