"""Rows: EKS clusters, node groups, add-ons, access, pod identities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.convert import reach
from scripts.local.plugins.aws.row import Call, Change, Hooks, Row, Wait, tagging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_TAGS: Final = tagging("resourceArn", "$arn", "tags", "tagKeys")
_ENTRY_TAGS: Final = tagging("resourceArn", "$accessEntryArn", "tags", "tagKeys")
_ASSOCIATION_TAGS: Final = tagging("resourceArn", "$associationArn", "tags", "tagKeys")


def _log_types(item: Item, params: dict[str, Api]) -> None:
    """Put the log types into a group, as the API takes them."""
    types = item.props.get("enabledClusterLogTypes")
    if types:
        params["logging"] = {"clusterLogging": [{"types": types, "enabled": True}]}


def cluster_facts(cluster: Mapping[str, Api]) -> dict[str, Api]:
    """Flatten what the API nests: log types that are on, and the issuer of identities."""
    groups: list[dict[str, Api]] = reach(cluster, "logging.clusterLogging") or []
    types = [kind for group in groups if group.get("enabled") for kind in group.get("types", [])]
    issuer = reach(cluster, "identity.oidc.issuer")
    return {
        "enabledClusterLogTypes": sorted(types),
        "identities": [{"oidcs": [{"issuer": issuer}]}] if issuer else [],
    }


def _read_cluster(_: Item, found: dict[str, Api]) -> bool:
    found |= cluster_facts(found)
    # Answers hold these empty when a cluster has none.
    for name in ("encryptionConfig", "remoteNetworkConfig", "outpostConfig", "computeConfig"):
        if not found.get(name):
            found.pop(name, None)
    return True


def _update_cluster(item: Item, changed: frozenset[str]) -> None:
    if "enabledClusterLogTypes" in changed:
        new, old = (
            _texts(item.props, "enabledClusterLogTypes"),
            _texts(item.prior, "enabledClusterLogTypes"),
        )
        groups = [
            {"types": types, "enabled": enabled}
            for types, enabled in (
                (sorted(new), True),
                (sorted(set(old) - set(new)), False),
            )
            if types
        ]
        item.call("UpdateClusterConfig", name=item.id, logging={"clusterLogging": groups})
    if "vpcConfig" in changed:
        _update_network(item)


def _update_network(item: Item) -> None:
    """Endpoint access and subnets are two kinds of update, and AWS takes one at a time."""
    new, old = _object(item.props.get("vpcConfig")), _object(item.prior.get("vpcConfig"))
    kinds = (
        ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs"),
        ("securityGroupIds", "subnetIds"),
    )
    # What AWS fills in stays when the program is silent; groups go.
    wanted = {**new, "securityGroupIds": new.get("securityGroupIds") or []}
    for names in kinds:
        given = {name: wanted[name] for name in names if wanted.get(name) is not None}
        if any(value != old.get(name, []) for name, value in given.items()):
            item.call("UpdateClusterConfig", name=item.id, resourcesVpcConfig=given)


def _object(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, dict) else {}


def _texts(values: Mapping[str, Value], name: str) -> list[str]:
    value = values.get(name)
    return [str(item) for item in value] if isinstance(value, list) else []


def _fixed_parts(old: Mapping[str, Value], new: Mapping[str, Value]) -> frozenset[str]:
    """Encryption can be added to a cluster, but never changed."""
    if old.get("encryptionConfig") and old["encryptionConfig"] != new.get("encryptionConfig"):
        return frozenset({"encryptionConfig"})
    return frozenset()


CLUSTER: Final = Row(
    service="eks",
    id="{name}",
    create=Call("CreateCluster"),
    read=(Call("DescribeCluster", {"name": "$id"}, "cluster"),),
    updates=(
        Change(("accessConfig",), Call("UpdateClusterConfig", {"name": "$id"})),
        Change(("deletionProtection",), Call("UpdateClusterConfig", {"name": "$id"})),
        Change(("upgradePolicy",), Call("UpdateClusterConfig", {"name": "$id"})),
        Change(("zonalShiftConfig",), Call("UpdateClusterConfig", {"name": "$id"})),
        Change(("version",), Call("UpdateClusterVersion", {"name": "$id"})),
        Change(
            ("encryptionConfig",),
            Call("AssociateEncryptionConfig", {"clusterName": "$id"}),
        ),
    ),
    delete=Call("DeleteCluster", {"name": "$id"}),
    names={"vpcConfig": "resourcesVpcConfig"},
    replace=frozenset(
        {
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
            "name",
            "roleArn",
        }
    ),
    local=frozenset({"bootstrapSelfManagedAddons", "defaultAddonsToRemoves", "forceUpdateVersion"}),
    refused=frozenset(
        {
            "computeConfig",
            "controlPlaneScalingConfig",
            "kubeApiServerConfig",
            "kubeControllerManagerConfig",
            "kubeSchedulerConfig",
            "outpostConfig",
            "remoteNetworkConfig",
            "storageConfig",
        }
    ),
    defaults={
        "bootstrapSelfManagedAddons": True,
        "vpcConfig.endpointPrivateAccess": False,
        "vpcConfig.endpointPublicAccess": True,
    },
    unknown=frozenset(
        {
            "vpcConfig.clusterSecurityGroupId",
            "vpcConfig.controlPlaneEgressMode",
            "vpcConfig.publicAccessCidrs",
            "vpcConfig.vpcId",
        }
    ),
    wait=Wait("status", ready=("ACTIVE",), failed=("FAILED",)),
    hooks=Hooks(
        prepare=_log_types,
        read=_read_cluster,
        update=_update_cluster,
        replaces=_fixed_parts,
    ),
    tagging=_TAGS,
)


def _shared_names(item: Item) -> dict[str, Api]:
    return {"clusterName": item.props["clusterName"], "nodegroupName": item.props["nodeGroupName"]}


def _taint(value: Value) -> dict[str, Value]:
    return {key: it for key, it in _object(value).items() if it is not None}


def _update_group(item: Item, changed: frozenset[str]) -> None:
    """Labels and taints are taken as what to set and what to remove."""
    params: dict[str, Api] = {}
    if "labels" in changed:
        new, old = _object(item.props.get("labels")), _object(item.prior.get("labels"))
        params["labels"] = {
            "addOrUpdateLabels": dict(new),
            "removeLabels": [key for key in old if key not in new],
        }
    if "taints" in changed:
        new_taints = [_taint(it) for it in _list(item.props.get("taints"))]
        old_taints = [_taint(it) for it in _list(item.prior.get("taints"))]
        kept = {(it.get("key"), it.get("effect")) for it in new_taints}
        params["taints"] = {
            "addOrUpdateTaints": new_taints,
            "removeTaints": [
                it for it in old_taints if (it.get("key"), it.get("effect")) not in kept
            ],
        }
    for name in ("scalingConfig", "updateConfig", "nodeRepairConfig"):
        if name in changed and item.props.get(name):
            params[name] = item.props[name]
    if params:
        item.call("UpdateNodegroupConfig", **_shared_names(item), **params)
    if changed & {"version", "releaseVersion", "launchTemplate"}:
        _update_version(item, changed)


def _update_version(item: Item, changed: frozenset[str]) -> None:
    template = {
        key: str(text)
        for key, text in _object(item.props.get("launchTemplate")).items()
        if text and key in {"id", "version"}
    }
    params: dict[str, Api] = {
        name: item.props[name]
        for name in ("version", "releaseVersion")
        if name in changed and item.props.get(name)
    }
    if "launchTemplate" in changed and template:
        params["launchTemplate"] = template
    if item.props.get("forceUpdateVersion"):
        params["force"] = True
    item.call("UpdateNodegroupVersion", **_shared_names(item), **params)


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _update_says_one(inputs: Mapping[str, Value]) -> Mapping[str, str]:
    """Demand one of two ways to say how many nodes may be missing, as the real provider does."""
    setup = inputs.get("updateConfig")
    ways = ("maxUnavailable", "maxUnavailablePercentage")
    if isinstance(setup, dict) and sum(setup.get(way) is not None for way in ways) != 1:
        return {"updateConfig": f"exactly one of {' and '.join(map(repr, ways))} must be set"}
    return {}


def _template_once(_: Item, params: dict[str, Api]) -> None:
    """AWS takes the template's id or its name, and the SDK may send both after a refresh."""
    template = params.get("launchTemplate")
    if template and template.get("id"):
        template.pop("name", None)


