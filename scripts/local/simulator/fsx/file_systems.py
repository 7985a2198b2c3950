"""FSx for Lustre file systems, available at once."""

import secrets
import string
import uuid
from datetime import UTC, datetime

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.fsx.common import (
    ASSOCIATION,
    FILE_SYSTEM,
    bad_request,
    found_file_system,
    hex_id,
)
from scripts.local.simulator.records import Record

__all__ = ["create", "delete", "describe", "update"]

CREATION_KEYS = {
    "CopyTagsToBackups",
    "DailyAutomaticBackupStartTime",
    "DataCompressionType",
    "DataReadCacheConfiguration",
    "DriveCacheType",
    "EfaEnabled",
    "LogConfiguration",
    "PerUnitStorageThroughput",
    "RootSquashConfiguration",
    "ThroughputCapacity",
    "WeeklyMaintenanceStartTime",
}
"""Parts of LustreConfiguration that FSx describes as they were asked for."""

UPDATE_KEYS = {
    "AutomaticBackupRetentionDays",
    "DailyAutomaticBackupStartTime",
    "DataCompressionType",
    "DataReadCacheConfiguration",
    "LogConfiguration",
    "MetadataConfiguration",
    "PerUnitStorageThroughput",
    "RootSquashConfiguration",
    "ThroughputCapacity",
    "WeeklyMaintenanceStartTime",
}
PERSISTENT = ("PERSISTENT_1", "PERSISTENT_2")
FIRST_GIB, STEP_GIB = 1200, 2400
METADATA_STEPS = (
    (1200, 1500),
    (2400, 3000),
    (9600, 6000),
)
"""Automatic metadata IOPS up to a capacity in GiB; above, 12,000 per 24,000 GiB begun."""


@answers("fsx", "CreateFileSystem")
def create(call: Call) -> Answer:
    """Make a Lustre file system with its network interface."""
    asked = call.params
    if asked["FileSystemType"] != "LUSTRE":
        raise NotImplementedError(f"file systems of type {asked['FileSystemType']}")
    lustre = asked.get("LustreConfiguration", {})
    subnet = _subnet(call)
    _check_capacity(asked.get("StorageCapacity"), lustre)
    identity = hex_id("fs")
    file_system: Record = {
        "OwnerId": call.account,
        "CreationTime": datetime.now(UTC),
        "FileSystemId": identity,
        "FileSystemType": "LUSTRE",
        "FileSystemTypeVersion": asked.get("FileSystemTypeVersion", "2.15"),
        "Lifecycle": "AVAILABLE",
        "StorageType": asked.get("StorageType", "SSD"),
        "VpcId": subnet["VpcId"],
        "SubnetIds": asked["SubnetIds"],
        "NetworkInterfaceIds": [_interface(call, identity)],
        "DNSName": f"{identity}.fsx.{call.region}.amazonaws.com",
        "ResourceARN": call.arn("fsx", f"file-system/{identity}"),
        "Tags": asked.get("Tags", []),
        "AdministrativeActions": [],
        "LustreConfiguration": _lustre(asked, lustre),
    }
    if "StorageCapacity" in asked:
        file_system["StorageCapacity"] = asked["StorageCapacity"]
    if lustre.get("DeploymentType") in PERSISTENT:
        file_system["KmsKeyId"] = _key(call, asked.get("KmsKeyId"))
    call.table(FILE_SYSTEM)[identity] = file_system
    return {"FileSystem": file_system}


def _subnet(call: Call) -> Record:
    try:
        subnets = call.ask("ec2", "DescribeSubnets", SubnetIds=call.params["SubnetIds"])["Subnets"]
        groups = call.params.get("SecurityGroupIds")
        if groups:
            call.ask("ec2", "DescribeSecurityGroups", GroupIds=groups)
    except AwsError as error:
        raise AwsError("InvalidNetworkSettings", error.message) from None
    if len(subnets) != 1:
        raise AwsError(
            "InvalidNetworkSettings", "Exactly one subnet must be specified for Lustre file systems"
        )
    return subnets[0]


def _check_capacity(gib: int | None, lustre: Record) -> None:
    kind = lustre.get("DeploymentType", "SCRATCH_1")
    if (
        kind in PERSISTENT
        and "PerUnitStorageThroughput" not in lustre
        and ("ThroughputCapacity" not in lustre)
    ):
        raise bad_request(f"PerUnitStorageThroughput must be specified for deployment type {kind}")
    if "ThroughputCapacity" in lustre:
        return
    if gib is None:
        raise bad_request("StorageCapacity must be specified")
    if kind == "PERSISTENT_2" and gib != FIRST_GIB and (gib <= 0 or gib % STEP_GIB):
        raise bad_request(
            f"Invalid storage capacity {gib} GiB: valid values for {kind} are {FIRST_GIB} GiB "
            f"and increments of {STEP_GIB} GiB"
        )


def _interface(call: Call, identity: str) -> str:
    interface: str = call.ask(
        "ec2",
        "CreateNetworkInterface",
        SubnetId=call.params["SubnetIds"][0],
        Groups=call.params.get("SecurityGroupIds"),
        Description=f"Created By Amazon FSx for {call.arn('fsx', f'file-system/{identity}')}",
    )["NetworkInterface"]["NetworkInterfaceId"]
    return interface


