"""FSx for Lustre: file systems, their links to S3, and refusals."""

from typing import Any

import pytest

from .conftest import Account, refusal

PERSISTENT = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 500}


def file_system(account: Account, subnet: str, **lustre: object) -> dict[str, Any]:
    made: dict[str, Any] = account.client("fsx").create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=4800,
        SubnetIds=[subnet],
        LustreConfiguration={**PERSISTENT, **lustre},
        Tags=[{"Key": "team", "Value": "ml"}],
    )["FileSystem"]
    return made


def test_a_file_system_reads_back_with_what_a_mount_needs(account: Account) -> None:
    vpc = account.vpc()
    subnet = account.subnet(vpc)
    made = file_system(
        account, subnet, EfaEnabled=True, MetadataConfiguration={"Mode": "AUTOMATIC"}
    )
    identity = made["FileSystemId"]
    [described] = account.client("fsx").describe_file_systems(FileSystemIds=[identity])[
        "FileSystems"
    ]
    assert described == made
    assert described["Lifecycle"] == "AVAILABLE"
    assert described["DNSName"] == f"{identity}.fsx.us-east-1.amazonaws.com"
    assert (described["VpcId"], described["SubnetIds"]) == (vpc, [subnet])
    lustre = described["LustreConfiguration"]
    assert len(lustre["MountName"]) == 8
    assert (lustre["EfaEnabled"], lustre["PerUnitStorageThroughput"]) == (True, 500)
    assert lustre["MetadataConfiguration"] == {"Mode": "AUTOMATIC", "Iops": 6000}
    assert described["Tags"] == [{"Key": "team", "Value": "ml"}]


def test_a_file_system_holds_its_subnet_until_it_is_deleted(account: Account) -> None:
    fsx, ec2, subnet = account.client("fsx"), account.client("ec2"), account.subnet(account.vpc())
    made = file_system(account, subnet)
    [interface] = ec2.describe_network_interfaces(NetworkInterfaceIds=made["NetworkInterfaceIds"])[
        "NetworkInterfaces"
    ]
    assert interface["Description"] == f"Created By Amazon FSx for {made['ResourceARN']}"
    assert refusal(ec2.delete_subnet, SubnetId=subnet)[0] == "DependencyViolation"
    fsx.delete_file_system(FileSystemId=made["FileSystemId"])
    ec2.delete_subnet(SubnetId=subnet)
    assert refusal(fsx.describe_file_systems, FileSystemIds=[made["FileSystemId"]]) == (
        "FileSystemNotFound",
        f"File system '{made['FileSystemId']}' does not exist.",
    )


def test_a_file_system_changes_in_place(account: Account) -> None:
    fsx = account.client("fsx")
    made = file_system(account, account.subnet(account.vpc()))
    changed = fsx.update_file_system(
        FileSystemId=made["FileSystemId"],
        StorageCapacity=7200,
        LustreConfiguration={"PerUnitStorageThroughput": 1000, "DataCompressionType": "LZ4"},
    )["FileSystem"]
    lustre = changed["LustreConfiguration"]
    assert changed["StorageCapacity"] == 7200
    assert (lustre["PerUnitStorageThroughput"], lustre["DataCompressionType"]) == (1000, "LZ4")
    [action] = changed["AdministrativeActions"]
    assert (action["AdministrativeActionType"], action["Status"]) == (
        "FILE_SYSTEM_UPDATE",
        "COMPLETED",
    )
    assert refusal(
        fsx.update_file_system, FileSystemId=made["FileSystemId"], StorageCapacity=4800
    ) == (
        "BadRequest",
        "Invalid storage capacity 4800 GiB: it must be greater than the current 7200 GiB",
    )