NODE_GROUP: Final = Row(
    service="eks",
    id="{clusterName}:{nodeGroupName}",
    create=Call("CreateNodegroup"),
    read=(
        Call(
            "DescribeNodegroup",
            {"clusterName": "$clusterName", "nodegroupName": "$nodeGroupName"},
            "nodegroup",
        ),
    ),
    delete=Call(
        "DeleteNodegroup", {"clusterName": "$clusterName", "nodegroupName": "$nodeGroupName"}
    ),
    names={
        "arn": "nodegroupArn",
        "nodeGroupName": "nodegroupName",
        "nodeRoleArn": "nodeRole",
        "subnetIds": "subnets",
        "remoteAccess.sourceSecurityGroupIds": "sourceSecurityGroups",
    },
    replace=frozenset(
        {
            "amiType",
            "capacityType",
            "clusterName",
            "diskSize",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeGroupName",
            "nodeGroupNamePrefix",
            "nodeRoleArn",
            "remoteAccess",
            "subnetIds",
        }
    ),
    local=frozenset({"forceUpdateVersion"}),
    refused=frozenset({"warmPoolConfig"}),
    ordered=frozenset({"instanceTypes"}),
    conflicts=(("nodeGroupName", "nodeGroupNamePrefix"),),
    unknown=frozenset({"launchTemplate.id", "launchTemplate.name", "updateConfig.updateStrategy"}),
    wait=Wait(
        "status",
        ready=("ACTIVE",),
        failed=("CREATE_FAILED", "DELETE_FAILED", "DEGRADED"),
    ),
    hooks=Hooks(prepare=_template_once, update=_update_group, check=_update_says_one),
    autoname="nodeGroupName",
    tagging=_TAGS,
)

