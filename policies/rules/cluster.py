"""The control plane: a closed endpoint, encrypted secrets, logs, and access entries only."""

from collections.abc import Iterator

from pulumi_policy import Severity

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.networks import open_range
from rules.plain import UNKNOWN, is_on, many, section, sections, text, texts

_LOGS = ("api", "audit", "authenticator")
_CLUSTER = frozenset({types.EKS_CLUSTER})


def open_endpoint(subject: Subject) -> Iterator[str]:
    """Name ways the API is open to the internet; what is left out is public on EKS."""
    network = section(subject.props.get("vpcConfig"))
    if not is_on(network.get("endpointPrivateAccess")):
        yield "vpcConfig.endpointPrivateAccess is not true; set it, nodes reach the API by it"
    if network.get("endpointPublicAccess") is False:
        return
    way_out = "set vpcConfig.endpointPublicAccess to false, or name the sites that need it"
    ranges = many(network.get("publicAccessCidrs"))
    if not ranges:
        yield f"the API endpoint is open to every address (EKS's default); {way_out}"
    for index, cidr in enumerate(ranges):
        path = f"vpcConfig.publicAccessCidrs[{index}]"
        if cidr is UNKNOWN:
            yield f"{path} is not known at preview; take it from settings"
            continue
        reason = open_range(text(cidr))
        if reason:
            yield f"{path} opens the API endpoint to {reason}; {way_out}"


def plain_secrets(subject: Subject) -> Iterator[str]:
    """Name clusters whose Kubernetes secrets are not encrypted under a key of ours."""
    blocks = sections(subject.props.get("encryptionConfig"))
    if not any("secrets" in texts(block.get("resources")) for block in blocks):
        yield "encryptionConfig does not name 'secrets'; add it with a KMS key"


def missing_logs(subject: Subject) -> Iterator[str]:
    """Name control plane logs that an investigation needs and that are off."""
    kept = texts(subject.props.get("enabledClusterLogTypes"))
    missing = [name for name in _LOGS if name not in kept]
    if missing:
        yield f"enabledClusterLogTypes lacks {', '.join(missing)}; add them"


def legacy_access(subject: Subject) -> Iterator[str]:
    """Name access that does not come from access entries."""
    config = section(subject.props.get("accessConfig"))
    if config.get("authenticationMode") != "API":
        yield "accessConfig.authenticationMode is not 'API'; set it, and grant by access entries"
    if config.get("bootstrapClusterCreatorAdminPermissions") is not False:
        yield (
            "accessConfig.bootstrapClusterCreatorAdminPermissions is not false, so whoever creates "
            "the cluster stays its administrator; set it at creation, a later change replaces the "
            "cluster"
        )


def legacy_map(subject: Subject) -> Iterator[str]:
    """Name the ConfigMap by which clusters were opened before access entries."""
    metadata = section(subject.props.get("metadata"))
    if (metadata.get("namespace"), metadata.get("name")) == ("kube-system", "aws-auth"):
        yield "the aws-auth ConfigMap grants access past the access entries; use access entries"


CLUSTER = ResourceRule(
    About(
        name="eks-control-plane-closed",
        description="The API is closed to the internet, its secrets encrypted, its use recorded",
        remedy="Set the named property of the cluster.",
        rows="32-35",
        sources=(
            "CKV_AWS_37",
            "CKV_AWS_38",
            "CKV_AWS_39",
            "CKV_AWS_58",
            "AWS-0038",
            "AWS-0039",
            "AWS-0040",
            "AWS-0041",
            "CIS EKS 2.1.1",
            "CIS EKS 4.1.7",
            "CIS EKS 5.3.1",
            "CIS EKS 5.4.1",
            "CIS EKS 5.4.2",
        ),
        severity=Severity.CRITICAL,
    ),
    {
        open_endpoint: _CLUSTER,
        plain_secrets: _CLUSTER,
        missing_logs: _CLUSTER,
        legacy_access: _CLUSTER,
        legacy_map: frozenset({types.KUBERNETES_CONFIG_MAP}),
    },
)
RULES = (CLUSTER,)
