"""EKS add-ons; nothing is installed by them, the record is all there is."""

import re
from typing import Any

import yaml

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.common import (
    ADDON,
    found_cluster,
    in_cluster,
    invalid,
    new_id,
    now,
    started,
)
from scripts.local.simulator.eks.identities import add_association, drop_association
from scripts.local.simulator.eks.values import check_values
from scripts.local.simulator.records import Record

__all__ = ["create_addon", "delete_addon", "describe_addon"]

NAMESPACES = {
    "adot": "opentelemetry-operator-system",
    "amazon-cloudwatch-observability": "amazon-cloudwatch",
    "aws-guardduty-agent": "amazon-guardduty",
    "aws-network-flow-monitoring-agent": "amazon-network-flow-monitor",
    "cert-manager": "cert-manager",
    "external-dns": "external-dns",
    "fluent-bit": "fluent-bit",
    "kube-state-metrics": "kube-state-metrics",
    "prometheus-node-exporter": "prometheus-node-exporter",
}
"""Namespaces of the add-ons that do not live in kube-system."""

DEFAULT_VERSIONS = {
    "adot": "v0.141.0-eksbuild.1",
    "amazon-cloudwatch-observability": "v4.7.0-eksbuild.1",
    "amazon-sagemaker-hyperpod-taskgovernance": "v1.3.0-eksbuild.1",
    "aws-ebs-csi-driver": "v1.54.0-eksbuild.1",
    "aws-efs-csi-driver": "v2.1.15-eksbuild.1",
    "aws-fsx-csi-driver": "v1.8.0-eksbuild.1",
    "aws-guardduty-agent": "v1.12.1-eksbuild.2",
    "aws-mountpoint-s3-csi-driver": "v2.2.1-eksbuild.1",
    "aws-network-flow-monitoring-agent": "v1.1.1-eksbuild.1",
    "aws-privateca-connector-for-kubernetes": "v1.6.0-eksbuild.1",
    "aws-secrets-store-csi-driver-provider": "v2.1.1-eksbuild.1",
    "cert-manager": "v1.19.1-eksbuild.1",
    "coredns": "v1.12.4-eksbuild.1",
    "eks-node-monitoring-agent": "v1.4.2-eksbuild.1",
    "eks-pod-identity-agent": "v1.3.10-eksbuild.1",
    "external-dns": "v0.19.0-eksbuild.3",
    "fluent-bit": "v4.2.0-eksbuild.1",
    "kube-proxy": "v1.35.0-eksbuild.1",
    "kube-state-metrics": "v2.17.0-eksbuild.4",
    "metrics-server": "v0.8.0-eksbuild.5",
    "prometheus-node-exporter": "v1.10.2-eksbuild.2",
    "snapshot-controller": "v8.3.0-eksbuild.1",
    "vpc-cni": "v1.20.4-eksbuild.1",
}
"""Names that EKS offers; the versions are placeholders of the stand-in, not a list of AWS's."""

VERSION = re.compile(r"v\d+\.\d+\.\d+-eksbuild\.\d+")


def _check(call: Call, cluster: Record) -> None:
    check_values(call)
    name, version = call.params["addonName"], call.params.get("addonVersion")
    if name not in DEFAULT_VERSIONS:
        raise invalid(
            f"Addon {name} specified is not supported in {cluster['version']} kubernetes version"
        )
    if version is not None and not VERSION.fullmatch(version):
        raise invalid("Addon version specified is not supported")
    try:
        yaml.safe_load(call.params.get("configurationValues", ""))
    except yaml.YAMLError:
        raise invalid("ConfigurationValues is neither valid JSON nor valid YAML") from None


