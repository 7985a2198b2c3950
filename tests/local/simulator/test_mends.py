"""Services of moto that are mended: what is written reads back, and refusals are AWS's."""

import json
from typing import Any

import pytest

from .conftest import Account, refusal

POLICY = json.dumps({"Version": "2012-10-17", "Statement": []})


def test_a_key_rotates_as_often_as_it_was_told(account: Account) -> None:
    kms = account.client("kms")
    key = kms.create_key()["KeyMetadata"]
    assert key["KeyUsage"] == "ENCRYPT_DECRYPT"
    kms.enable_key_rotation(KeyId=key["KeyId"], RotationPeriodInDays=180)
    status = kms.get_key_rotation_status(KeyId=key["KeyId"])
    assert (status["KeyRotationEnabled"], status["RotationPeriodInDays"]) == (True, 180)
    kms.disable_key_rotation(KeyId=key["KeyId"])
    assert kms.get_key_rotation_status(KeyId=key["KeyId"])["KeyRotationEnabled"] is False


def test_a_key_that_waits_for_its_deletion_cannot_be_changed(account: Account) -> None:
    kms = account.client("kms")
    key = kms.create_key(Tags=[{"TagKey": "a", "TagValue": "b"}])["KeyMetadata"]
    answer = kms.schedule_key_deletion(KeyId=key["KeyId"], PendingWindowInDays=7)
    assert (answer["KeyState"], answer["PendingWindowInDays"]) == ("PendingDeletion", 7)
    pending = ("KMSInvalidStateException", f"{key['Arn']} is pending deletion.")
    alias = {"AliasName": "alias/a", "TargetKeyId": key["KeyId"]}
    assert refusal(kms.create_alias, **alias) == pending
    assert refusal(kms.schedule_key_deletion, KeyId=key["KeyId"]) == pending
    assert refusal(kms.enable_key, KeyId=key["KeyId"]) == pending


def test_a_key_policy_is_json(account: Account) -> None:
    assert refusal(account.client("kms").create_key, Policy="{") == (
        "MalformedPolicyDocumentException",
        "The new key policy is not valid JSON.",
    )


def test_roles_trust_in_json_and_keep_what_is_attached(account: Account) -> None:
    iam = account.client("iam")
    malformed = ("MalformedPolicyDocument", "This policy contains invalid Json")
    assert refusal(iam.create_role, RoleName="a", AssumeRolePolicyDocument="{") == malformed
    account.role("a", "eks.amazonaws.com")
    policy = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    iam.attach_role_policy(RoleName="a", PolicyArn=policy)
    assert refusal(iam.delete_role, RoleName="a")[0] == "DeleteConflict"
    iam.detach_role_policy(RoleName="a", PolicyArn=policy)
    iam.delete_role(RoleName="a")
    assert refusal(iam.get_role, RoleName="a") == (
        "NoSuchEntity",
        "The role with name a cannot be found.",
    )


def test_a_log_group_keeps_its_class_key_and_days(account: Account) -> None:
    logs = account.client("logs")
    logs.create_log_group(logGroupName="/a", logGroupClass="INFREQUENT_ACCESS", tags={"a": "b"})
    logs.put_retention_policy(logGroupName="/a", retentionInDays=30)
    logs.associate_kms_key(logGroupName="/a", kmsKeyId="arn:aws:kms:us-east-1:1:key/a")
    [group] = logs.describe_log_groups(logGroupNamePrefix="/a")["logGroups"]
    assert (group["logGroupClass"], group["kmsKeyId"], group["retentionInDays"]) == (
        "INFREQUENT_ACCESS",
        "arn:aws:kms:us-east-1:1:key/a",
        30,
    )
    logs.disassociate_kms_key(logGroupName="/a")
    [group] = logs.describe_log_groups(logGroupNamePrefix="/a")["logGroups"]
    assert "kmsKeyId" not in group
    assert refusal(logs.put_retention_policy, logGroupName="/a", retentionInDays=31) == (
        "InvalidParameterException",
        (
            "1 validation error detected: Value '31' at 'retentionInDays' failed to satisfy "
            "constraint: Member must satisfy enum value set: [1, 3, 5, 7, 14, 30, 60, 90, 120, "
            "150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653]"
        ),
    )


@pytest.fixture
def bucket(account: Account) -> str:
    name = f"bucket-{account.number}"
    account.client("s3").create_bucket(Bucket=name)
    return name