@pytest.mark.parametrize(
    ("gib", "iops"),
    [(1200, 1500), (2400, 3000), (4800, 6000), (9600, 6000), (12000, 12000), (48000, 24000)],
)
def test_automatic_metadata_grows_with_the_capacity(account: Account, gib: int, iops: int) -> None:
    made = account.client("fsx").create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=gib,
        SubnetIds=[account.subnet(account.vpc())],
        LustreConfiguration={**PERSISTENT, "MetadataConfiguration": {"Mode": "AUTOMATIC"}},
    )["FileSystem"]
    assert made["LustreConfiguration"]["MetadataConfiguration"]["Iops"] == iops


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (
            {"StorageCapacity": 3000},
            (
                "BadRequest",
                (
                    "Invalid storage capacity 3000 GiB: valid values for PERSISTENT_2 are 1200 GiB "
                    "and increments of 2400 GiB"
                ),
            ),
        ),
        (
            {"LustreConfiguration": {"DeploymentType": "PERSISTENT_2"}},
            (
                "BadRequest",
                "PerUnitStorageThroughput must be specified for deployment type PERSISTENT_2",
            ),
        ),
        (
            {"SubnetIds": ["subnet-0123456789abcdef0"]},
            (
                "InvalidNetworkSettings",
                "The subnet ID 'subnet-0123456789abcdef0' does not exist",
            ),
        ),
        (
            {"SecurityGroupIds": ["sg-0123456789abcdef0"]},
            (
                "InvalidNetworkSettings",
                "The security group 'sg-0123456789abcdef0' does not exist",
            ),
        ),
        (
            {"KmsKeyId": "alias/none"},
            (
                "BadRequest",
                (
                    "KmsKeyId alias/none cannot be used: Alias arn:aws:kms:us-east-1:{}:alias/none "
                    "is not found."
                ),
            ),
        ),
    ],
)
def test_a_file_system_that_fsx_does_not_make_is_refused(
    account: Account, params: dict[str, Any], expected: tuple[str, str]
) -> None:
    asked = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": 4800,
        "SubnetIds": [account.subnet(account.vpc())],
        "LustreConfiguration": PERSISTENT,
        **params,
    }
    code, message = expected
    refused = refusal(account.client("fsx").create_file_system, **asked)
    assert refused == (code, message.format(account.number))


def test_a_link_to_a_bucket_comes_changes_and_goes(account: Account) -> None:
    fsx, bucket = account.client("fsx"), f"data-{account.number}"
    account.client("s3").create_bucket(Bucket=bucket)
    identity = file_system(account, account.subnet(account.vpc()))["FileSystemId"]
    policy = {"AutoImportPolicy": {"Events": ["NEW", "CHANGED"]}}
    made = fsx.create_data_repository_association(
        FileSystemId=identity,
        FileSystemPath="/data",
        DataRepositoryPath=f"s3://{bucket}/sets/",
        BatchImportMetaDataOnCreate=True,
        S3=policy,
        Tags=[{"Key": "a", "Value": "b"}],
    )["Association"]
    filters = [{"Name": "file-system-id", "Values": [identity]}]
    [described] = fsx.describe_data_repository_associations(Filters=filters)["Associations"]
    assert described == made
    assert (described["Lifecycle"], described["S3"]) == ("AVAILABLE", policy)
    link = {"AssociationId": made["AssociationId"]}
    export = {"AutoExportPolicy": {"Events": ["NEW"]}}
    changed = fsx.update_data_repository_association(**link, S3=export)["Association"]
    assert changed["S3"] == {**policy, **export}
    fsx.tag_resource(ResourceARN=made["ResourceARN"], Tags=[{"Key": "c", "Value": "d"}])
    fsx.untag_resource(ResourceARN=made["ResourceARN"], TagKeys=["a"])
    assert fsx.list_tags_for_resource(ResourceARN=made["ResourceARN"])["Tags"] == [
        {"Key": "c", "Value": "d"}
    ]
    fsx.delete_data_repository_association(**link)
    assert refusal(
        fsx.describe_data_repository_associations, AssociationIds=[made["AssociationId"]]
    ) == (
        "DataRepositoryAssociationNotFound",
        f"Data repository association '{made['AssociationId']}' does not exist.",
    )


def test_links_do_not_overlap_and_their_bucket_exists(account: Account) -> None:
    fsx, bucket = account.client("fsx"), f"data-{account.number}"
    account.client("s3").create_bucket(Bucket=bucket)
    identity = file_system(account, account.subnet(account.vpc()))["FileSystemId"]
    create = fsx.create_data_repository_association
    link = create(
        FileSystemId=identity, FileSystemPath="/data", DataRepositoryPath=f"s3://{bucket}/"
    )["Association"]["AssociationId"]
    common = {"FileSystemId": identity, "DataRepositoryPath": f"s3://{bucket}/"}
    assert refusal(create, **common, FileSystemPath="/data/a") == (
        "BadRequest",
        f"File system path /data/a overlaps with /data of data repository association {link}",
    )
    assert refusal(
        create, FileSystemId=identity, FileSystemPath="/b", DataRepositoryPath="s3://no-bucket-x/"
    ) == (
        "BadRequest",
        "The S3 bucket no-bucket-x does not exist or Amazon FSx may not access it",
    )
    create(**common, FileSystemPath="/database")
