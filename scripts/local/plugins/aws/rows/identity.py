"""Rows: IAM roles and their policies, KMS keys and aliases, secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import Call, Change, Hooks, Row, Tagging, tagging

if TYPE_CHECKING:
    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_ROLE: Final = {"RoleName": "$id"}


def _objects(value: Value) -> list[dict[str, Value]]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _texts(value: Value) -> list[str]:
    return [str(it) for it in value] if isinstance(value, list) else []


def _inline(value: Value) -> dict[str, str]:
    return {str(it["name"]): str(it["policy"]) for it in _objects(value) if it.get("name")}


def _read_role(item: Item, found: dict[str, Api]) -> bool:
    boundary = found.get("PermissionsBoundary")
    if isinstance(boundary, dict):
        found["PermissionsBoundary"] = boundary["PermissionsBoundaryArn"]
    attached = item.call("ListAttachedRolePolicies", RoleName=item.id)["AttachedPolicies"]
    found["ManagedPolicyArns"] = [it["PolicyArn"] for it in attached]
    names = item.call("ListRolePolicies", RoleName=item.id)["PolicyNames"]
    found["InlinePolicies"] = [
        {
            "name": name,
            "policy": item.call("GetRolePolicy", RoleName=item.id, PolicyName=name)[
                "PolicyDocument"
            ],
        }
        for name in names
    ]
    return True


def _change_role(item: Item, changed: frozenset[str]) -> None:
    if "inlinePolicies" in changed:
        _change_inline(item, _inline(item.prior.get("inlinePolicies")))
    if "managedPolicyArns" in changed:
        _change_attached(item, _texts(item.prior.get("managedPolicyArns")))
    if "permissionsBoundary" in changed:
        arn = item.props.get("permissionsBoundary")
        if arn:
            item.call("PutRolePermissionsBoundary", RoleName=item.id, PermissionsBoundary=arn)
        else:
            item.call("DeleteRolePermissionsBoundary", RoleName=item.id)


def _change_inline(item: Item, old: dict[str, str]) -> None:
    new = _inline(item.props.get("inlinePolicies"))
    for name in old.keys() - new.keys():
        item.call("DeleteRolePolicy", RoleName=item.id, PolicyName=name)
    for name, policy in new.items():
        if old.get(name) != policy:
            item.call("PutRolePolicy", RoleName=item.id, PolicyName=name, PolicyDocument=policy)


def _change_attached(item: Item, old: list[str]) -> None:
    new = _texts(item.props.get("managedPolicyArns"))
    for arn in set(old) - set(new):
        item.call("DetachRolePolicy", RoleName=item.id, PolicyArn=arn)
    for arn in set(new) - set(old):
        item.call("AttachRolePolicy", RoleName=item.id, PolicyArn=arn)


def _fill_role(item: Item) -> None:
    _change_inline(item, {})
    _change_attached(item, [])


def _delete_role(item: Item) -> None:
    """Take off what the role itself declared, or everything with ``forceDetachPolicies``."""
    everything = bool(item.prior.get("forceDetachPolicies"))
    if everything or item.props.get("managedPolicyArns"):
        for it in item.call("ListAttachedRolePolicies", RoleName=item.id)["AttachedPolicies"]:
            item.call("DetachRolePolicy", RoleName=item.id, PolicyArn=it["PolicyArn"])
    if everything or item.props.get("inlinePolicies"):
        for name in item.call("ListRolePolicies", RoleName=item.id)["PolicyNames"]:
            item.call("DeleteRolePolicy", RoleName=item.id, PolicyName=name)
    item.call("DeleteRole", RoleName=item.id)


ROLE: Final = Row(
    service="iam",
    id="{name}",
    create=Call("CreateRole"),
    read=(Call("GetRole", _ROLE, "Role"),),
    updates=(
        Change(("description", "maxSessionDuration"), Call("UpdateRole", _ROLE)),
        Change(
            ("assumeRolePolicy",),
            Call(
                "UpdateAssumeRolePolicy", {"RoleName": "$id", "PolicyDocument": "$assumeRolePolicy"}
            ),
        ),
    ),
    names={
        "name": "RoleName",
        "assumeRolePolicy": "AssumeRolePolicyDocument",
        "uniqueId": "RoleId",
    },
    replace=frozenset({"name", "namePrefix", "path"}),
    local=frozenset({"forceDetachPolicies"}),
    defaults={"forceDetachPolicies": False, "maxSessionDuration": 3600, "path": "/"},
    json=frozenset({"assumeRolePolicy", "inlinePolicies.policy"}),
    hooks=Hooks(created=_fill_role, read=_read_role, update=_change_role, delete=_delete_role),
    tagging=Tagging(Call("TagRole", _ROLE), Call("UntagRole", _ROLE), field="Tags", keys="TagKeys"),
)

_ROLE_POLICY: Final = {"RoleName": "$role", "PolicyName": "$name"}

ROLE_POLICY: Final = Row(
    service="iam",
    id="{role}:{name}",
    create=Call("PutRolePolicy"),
    read=(Call("GetRolePolicy", _ROLE_POLICY),),
    updates=(Change(("policy",), Call("PutRolePolicy", _ROLE_POLICY)),),
    delete=Call("DeleteRolePolicy", _ROLE_POLICY),
    names={"role": "RoleName", "name": "PolicyName", "policy": "PolicyDocument"},
    replace=frozenset({"name", "namePrefix", "role"}),
    json=frozenset({"policy"}),
)


def _find_attachment(item: Item, found: dict[str, Api]) -> bool:
    role, _, arn = item.id.partition("/")
    if all(it["PolicyArn"] != arn for it in found["AttachedPolicies"]):
        return False
    found |= {"role": role, "policyArn": arn}
    return True


_ATTACHMENT: Final = {"RoleName": "$role", "PolicyArn": "$policyArn"}

ROLE_POLICY_ATTACHMENT: Final = Row(
    service="iam",
    id="{role}/{policyArn}",
    create=Call("AttachRolePolicy", _ATTACHMENT),
    read=(Call("ListAttachedRolePolicies", {"RoleName": "$role"}),),
    delete=Call("DetachRolePolicy", _ATTACHMENT),
    replace=frozenset({"policyArn", "role"}),
    hooks=Hooks(read=_find_attachment),
)

_KEY: Final = {"KeyId": "$id"}


def _living_key(item: Item, found: dict[str, Api]) -> bool:
    """Call a key gone that waits for its deletion; it answers nothing more."""
    if found.get("KeyState") in {"PendingDeletion", "PendingReplicaDeletion"}:
        return False
    found["Policy"] = item.call("GetKeyPolicy", KeyId=item.id, PolicyName="default")["Policy"]
    found |= item.call("GetKeyRotationStatus", KeyId=item.id)
    return True


def _settle_key(item: Item) -> None:
    if item.props.get("enableKeyRotation"):
        _change_key(item, frozenset({"enableKeyRotation"}))
    if item.props.get("isEnabled") is False:
        item.call("DisableKey", KeyId=item.id)


def _change_key(item: Item, changed: frozenset[str]) -> None:
    if "isEnabled" in changed:
        item.call("EnableKey" if item.props.get("isEnabled") else "DisableKey", KeyId=item.id)
    if changed & {"enableKeyRotation", "rotationPeriodInDays"}:
        if item.props.get("enableKeyRotation"):
            days = item.props.get("rotationPeriodInDays")
            more = {"RotationPeriodInDays": days} if days else {}
            item.call("EnableKeyRotation", KeyId=item.id, **more)
        else:
            item.call("DisableKeyRotation", KeyId=item.id)


KEY: Final = Row(
    service="kms",
    id="KeyMetadata.KeyId",
    create=Call("CreateKey"),
    read=(Call("DescribeKey", _KEY, "KeyMetadata"),),
    updates=(
        Change(("description",), Call("UpdateKeyDescription", _KEY)),
        Change(("policy",), Call("PutKeyPolicy", {"KeyId": "$id", "PolicyName": "default"})),
    ),
    delete=Call(
        "ScheduleKeyDeletion",
        {"KeyId": "$id", "PendingWindowInDays": "$deletionWindowInDays"},
    ),
    names={
        "customerMasterKeySpec": "KeySpec|CustomerMasterKeySpec",
        "isEnabled": "Enabled",
        "enableKeyRotation": "KeyRotationEnabled",
    },
    replace=frozenset({"customerMasterKeySpec", "keyUsage", "multiRegion"}),
    local=frozenset({"bypassPolicyLockoutSafetyCheck", "deletionWindowInDays"}),
    refused=frozenset({"customKeyStoreId", "xksKeyId"}),
    defaults={
        "bypassPolicyLockoutSafetyCheck": False,
        "customerMasterKeySpec": "SYMMETRIC_DEFAULT",
        "enableKeyRotation": False,
        "isEnabled": True,
        "keyUsage": "ENCRYPT_DECRYPT",
    },
    json=frozenset({"policy"}),
    hooks=Hooks(created=_settle_key, read=_living_key, update=_change_key),
    tagging=tagging("KeyId", "$id", "Tags", "TagKeys", "ListResourceTags"),
)


def _key_of_alias(item: Item, found: dict[str, Api]) -> bool:
    """Keep a target that the program names by its ARN; the API shows the id."""
    key = str(found.get("TargetKeyId", ""))
    given = str(item.prior.get("targetKeyId") or "")
    if given.endswith(f"/{key}"):
        found["TargetKeyId"] = given
    region, account = item.region, item.session.account
    found["TargetKeyArn"] = f"arn:{item.session.partition}:kms:{region}:{account}:key/{key}"
    return True


_ALIAS: Final = {"AliasName": "$id"}

ALIAS: Final = Row(
    service="kms",
    id="{name}",
    create=Call("CreateAlias"),
    read=(Call("ListAliases", {}, "Aliases[?AliasName=='$id'] | [0]"),),
    updates=(Change(("targetKeyId",), Call("UpdateAlias", _ALIAS)),),
    delete=Call("DeleteAlias", _ALIAS),
    names={"name": "AliasName", "arn": "AliasArn"},
    replace=frozenset({"name", "namePrefix"}),
    hooks=Hooks(read=_key_of_alias),
    autoname_form="alias/{}",
)

_SECRET: Final = {"SecretId": "$id"}


def _living_secret(item: Item, found: dict[str, Api]) -> bool:
    if found.get("DeletedDate"):
        return False
    found["policy"] = item.call("GetResourcePolicy", SecretId=item.id).get("ResourcePolicy")
    return True


def _set_policy(item: Item) -> None:
    if item.props.get("policy"):
        item.call("PutResourcePolicy", SecretId=item.id, ResourcePolicy=item.props["policy"])


def _change_secret(item: Item, changed: frozenset[str]) -> None:
    if "policy" in changed:
        if item.props.get("policy"):
            _set_policy(item)
        else:
            item.call("DeleteResourcePolicy", SecretId=item.id)


def _delete_secret(item: Item) -> None:
    days = item.prior.get("recoveryWindowInDays")
    how = {"ForceDeleteWithoutRecovery": True} if days == 0 else {"RecoveryWindowInDays": days}
    item.call("DeleteSecret", SecretId=item.id, **how)


SECRET: Final = Row(
    service="secretsmanager",
    id="ARN",
    create=Call("CreateSecret"),
    read=(Call("DescribeSecret", _SECRET),),
    updates=(Change(("description", "kmsKeyId"), Call("UpdateSecret", _SECRET)),),
    replace=frozenset({"name", "namePrefix"}),
    local=frozenset({"forceOverwriteReplicaSecret", "recoveryWindowInDays"}),
    refused=frozenset({"replicas", "type"}),
    defaults={"forceOverwriteReplicaSecret": False, "recoveryWindowInDays": 30},
    json=frozenset({"policy"}),
    hooks=Hooks(
        created=_set_policy, read=_living_secret, update=_change_secret, delete=_delete_secret
    ),
    tagging=tagging("SecretId", "$id", "Tags", "TagKeys"),
)

IDENTITY: Final = {
    "aws:iam/role:Role": ROLE,
    "aws:iam/rolePolicy:RolePolicy": ROLE_POLICY,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ROLE_POLICY_ATTACHMENT,
    "aws:kms/key:Key": KEY,
    "aws:kms/alias:Alias": ALIAS,
    "aws:secretsmanager/secret:Secret": SECRET,
}