def test_a_new_bucket_is_closed_encrypted_and_its_owner_s(account: Account, bucket: str) -> None:
    s3 = account.client("s3")
    block = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert set(block.values()) == {True}
    [rule] = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    [rule] = s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]["Rules"]
    assert rule == {"ObjectOwnership": "BucketOwnerEnforced"}


def test_lifecycle_rules_read_back_as_they_were_written(account: Account, bucket: str) -> None:
    s3 = account.client("s3")
    rules = [
        {
            "ID": "checkpoints",
            "Status": "Enabled",
            "Filter": {"And": {"Prefix": "c/", "ObjectSizeGreaterThan": 1024}},
            "Transitions": [{"Days": 30, "StorageClass": "STANDARD_IA"}],
            "NoncurrentVersionExpiration": {"NoncurrentDays": 30, "NewerNoncurrentVersions": 2},
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
        }
    ]
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"] == rules
    s3.delete_bucket_lifecycle(Bucket=bucket)
    assert refusal(s3.get_bucket_lifecycle_configuration, Bucket=bucket)[0] == (
        "NoSuchLifecycleConfiguration"
    )


def test_a_bucket_with_object_lock_keeps_versions_and_its_rule(account: Account) -> None:
    s3, name = account.client("s3"), f"locked-{account.number}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    lock = {
        "ObjectLockEnabled": "Enabled",
        "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 365}},
    }
    s3.put_object_lock_configuration(Bucket=name, ObjectLockConfiguration=lock)
    assert s3.get_object_lock_configuration(Bucket=name)["ObjectLockConfiguration"] == lock
    assert refusal(
        s3.put_bucket_versioning, Bucket=name, VersioningConfiguration={"Status": "Suspended"}
    ) == (
        "InvalidBucketState",
        (
            "An Object Lock configuration is present on this bucket, so the versioning state "
            "cannot be changed."
        ),
    )


def test_a_bucket_denies_what_its_policy_denies_and_not_what_it_denies_without_tls(
    account: Account, bucket: str
) -> None:
    s3 = account.client("s3")
    everything = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"],
    }
    without_tls = {**everything, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [without_tls]})
    s3.put_bucket_policy(Bucket=bucket, Policy=policy)
    assert s3.get_bucket_policy(Bucket=bucket)["Policy"] == policy
    s3.put_object(Bucket=bucket, Key="a", Body=b"b")
    s3.delete_object(Bucket=bucket, Key="a")

    policy = json.dumps({"Version": "2012-10-17", "Statement": [without_tls, everything]})
    s3.put_bucket_policy(Bucket=bucket, Policy=policy)
    assert refusal(s3.put_object, Bucket=bucket, Key="a", Body=b"b")[0] == "403"
    s3.delete_bucket_policy(Bucket=bucket)
    assert refusal(s3.get_bucket_policy, Bucket=bucket)[0] == "NoSuchBucketPolicy"
    s3.put_object(Bucket=bucket, Key="a", Body=b"b")
    s3.delete_object(Bucket=bucket, Key="a")


def test_a_bucket_with_objects_or_a_broken_policy_is_refused(account: Account, bucket: str) -> None:
    s3 = account.client("s3")
    assert refusal(s3.put_bucket_policy, Bucket=bucket, Policy="{") == (
        "MalformedPolicy",
        "Policies must be valid JSON and the first byte must be '{'",
    )
    s3.put_object(Bucket=bucket, Key="a", Body=b"b")
    assert refusal(s3.delete_bucket, Bucket=bucket) == (
        "BucketNotEmpty",
        "The bucket you tried to delete is not empty",
    )


def test_a_name_that_waits_for_its_deletion_is_not_free(account: Account) -> None:
    secrets = account.client("secretsmanager")
    secrets.create_secret(Name="a")
    secrets.delete_secret(SecretId="a", RecoveryWindowInDays=7)
    assert refusal(secrets.create_secret, Name="a") == (
        "InvalidRequestException",
        (
            "You can't create this secret because a secret with this name is already scheduled for "
            "deletion."
        ),
    )


def test_a_workspace_keeps_its_key_and_may_not_log(account: Account) -> None:
    amp = account.client("amp")
    key = f"arn:aws:kms:us-east-1:{account.number}:key/a"
    identity = amp.create_workspace(alias="a", kmsKeyArn=key)["workspaceId"]
    assert amp.describe_workspace(workspaceId=identity)["workspace"]["kmsKeyArn"] == key
    assert refusal(amp.describe_logging_configuration, workspaceId=identity) == (
        "ResourceNotFoundException",
        f"Logging configuration not found for workspace: {identity}",
    )


