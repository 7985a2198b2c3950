"""Namespaces with a pod security level, closed to all others by network policy."""

from typing import Literal

import pulumi
from pulumi_kubernetes import core, networking

__all__ = ["closed_namespace"]

DNS_PORT = 53
HTTPS = 443


def closed_namespace(
    name: str,
    called: str,
    opts: pulumi.ResourceOptions,
    *,
    level: Literal["privileged", "baseline", "restricted"],
    tenant: bool = False,
) -> pulumi.Output[str]:
    """Make the namespace ``called``, whose pods reach each other, names, and TLS outside.

    Returns its name, which is there once the namespace is.
    """
    namespace = core.v1.Namespace(
        name,
        metadata={
            "name": called,
            "labels": {
                "pod-security.kubernetes.io/enforce": level,
                "pod-security.kubernetes.io/warn": "restricted",
                **({"trainyard.dev/tenant": "true"} if tenant else {}),
            },
        },
        opts=opts,
    )
    itself = namespace.metadata.name.apply(str)
    networking.v1.NetworkPolicy(
        f"{name}-default-deny",
        metadata={"name": "default-deny", "namespace": itself},
        spec={"pod_selector": {}, "policy_types": ["Ingress", "Egress"]},
        opts=opts,
    )
    networking.v1.NetworkPolicy(
        f"{name}-within",
        metadata={"name": "within", "namespace": itself},
        spec={
            "pod_selector": {},
            "policy_types": ["Ingress", "Egress"],
            "ingress": [{"from_": [{"pod_selector": {}}]}],
            "egress": [
                {"to": [{"pod_selector": {}}]},
                {"to": [_system()], "ports": [_port("UDP", DNS_PORT), _port("TCP", DNS_PORT)]},
                {"ports": [_port("TCP", HTTPS)]},
            ],
        },
        opts=opts,
    )
    return itself


def _port(protocol: str, port: int) -> "networking.v1.NetworkPolicyPortArgsDict":
    return {"protocol": protocol, "port": port}


def _system() -> "networking.v1.NetworkPolicyPeerArgsDict":
    label = {"kubernetes.io/metadata.name": "kube-system"}
    return {"namespace_selector": {"match_labels": label}}