_ADDON: Final = {"clusterName": "$clusterName", "addonName": "$addonName"}

ADDON: Final = Row(
    service="eks",
    id="{clusterName}:{addonName}",
    create=Call("CreateAddon", {"resolveConflicts": "$resolveConflictsOnCreate"}),
    read=(Call("DescribeAddon", _ADDON, "addon"),),
    updates=(
        Change(
            (
                "addonVersion",
                "configurationValues",
                "serviceAccountRoleArn",
                "podIdentityAssociations",
            ),
            Call("UpdateAddon", {**_ADDON, "resolveConflicts": "$resolveConflictsOnUpdate"}),
        ),
    ),
    delete=Call("DeleteAddon", {**_ADDON, "preserve": "$preserve"}),
    names={"arn": "addonArn"},
    replace=frozenset({"addonName", "clusterName", "namespaceConfig"}),
    local=frozenset({"preserve", "resolveConflictsOnCreate", "resolveConflictsOnUpdate"}),
    json=frozenset({"configurationValues"}),
    wait=Wait("status", ready=("ACTIVE",), failed=("CREATE_FAILED", "DEGRADED", "UPDATE_FAILED")),
    tagging=_TAGS,
)

_PRINCIPAL: Final = {"clusterName": "$clusterName", "principalArn": "$principalArn"}

ACCESS_ENTRY: Final = Row(
    service="eks",
    id="{clusterName}:{principalArn}",
    create=Call("CreateAccessEntry"),
    read=(Call("DescribeAccessEntry", _PRINCIPAL, "accessEntry"),),
    updates=(Change(("kubernetesGroups", "userName"), Call("UpdateAccessEntry", _PRINCIPAL)),),
    delete=Call("DeleteAccessEntry", _PRINCIPAL),
    names={"userName": "username"},
    replace=frozenset({"clusterName", "principalArn", "type"}),
    defaults={"type": "STANDARD"},
    tagging=_ENTRY_TAGS,
)


def _find_policy(item: Item, found: dict[str, Api]) -> bool:
    wanted = item.scope().get("policyArn")
    for policy in found.pop("associatedAccessPolicies", ()):
        if policy["policyArn"] == wanted:
            found |= policy
            return True
    return False


ACCESS_POLICY_ASSOCIATION: Final = Row(
    service="eks",
    id="{clusterName}#{principalArn}#{policyArn}",
    create=Call("AssociateAccessPolicy"),
    read=(Call("ListAssociatedAccessPolicies", _PRINCIPAL),),
    delete=Call("DisassociateAccessPolicy", {**_PRINCIPAL, "policyArn": "$policyArn"}),
    replace=frozenset({"accessScope", "clusterName", "policyArn", "principalArn"}),
    hooks=Hooks(read=_find_policy),
)

_ASSOCIATION: Final = {"clusterName": "$clusterName", "associationId": "$id"}

POD_IDENTITY_ASSOCIATION: Final = Row(
    service="eks",
    id="association.associationId",
    create=Call("CreatePodIdentityAssociation"),
    read=(Call("DescribePodIdentityAssociation", _ASSOCIATION, "association"),),
    updates=(
        Change(
            ("roleArn", "targetRoleArn", "disableSessionTags", "policy"),
            Call("UpdatePodIdentityAssociation", _ASSOCIATION),
        ),
    ),
    delete=Call("DeletePodIdentityAssociation", _ASSOCIATION),
    replace=frozenset({"clusterName", "namespace", "serviceAccount"}),
    json=frozenset({"policy"}),
    import_id="{clusterName},{id}",
    tagging=_ASSOCIATION_TAGS,
)

EKS: Final = {
    "aws:eks/cluster:Cluster": CLUSTER,
    "aws:eks/nodeGroup:NodeGroup": NODE_GROUP,
    "aws:eks/addon:Addon": ADDON,
    "aws:eks/accessEntry:AccessEntry": ACCESS_ENTRY,
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": ACCESS_POLICY_ASSOCIATION,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": POD_IDENTITY_ASSOCIATION,
}