def _key(call: Call, key: str | None) -> str:
    """Return the key's ARN; without one FSx uses the account's own, made by AWS."""
    if key is None:
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{call.account}/{call.region}/alias/aws/fsx")
        return call.arn("kms", f"key/{identity}")
    try:
        arn: str = call.ask("kms", "DescribeKey", KeyId=key)["KeyMetadata"]["Arn"]
    except AwsError as error:
        raise bad_request(f"KmsKeyId {key} cannot be used: {error.message}") from None
    return arn


def _lustre(asked: Record, lustre: Record) -> Record:
    kind = lustre.get("DeploymentType", "SCRATCH_1")
    letters = string.ascii_lowercase + string.digits
    mount = "".join(secrets.choice(letters) for _ in range(8))
    described: Record = {
        "DeploymentType": kind,
        "MountName": "fsx" if kind == "SCRATCH_1" else mount,
        "WeeklyMaintenanceStartTime": "1:05:00",
        "DataCompressionType": "NONE",
        "CopyTagsToBackups": False,
        "LogConfiguration": {"Level": "DISABLED"},
        "EfaEnabled": False,
        **{key: lustre[key] for key in CREATION_KEYS if key in lustre},
    }
    if kind in PERSISTENT:
        described["AutomaticBackupRetentionDays"] = lustre.get("AutomaticBackupRetentionDays", 0)
    if "ImportPath" in lustre:
        described["DataRepositoryConfiguration"] = {
            "Lifecycle": "AVAILABLE",
            "ImportPath": lustre["ImportPath"],
            "ExportPath": lustre.get("ExportPath", lustre["ImportPath"]),
            "ImportedFileChunkSize": lustre.get("ImportedFileChunkSize", 1024),
            "AutoImportPolicy": lustre.get("AutoImportPolicy", "NONE"),
        }
    if "MetadataConfiguration" in lustre:
        described["MetadataConfiguration"] = _metadata(
            asked.get("StorageCapacity", FIRST_GIB), lustre["MetadataConfiguration"]
        )
    return described


def _metadata(gib: int, asked: Record) -> Record:
    if asked["Mode"] == "USER_PROVISIONED":
        if "Iops" not in asked:
            raise bad_request("Iops must be specified for metadata mode USER_PROVISIONED")
        return {"Mode": asked["Mode"], "Iops": asked["Iops"]}
    for upto, iops in METADATA_STEPS:
        if gib <= upto:
            return {"Mode": "AUTOMATIC", "Iops": iops}
    return {"Mode": "AUTOMATIC", "Iops": 12000 * -(-gib // 24000)}


@answers("fsx", "DescribeFileSystems")
def describe(call: Call) -> Answer:
    """Describe all file systems, or those named."""
    ids = call.params.get("FileSystemIds")
    if ids:
        return {"FileSystems": [found_file_system(call, identity) for identity in ids]}
    return {"FileSystems": list(call.table(FILE_SYSTEM).values())}


@answers("fsx", "UpdateFileSystem")
def update(call: Call) -> Answer:
    """Change a file system in place; done when it is answered."""
    file_system = found_file_system(call, call.params["FileSystemId"])
    lustre = call.params.get("LustreConfiguration", {})
    if "StorageCapacity" in call.params:
        _grow(file_system, call.params["StorageCapacity"])
    if "FileSystemTypeVersion" in call.params:
        file_system["FileSystemTypeVersion"] = call.params["FileSystemTypeVersion"]
    described = file_system["LustreConfiguration"]
    described |= {key: lustre[key] for key in UPDATE_KEYS if key in lustre}
    if "MetadataConfiguration" in lustre:
        described["MetadataConfiguration"] = _metadata(
            file_system.get("StorageCapacity", FIRST_GIB), lustre["MetadataConfiguration"]
        )
    file_system["AdministrativeActions"] = [
        {
            "AdministrativeActionType": "FILE_SYSTEM_UPDATE",
            "Status": "COMPLETED",
            "RequestTime": datetime.now(UTC),
            "TargetFileSystemValues": {"LustreConfiguration": lustre},
        }
    ]
    return {"FileSystem": file_system}


def _grow(file_system: Record, gib: int) -> None:
    before = file_system["StorageCapacity"]
    if gib <= before:
        raise bad_request(
            f"Invalid storage capacity {gib} GiB: it must be greater than the current {before} GiB"
        )
    _check_capacity(gib, file_system["LustreConfiguration"])
    file_system["StorageCapacity"] = gib


@answers("fsx", "DeleteFileSystem")
def delete(call: Call) -> Answer:
    """Delete a file system with its links and its network interface."""
    identity = call.params["FileSystemId"]
    file_system = found_file_system(call, identity)
    links = call.table(ASSOCIATION)
    for key in [key for key, link in links.items() if link["FileSystemId"] == identity]:
        del links[key]
    for interface in file_system["NetworkInterfaceIds"]:
        call.ask("ec2", "DeleteNetworkInterface", NetworkInterfaceId=interface)
    del call.table(FILE_SYSTEM)[identity]
    return {"FileSystemId": identity, "Lifecycle": "DELETING", "LustreResponse": {}}
