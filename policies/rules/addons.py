"""Managed add-ons stay at the version that was tried, and network policies are judged."""

from collections.abc import Iterator
from typing import cast

import yaml

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import UNKNOWN, Plain, is_set, section, to_plain

_ADDON = frozenset({types.EKS_ADDON})


def moving_versions(subject: Subject) -> Iterator[str]:
    """Name add-ons whose version EKS chooses."""
    if not is_set(subject.props.get("addonVersion")):
        yield (
            "addonVersion is not set, so EKS takes the default of the day; "
            "name one that aws eks describe-addon-versions lists"
        )


def unjudged_policies(subject: Subject) -> Iterator[str]:
    """Name a network add-on that lets every packet pass, whatever network policies say."""
    if subject.props.get("addonName") != "vpc-cni":
        return
    raw = subject.props.get("configurationValues")
    if raw is UNKNOWN:
        yield "configurationValues is not known at preview; build it from settings"
        return
    # EKS takes the text only; a plain true is refused by the add-on's schema.
    if section(_parsed(raw)).get("enableNetworkPolicy") != "true":
        yield (
            "configurationValues does not set enableNetworkPolicy to the text 'true', so no "
            "network policy holds; set it"
        )


def _parsed(raw: Plain) -> Plain:
    """Read an add-on's settings, which are JSON or YAML; nothing is set by what cannot be read."""
    try:
        return to_plain(cast("object", yaml.safe_load(raw))) if isinstance(raw, str) else None
    except yaml.YAMLError:
        return None


ADDONS = ResourceRule(
    About(
        name="eks-addons-pinned",
        description="Add-ons have a version, and the network add-on enforces network policies",
        remedy="Name the version, and turn on network policies.",
        rows="69",
        sources=("CIS EKS 4.3.2", "prowler eks_cluster_network_policy_enabled"),
    ),
    {moving_versions: _ADDON, unjudged_policies: _ADDON},
)
RULES = (ADDONS,)