@answers("eks", "CreateAddon")
def create_addon(call: Call) -> Answer:
    """Record an add-on, active at once."""
    cluster, name = found_cluster(call, call.params["clusterName"]), call.params["addonName"]
    _check(call, cluster)
    if _key(call) in call.table(ADDON):
        raise AwsError("ResourceInUseException", "Addon already exists.")
    addon: Record = {
        "addonName": name,
        "clusterName": cluster["name"],
        "status": "ACTIVE",
        "addonVersion": call.params.get("addonVersion", DEFAULT_VERSIONS[name]),
        "health": {"issues": []},
        "addonArn": call.arn("eks", f"addon/{cluster['name']}/{name}/{new_id()}"),
        "createdAt": now(),
        "modifiedAt": now(),
        "tags": call.params.get("tags", {}),
        "podIdentityAssociations": [],
        "namespaceConfig": call.params.get(
            "namespaceConfig", {"namespace": NAMESPACES.get(name, "kube-system")}
        ),
    }
    for key in ("serviceAccountRoleArn", "configurationValues"):
        if key in call.params:
            addon[key] = call.params[key]
    _associate(call, addon, call.params.get("podIdentityAssociations", []))
    call.table(ADDON)[_key(call)] = addon
    return {"addon": addon}


def _associate(call: Call, addon: Record, asked: list[dict[str, Any]]) -> None:
    addon["podIdentityAssociations"] = [
        add_association(
            call,
            {
                "clusterName": addon["clusterName"],
                "namespace": addon["namespaceConfig"]["namespace"],
                **association,
            },
            owner=addon["addonArn"],
        )["associationArn"]
        for association in asked
    ]


def _key(call: Call) -> str:
    return f"{call.params['clusterName']}|{call.params['addonName']}"


def _found(call: Call) -> Record:
    found_cluster(call, call.params["clusterName"])
    addon = call.table(ADDON).get(_key(call))
    if addon is None:
        raise AwsError(
            "ResourceNotFoundException",
            f"No addon: {call.params['addonName']} found in cluster: {call.params['clusterName']}",
        )
    return addon


@answers("eks", "DescribeAddon")
def describe_addon(call: Call) -> Answer:
    """Describe one add-on."""
    return {"addon": _found(call)}


@answers("eks", "ListAddons")
def list_addons(call: Call) -> Answer:
    """List the names of a cluster's add-ons."""
    cluster = found_cluster(call, call.params["clusterName"])["name"]
    return {"addons": sorted(addon["addonName"] for addon in in_cluster(call, ADDON, cluster))}


@answers("eks", "UpdateAddon")
def update_addon(call: Call) -> Answer:
    """Change version, role, configuration or identities of an add-on."""
    addon = _found(call)
    _check(call, found_cluster(call, addon["clusterName"]))
    changes = {
        key: call.params[key]
        for key in ("addonVersion", "serviceAccountRoleArn", "configurationValues")
        if key in call.params
    }
    addon |= {**changes, "modifiedAt": now()}
    if "podIdentityAssociations" in call.params:
        for arn in addon["podIdentityAssociations"]:
            drop_association(call, arn)
        _associate(call, addon, call.params["podIdentityAssociations"])
    update = started(call, addon["clusterName"], "AddonUpdate", changes, addon=addon["addonName"])
    return {"update": update}


@answers("eks", "DeleteAddon")
def delete_addon(call: Call) -> Answer:
    """Delete an add-on with the pod identities that it owns."""
    addon = _found(call)
    for arn in addon["podIdentityAssociations"]:
        drop_association(call, arn)
    del call.table(ADDON)[_key(call)]
    return {"addon": {**addon, "status": "DELETING"}}


@answers("eks", "DescribeAddonVersions")
def describe_addon_versions(call: Call) -> Answer:
    """Offer one version of each add-on, for any Kubernetes version."""
    wanted, version = call.params.get("addonName"), call.params.get("kubernetesVersion", "1.35")
    return {
        "addons": [
            {
                "addonName": name,
                "owner": "aws",
                "publisher": "eks",
                "addonVersions": [
                    {
                        "addonVersion": default,
                        "architecture": ["amd64", "arm64"],
                        "compatibilities": [{"clusterVersion": version, "defaultVersion": True}],
                    }
                ],
            }
            for name, default in DEFAULT_VERSIONS.items()
            if wanted in {None, name}
        ]
    }
