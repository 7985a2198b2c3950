"""Rows: FSx for Lustre, data repository associations, ECR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import Call, Change, Hooks, Row, Wait, tagging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_FSX_TAGS: Final = tagging("ResourceARN", "$arn", "Tags", "TagKeys")
_UPDATED: Final = (
    "autoImportPolicy",
    "automaticBackupRetentionDays",
    "dailyAutomaticBackupStartTime",
    "dataCompressionType",
    "dataReadCacheConfiguration",
    "logConfiguration",
    "metadataConfiguration",
    "perUnitStorageThroughput",
    "rootSquashConfiguration",
    "storageCapacity",
    "throughputCapacity",
    "weeklyMaintenanceStartTime",
)


def _delete_file_system(item: Item) -> None:
    """Only a persistent file system can have a last backup."""
    more: dict[str, Api] = {}
    if str(item.prior.get("deploymentType", "")).startswith("PERSISTENT"):
        more = {"LustreConfiguration": {"SkipFinalBackup": item.prior.get("skipFinalBackup", True)}}
    item.call("DeleteFileSystem", FileSystemId=item.id, **more)


def _shrinks(old: Mapping[str, Value], new: Mapping[str, Value]) -> frozenset[str]:
    """Replace a file system that shrinks; it grows in place."""
    before, after = old.get("storageCapacity"), new.get("storageCapacity")
    if isinstance(before, int) and isinstance(after, int) and after < before:
        return frozenset({"storageCapacity"})
    return frozenset()


LUSTRE_FILE_SYSTEM: Final = Row(
    service="fsx",
    id="FileSystem.FileSystemId",
    create=Call("CreateFileSystem", {"FileSystemType": "LUSTRE"}),
    read=(Call("DescribeFileSystems", {"FileSystemIds": ["$id"]}, "FileSystems[0]"),),
    updates=(Change(_UPDATED, Call("UpdateFileSystem", {"FileSystemId": "$id"})),),
    names={
        "arn": "ResourceARN",
        "exportPath": "DataRepositoryConfiguration.ExportPath|ExportPath",
        "importPath": "DataRepositoryConfiguration.ImportPath|ImportPath",
    },
    nested=("LustreConfiguration",),
    replace=frozenset(
        {
            "copyTagsToBackups",
            "deploymentType",
            "driveCacheType",
            "efaEnabled",
            "exportPath",
            "fileSystemTypeVersion",
            "importPath",
            "importedFileChunkSize",
            "kmsKeyId",
            "securityGroupIds",
            "storageType",
            "subnetIds",
        }
    ),
    local=frozenset({"finalBackupTags", "securityGroupIds", "skipFinalBackup"}),
    refused=frozenset({"backupId"}),
    defaults={
        "copyTagsToBackups": False,
        "dataCompressionType": "NONE",
        "deploymentType": "SCRATCH_1",
        "skipFinalBackup": True,
        "storageType": "SSD",
    },
    unknown=frozenset({"metadataConfiguration.iops"}),
    wait=Wait("Lifecycle", ready=("AVAILABLE",), failed=("FAILED", "MISCONFIGURED")),
    hooks=Hooks(delete=_delete_file_system, replaces=_shrinks),
    tagging=_FSX_TAGS,
)

_ASSOCIATION: Final = {"AssociationId": "$id"}

DATA_REPOSITORY_ASSOCIATION: Final = Row(
    service="fsx",
    id="Association.AssociationId",
    create=Call("CreateDataRepositoryAssociation"),
    read=(
        Call("DescribeDataRepositoryAssociations", {"AssociationIds": ["$id"]}, "Associations[0]"),
    ),
    updates=(
        Change(
            ("importedFileChunkSize", "s3"),
            Call("UpdateDataRepositoryAssociation", _ASSOCIATION),
        ),
    ),
    delete=Call(
        "DeleteDataRepositoryAssociation",
        {**_ASSOCIATION, "DeleteDataInFileSystem": "$deleteDataInFilesystem"},
    ),
    names={"arn": "ResourceARN"},
    replace=frozenset(
        {"batchImportMetaDataOnCreate", "dataRepositoryPath", "fileSystemId", "fileSystemPath"}
    ),
    local=frozenset({"batchImportMetaDataOnCreate", "deleteDataInFilesystem"}),
    defaults={"batchImportMetaDataOnCreate": False, "deleteDataInFilesystem": False},
    wait=Wait("Lifecycle", ready=("AVAILABLE",), failed=("FAILED", "MISCONFIGURED")),
    tagging=_FSX_TAGS,
    clash=True,
)

_REPOSITORY: Final = {"repositoryName": "$id"}

REPOSITORY: Final = Row(
    service="ecr",
    id="{name}",
    create=Call("CreateRepository"),
    read=(Call("DescribeRepositories", {"repositoryNames": ["$id"]}, "repositories[0]"),),
    updates=(
        Change(
            ("imageTagMutability", "imageTagMutabilityExclusionFilters"),
            Call("PutImageTagMutability", _REPOSITORY),
        ),
        Change(
            ("imageScanningConfiguration",),
            Call("PutImageScanningConfiguration", _REPOSITORY),
        ),
    ),
    delete=Call("DeleteRepository", {**_REPOSITORY, "force": "$forceDelete"}),
    names={
        "arn": "repositoryArn",
        "encryptionConfigurations": "encryptionConfiguration",
        "name": "repositoryName",
        "repositoryUrl": "repositoryUri",
    },
    replace=frozenset({"encryptionConfigurations", "name"}),
    local=frozenset({"forceDelete"}),
    defaults={"imageTagMutability": "MUTABLE"},
    tagging=tagging("resourceArn", "$arn", "tags", "tagKeys", "ListTagsForResource"),
)

LIFECYCLE_POLICY: Final = Row(
    service="ecr",
    id="{repository}",
    create=Call("PutLifecyclePolicy"),
    read=(Call("GetLifecyclePolicy", _REPOSITORY),),
    delete=Call("DeleteLifecyclePolicy", _REPOSITORY),
    names={"policy": "lifecyclePolicyText", "repository": "repositoryName"},
    replace=frozenset({"policy", "repository"}),
    json=frozenset({"policy"}),
)

STORAGE: Final = {
    "aws:fsx/lustreFileSystem:LustreFileSystem": LUSTRE_FILE_SYSTEM,
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": DATA_REPOSITORY_ASSOCIATION,
    "aws:ecr/repository:Repository": REPOSITORY,
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": LIFECYCLE_POLICY,
}