def test_a_topic_keeps_every_attribute_that_topics_have(account: Account) -> None:
    sns = account.client("sns")
    topic = sns.create_topic(Name="a", Attributes={"TracingConfig": "Active"})["TopicArn"]
    sns.set_topic_attributes(TopicArn=topic, AttributeName="SignatureVersion", AttributeValue="2")
    attributes = sns.get_topic_attributes(TopicArn=topic)["Attributes"]
    assert (attributes["SignatureVersion"], attributes["TracingConfig"]) == ("2", "Active")
    assert "DeliveryPolicy" not in attributes
    refused = {
        name: refusal(
            sns.set_topic_attributes, TopicArn=topic, AttributeName=name, AttributeValue="{"
        )
        for name in ("Polcy", "Policy")
    }
    assert refused == {
        "Polcy": ("InvalidParameter", "Invalid parameter: AttributeName"),
        "Policy": ("InvalidParameter", "Invalid parameter: Policy"),
    }


def test_a_trail_writes_only_where_the_bucket_lets_it(account: Account, bucket: str) -> None:
    trail = account.client("cloudtrail")
    assert refusal(trail.create_trail, Name="audit", S3BucketName=bucket) == (
        "InsufficientS3BucketPolicyException",
        f"Incorrect S3 bucket policy is detected for bucket: {bucket}",
    )
    allow = {
        "Effect": "Allow",
        "Principal": {"Service": "cloudtrail.amazonaws.com"},
        "Action": "s3:PutObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    account.client("s3").put_bucket_policy(Bucket=bucket, Policy=policy)
    trail.create_trail(Name="audit", S3BucketName=bucket, EnableLogFileValidation=True)
    described = trail.get_trail(Name="audit")["Trail"]
    assert (described["HomeRegion"], described["LogFileValidationEnabled"]) == ("us-east-1", True)
    assert refusal(trail.create_trail, Name="audit", S3BucketName=bucket) == (
        "TrailAlreadyExistsException",
        f"Trail audit already exists for customer: {account.number}",
    )
    trail.delete_trail(Name="audit")
    assert refusal(trail.delete_trail, Name="audit") == (
        "TrailNotFoundException",
        f"Unknown trail: audit for the user: {account.number}",
    )


def test_a_budget_changes_with_its_notifications_subscribers_and_tags(account: Account) -> None:
    budgets, where = account.client("budgets"), {"AccountId": account.number, "BudgetName": "a"}
    owner = {"AccountId": account.number}
    budget: dict[str, Any] = {
        "BudgetName": "a",
        "BudgetLimit": {"Amount": "100", "Unit": "USD"},
        "TimeUnit": "MONTHLY",
        "BudgetType": "COST",
        "CostFilters": {"TagKeyValue": ["user:team$ml"]},
    }
    notification = {
        "NotificationType": "ACTUAL",
        "ComparisonOperator": "GREATER_THAN",
        "Threshold": 80.0,
        "ThresholdType": "PERCENTAGE",
    }
    mail = {"SubscriptionType": "EMAIL", "Address": "a@example.com"}
    topic = {"SubscriptionType": "SNS", "Address": "arn:aws:sns:us-east-1:1:a"}
    told = {"Notification": notification, "Subscribers": [mail]}
    budgets.create_budget(
        **owner,
        Budget=budget,
        NotificationsWithSubscribers=[told],
        ResourceTags=[{"Key": "a", "Value": "b"}],
    )
    budgets.create_subscriber(**where, Notification=notification, Subscriber=topic)
    budgets.delete_subscriber(**where, Notification=notification, Subscriber=mail)
    found = budgets.describe_subscribers_for_notification(**where, Notification=notification)
    assert found["Subscribers"] == [topic]
    dearer = {**budget, "BudgetLimit": {"Amount": "200", "Unit": "USD"}}
    budgets.update_budget(**owner, NewBudget=dearer)
    described = budgets.describe_budget(**where)["Budget"]
    assert {key: described[key] for key in budget} == dearer
    arn = f"arn:aws:budgets::{account.number}:budget/a"
    assert budgets.list_tags_for_resource(ResourceARN=arn)["ResourceTags"] == [
        {"Key": "a", "Value": "b"}
    ]
    budgets.delete_notification(**where, Notification=notification)
    assert budgets.describe_notifications_for_budget(**where)["Notifications"] == []
    budgets.delete_budget(**where)
    assert refusal(budgets.describe_budget, **where) == (
        "NotFoundException",
        "Unable to get budget: a - the budget doesn't exist.",
    )
