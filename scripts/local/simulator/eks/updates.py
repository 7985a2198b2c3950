"""Changes to a cluster in place; each is done when it is answered, and can be described after."""

from typing import Any

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.clusters import check_groups, log_setup
from scripts.local.simulator.eks.common import (
    UPDATE,
    found_cluster,
    invalid,
    started,
    subnets_of,
)
from scripts.local.simulator.eks.interfaces import reattach
from scripts.local.simulator.eks.values import check_values
from scripts.local.simulator.records import Record

__all__ = ["describe_update", "list_updates", "update_cluster_config", "update_cluster_version"]

KIND_OF = {
    "logging": "LoggingUpdate",
    "resourcesVpcConfig": "EndpointAccessUpdate",
    "accessConfig": "AccessConfigUpdate",
    "upgradePolicy": "UpgradePolicyUpdate",
    "zonalShiftConfig": "ZonalShiftConfigUpdate",
    "deletionProtection": "DeletionProtectionUpdate",
    "kubernetesNetworkConfig": "AutoModeUpdate",
    "computeConfig": "AutoModeUpdate",
    "storageConfig": "AutoModeUpdate",
    "remoteNetworkConfig": "RemoteNetworkConfigUpdate",
}
MODES = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")
"""Authentication modes; a cluster only ever moves to a later one."""


@answers("eks", "UpdateClusterConfig")
def update_cluster_config(call: Call) -> Answer:
    """Change one aspect of the cluster; EKS refuses two at once, and what already is."""
    name = call.params["name"]
    cluster = found_cluster(call, name)
    check_values(call)
    asked = {key: call.params[key] for key in KIND_OF if key in call.params}
    kinds = {KIND_OF[key] for key in asked}
    if len(kinds) != 1:
        raise invalid("Only one type of update can be allowed." if kinds else "No update requested")
    for key, value in asked.items():
        after = _merged(call, cluster, key, value)
        if after == cluster.get(key):
            raise invalid(_no_change(key, after))
        cluster[key] = after
        if key == "resourcesVpcConfig" and {"subnetIds", "securityGroupIds"} & set(value):
            reattach(call, cluster)
    return {"update": started(call, name, kinds.pop(), asked)}


def _merged(call: Call, cluster: Record, key: str, value: Any) -> Any:  # noqa: ANN401 - any aspect
    before = cluster.get(key)
    if key == "logging":
        return log_setup(value, before)
    if key == "accessConfig":
        mode = value["authenticationMode"]
        if MODES.index(mode) < MODES.index(cluster[key]["authenticationMode"]):
            raise invalid(
                f"Unsupported authentication mode update from "
                f"{cluster[key]['authenticationMode']} to {mode}"
            )
        return {"authenticationMode": mode}
    if key == "resourcesVpcConfig":
        after = {**cluster[key], **value}
        subnets_of(call, after["subnetIds"])
        check_groups(call, after["securityGroupIds"], after["vpcId"])
        if not (after["endpointPublicAccess"] or after["endpointPrivateAccess"]):
            raise invalid("Private and public endpoint access cannot be false")
        return after
    return {**before, **value} if isinstance(value, dict) and before else value  # pyright: ignore[reportUnknownVariableType] - any aspect


def _no_change(key: str, value: Any) -> str:  # noqa: ANN401 - any aspect
    if key == "logging":
        return "No changes needed for the logging config provided"
    if key == "resourcesVpcConfig":
        return (
            "Cluster is already at the desired configuration with endpointPrivateAccess: "
            f"{str(value['endpointPrivateAccess']).lower()} , endpointPublicAccess: "
            f"{str(value['endpointPublicAccess']).lower()}, and Public Endpoint Restrictions: "
            f"[{', '.join(value['publicAccessCidrs'])}]"
        )
    return f"Cluster is already at the desired configuration with {key}: {value}"


@answers("eks", "UpdateClusterVersion")
def update_cluster_version(call: Call) -> Answer:
    """Move the control plane up by one minor version; the API server behind it stays the same."""
    name, version = call.params["name"], call.params["version"]
    cluster = found_cluster(call, name)
    before, after = _minor(cluster["version"]), _minor(version)
    if after == before:
        raise invalid(f"Cluster is already at version {version}")
    if after != before + 1:
        raise invalid(
            f"Unsupported Kubernetes minor version update from {cluster['version']} to {version}"
        )
    cluster["version"] = version
    return {"update": started(call, name, "VersionUpdate", {"version": version})}


def _minor(version: str) -> int:
    return int(version.split(".")[1])


@answers("eks", "AssociateEncryptionConfig")
def associate_encryption(call: Call) -> Answer:
    """Turn on the encryption of secrets; it can never be changed again."""
    name, config = call.params["clusterName"], call.params["encryptionConfig"]
    cluster = found_cluster(call, name)
    if cluster.get("encryptionConfig"):
        raise invalid("Encryption is already enabled for this cluster")
    cluster["encryptionConfig"] = config
    update = started(call, name, "AssociateEncryptionConfig", {"encryptionConfig": config})
    return {"update": update}


@answers("eks", "DescribeUpdate")
def describe_update(call: Call) -> Answer:
    """Describe an update of a cluster, node group or add-on."""
    found_cluster(call, call.params["name"])
    update = call.table(UPDATE).get(call.params["updateId"])
    if update is None or update["clusterName"] != call.params["name"]:
        raise AwsError(
            "ResourceNotFoundException", f"No update found for ID: {call.params['updateId']}"
        )
    return {"update": update}


@answers("eks", "ListUpdates")
def list_updates(call: Call) -> Answer:
    """List the ids of the updates of a cluster, node group or add-on."""
    name = call.params["name"]
    found_cluster(call, name)
    group, addon = call.params.get("nodegroupName", ""), call.params.get("addonName", "")
    return {
        "updateIds": [
            update["id"]
            for update in call.table(UPDATE).values()
            if (update["clusterName"], update["_nodegroup"], update["_addon"])
            == (name, group, addon)
        ]
    }
