"""FSx data repository associations: links between a file system's paths and S3."""

from datetime import UTC, datetime

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.fsx.common import (
    ASSOCIATION,
    bad_request,
    found_file_system,
    hex_id,
)
from scripts.local.simulator.records import Record

__all__ = ["create", "delete", "describe", "update"]

FILTERS = {"file-system-id": "FileSystemId", "data-repository-type": "_type"}


@answers("fsx", "CreateDataRepositoryAssociation")
def create(call: Call) -> Answer:
    """Link a path of a file system to a bucket or prefix."""
    asked = call.params
    file_system = found_file_system(call, asked["FileSystemId"])
    if file_system["LustreConfiguration"]["DeploymentType"] == "SCRATCH_1":
        raise bad_request("Data repository associations are not supported on SCRATCH_1")
    path = asked.get("FileSystemPath", "/")
    _check_free(call, asked["FileSystemId"], path)
    _check_bucket(call, asked["DataRepositoryPath"])
    identity = hex_id("dra")
    link: Record = {
        "AssociationId": identity,
        "ResourceARN": call.arn("fsx", f"association/{asked['FileSystemId']}/{identity}"),
        "FileSystemId": asked["FileSystemId"],
        "Lifecycle": "AVAILABLE",
        "FileSystemPath": path,
        "DataRepositoryPath": asked["DataRepositoryPath"],
        "BatchImportMetaDataOnCreate": asked.get("BatchImportMetaDataOnCreate", False),
        "ImportedFileChunkSize": asked.get("ImportedFileChunkSize", 1024),
        "S3": asked.get("S3", {}),
        "Tags": asked.get("Tags", []),
        "CreationTime": datetime.now(UTC),
        "_type": "S3",
    }
    call.table(ASSOCIATION)[identity] = link
    return {"Association": link}


def _check_free(call: Call, file_system: str, path: str) -> None:
    """No link may lie above or below another one of the same file system."""
    for other in call.table(ASSOCIATION).values():
        taken = other["FileSystemPath"]
        if other["FileSystemId"] == file_system and (_within(path, taken) or _within(taken, path)):
            raise bad_request(
                f"File system path {path} overlaps with {taken} of data repository association "
                f"{other['AssociationId']}"
            )


def _within(path: str, folder: str) -> bool:
    return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def _check_bucket(call: Call, path: str) -> None:
    bucket = path.removeprefix("s3://").split("/")[0]
    if not path.startswith("s3://") or not bucket:
        raise bad_request(f"DataRepositoryPath {path} must have the form s3://bucket/prefix/")
    try:
        call.ask("s3", "HeadBucket", Bucket=bucket)
    except AwsError:
        raise bad_request(
            f"The S3 bucket {bucket} does not exist or Amazon FSx may not access it"
        ) from None


def _found(call: Call, identity: str) -> Record:
    link = call.table(ASSOCIATION).get(identity)
    if link is None:
        raise AwsError(
            "DataRepositoryAssociationNotFound",
            f"Data repository association '{identity}' does not exist.",
        )
    return link


@answers("fsx", "DescribeDataRepositoryAssociations")
def describe(call: Call) -> Answer:
    """Describe links by id, or by file system."""
    ids = call.params.get("AssociationIds", [])
    links = [_found(call, identity) for identity in ids] or list(call.table(ASSOCIATION).values())
    for one in call.params.get("Filters", []):
        if one["Name"] not in FILTERS:
            raise NotImplementedError(f"filter {one['Name']}")
        links = [link for link in links if link[FILTERS[one["Name"]]] in one["Values"]]
    return {"Associations": links}


@answers("fsx", "UpdateDataRepositoryAssociation")
def update(call: Call) -> Answer:
    """Change chunk size or the import and export policies."""
    link = _found(call, call.params["AssociationId"])
    if "ImportedFileChunkSize" in call.params:
        link["ImportedFileChunkSize"] = call.params["ImportedFileChunkSize"]
    if "S3" in call.params:
        link["S3"] = {**link["S3"], **call.params["S3"]}
    return {"Association": link}


@answers("fsx", "DeleteDataRepositoryAssociation")
def delete(call: Call) -> Answer:
    """Take a link away."""
    link = _found(call, call.params["AssociationId"])
    del call.table(ASSOCIATION)[link["AssociationId"]]
    return {
        "AssociationId": link["AssociationId"],
        "Lifecycle": "DELETING",
        "DeleteDataInFileSystem": call.params.get("DeleteDataInFileSystem", False),
    }
