"""EKS pod identity associations: which service account may act as which role."""

import random
import string

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.common import (
    ASSOCIATION,
    found_cluster,
    in_cluster,
    invalid,
    now,
    trusted_services,
)
from scripts.local.simulator.records import Record

__all__ = ["add_association", "drop_association"]

POD_IDENTITY_SERVICE = "pods.eks.amazonaws.com"
SUMMARY = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId")


def add_association(call: Call, asked: Record, owner: str | None = None) -> Record:
    """Associate a role with a service account; ``owner`` is the ARN of the add-on that asked."""
    place = (asked["clusterName"], asked["namespace"], asked["serviceAccount"])
    for other in call.table(ASSOCIATION).values():
        if (other["clusterName"], other["namespace"], other["serviceAccount"]) == place:
            raise AwsError(
                "ResourceInUseException", f"Association already exists: {other['associationId']}"
            )
    _check_role(call, asked["roleArn"])
    letters = string.ascii_lowercase + string.digits
    identity = "a-" + "".join(random.choices(letters, k=17))  # noqa: S311 - an id, not a secret
    association: Record = {
        "clusterName": asked["clusterName"],
        "namespace": asked["namespace"],
        "serviceAccount": asked["serviceAccount"],
        "roleArn": asked["roleArn"],
        "associationArn": call.arn(
            "eks", f"podidentityassociation/{asked['clusterName']}/{identity}"
        ),
        "associationId": identity,
        "tags": asked.get("tags", {}),
        "createdAt": now(),
        "modifiedAt": now(),
        "disableSessionTags": asked.get("disableSessionTags", False),
    }
    if owner is not None:
        association["ownerArn"] = owner
    if "targetRoleArn" in asked:
        association["targetRoleArn"] = asked["targetRoleArn"]
        association["externalId"] = f"{call.account}/{call.region}/{identity}"
    call.table(ASSOCIATION)[identity] = association
    return association


def drop_association(call: Call, arn: str) -> None:
    """Delete an association by its ARN, if it is still there."""
    call.table(ASSOCIATION).pop(arn.rsplit("/", 1)[-1], None)


def _check_role(call: Call, arn: str) -> None:
    services = trusted_services(call, arn)
    if services is None:
        raise invalid("Role provided in the request does not exist.")
    if POD_IDENTITY_SERVICE not in services:
        raise invalid(
            "Trust policy of the role provided in the request does not allow "
            f"{POD_IDENTITY_SERVICE} to assume it."
        )


def _found(call: Call) -> Record:
    name, identity = call.params["clusterName"], call.params["associationId"]
    found_cluster(call, name)
    association = call.table(ASSOCIATION).get(identity)
    if association is None or association["clusterName"] != name:
        raise AwsError(
            "ResourceNotFoundException",
            f"The pod identity association {identity} was not found in cluster {name}.",
        )
    return association


@answers("eks", "CreatePodIdentityAssociation")
def create_association(call: Call) -> Answer:
    """Associate a role with a service account."""
    found_cluster(call, call.params["clusterName"])
    return {"association": add_association(call, call.params)}


@answers("eks", "DescribePodIdentityAssociation")
def describe_association(call: Call) -> Answer:
    """Describe one association."""
    return {"association": _found(call)}


@answers("eks", "ListPodIdentityAssociations")
def list_associations(call: Call) -> Answer:
    """List a cluster's associations, or those of one namespace or service account."""
    name = found_cluster(call, call.params["clusterName"])["name"]
    wanted = {
        key: call.params[key] for key in ("namespace", "serviceAccount") if key in call.params
    }
    return {
        "associations": [
            {key: association[key] for key in (*SUMMARY, "ownerArn") if key in association}
            for association in in_cluster(call, ASSOCIATION, name)
            if all(association[key] == value for key, value in wanted.items())
        ]
    }


@answers("eks", "UpdatePodIdentityAssociation")
def update_association(call: Call) -> Answer:
    """Change the role of an association."""
    association = _found(call)
    if "roleArn" in call.params:
        _check_role(call, call.params["roleArn"])
    for key in ("roleArn", "disableSessionTags", "targetRoleArn"):
        if key in call.params:
            association[key] = call.params[key]
    association["modifiedAt"] = now()
    return {"association": association}


@answers("eks", "DeletePodIdentityAssociation")
def delete_association(call: Call) -> Answer:
    """Delete an association."""
    association = _found(call)
    del call.table(ASSOCIATION)[association["associationId"]]
    return {"association": association}
