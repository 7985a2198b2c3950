"""Charts are rendered into resources that policies can see."""

from collections.abc import Iterator

from rules import types
from rules.base import About, ResourceRule, Subject


def opaque_releases(subject: Subject) -> Iterator[str]:
    """Name Helm releases; what they install is invisible to a preview and to every policy."""
    del subject
    yield "a Helm release hides what it installs; use kubernetes.helm.v4.Chart"


NO_RELEASES = ResourceRule(
    About(
        name="kubernetes-no-opaque-release",
        description="Charts are installed as resources that a preview shows and policies check",
        remedy="Use kubernetes.helm.v4.Chart.",
        rows="74",
        sources=("pulumi-policy#298", "pulumi-policy#352", "pulumi#10055"),
    ),
    {opaque_releases: frozenset({types.KUBERNETES_HELM_RELEASE})},
)
RULES = (NO_RELEASES,)
