"""The lives of the types that are not EC2 or EKS."""

from __future__ import annotations

import json

from tests.local.plugins.aws.cases import Case
from tests.local.plugins.aws.support import ACCOUNT
from tests.local.plugins.aws.world import TRUST


def policy(action: str, resource: str, **more: object) -> str:
    """Write an IAM document with one statement."""
    statement = {"Effect": "Allow", "Action": action, "Resource": resource, **more}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def image_rule(days: int) -> str:
    """Write a lifecycle policy of ECR."""
    selection = {
        "tagStatus": "untagged",
        "countType": "sinceImagePushed",
        "countUnit": "days",
        "countNumber": days,
    }
    rule = {"rulePriority": 1, "selection": selection, "action": {"type": "expire"}}
    return json.dumps({"rules": [rule]})


SERVICE_CASES = (
    Case(
        "route53.Zone",
        lambda w: {"name": "train.internal", "vpcs": [{"vpcId": w.vpc.id}], "tags": {"a": "b"}},
        lambda w: {
            "comment": "nodes",
            "vpcs": [{"vpcId": w.other_vpc.id}],
            "tags": {"a": "c"},
        },
    ),
    Case(
        "route53.Record",
        lambda w: {
            "zoneId": w.zone.id,
            "name": "chat",
            "type": "A",
            "records": ["10.0.0.1", "10.0.0.2"],
            "ttl": 60,
        },
        lambda _: {"records": ["10.0.0.3"], "ttl": 30},
    ),
    Case(
        "acm.Certificate",
        lambda _: {
            "domainName": "chat.example.org",
            "subjectAlternativeNames": ["*.chat.example.org"],
            "validationMethod": "DNS",
            "keyAlgorithm": "EC_prime256v1",
        },
        lambda _: {
            "options": {"certificateTransparencyLoggingPreference": "DISABLED"},
            "tags": {"a": "b"},
        },
    ),
    Case(
        "acm.CertificateValidation",
        lambda w: {
            "certificateArn": w.certificate.id,
            "validationRecordFqdns": [
                w.certificate.state["domainValidationOptions"][0]["resourceRecordName"]
            ],
        },
        stays=True,
        not_imported=frozenset({"validationRecordFqdns"}),
    ),
    Case(
        "iam.Role",
        lambda _: {
            "assumeRolePolicy": TRUST,
            "description": "nodes",
            "inlinePolicies": [
                {"name": "read", "policy": policy("s3:GetObject", "arn:aws:s3:::data/*")}
            ],
        },
        lambda _: {"description": "node", "maxSessionDuration": 7200},
    ),
    Case(
        "iam.RolePolicy",
        lambda w: {"role": w.role.id, "policy": policy("s3:GetObject", "arn:aws:s3:::data/*")},
        lambda _: {"policy": policy("s3:PutObject", "arn:aws:s3:::data/*")},
    ),
    Case(
        "iam.RolePolicyAttachment",
        lambda w: {
            "role": w.role.id,
            "policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy",
        },
    ),
    Case(
        "kms.Key",
        lambda _: {
            "description": "secrets",
            "deletionWindowInDays": 7,
            "enableKeyRotation": True,
            "policy": policy("kms:*", "*", Principal={"AWS": f"arn:aws:iam::{ACCOUNT}:root"}),
        },
        lambda _: {"description": "all secrets", "enableKeyRotation": False},
        not_imported=frozenset({"deletionWindowInDays"}),
    ),
    Case(
        "kms.Alias",
        lambda w: {"name": "alias/gpu", "targetKeyId": w.key.id},
        lambda w: {"targetKeyId": w.other_key.id},
    ),
    Case(
        "cloudwatch.LogGroup",
        lambda _: {"name": "/aws/eks/gpu/cluster", "retentionInDays": 90},
        lambda _: {"retentionInDays": 365},
    ),
    Case(
        "cloudwatch.MetricAlarm",
        lambda w: {
            "name": "checker-dead",
            "comparisonOperator": "LessThanThreshold",
            "evaluationPeriods": 3,
            "metricName": "heartbeat",
            "namespace": "Trainyard",
            "period": 60,
            "statistic": "Sum",
            "threshold": 1,
            "dimensions": {"pool": "gpu"},
            "alarmActions": [w.topic.id],
            "treatMissingData": "breaching",
        },
        lambda _: {"threshold": 2},
    ),
    Case(
        "fsx.LustreFileSystem",
        lambda w: {
            "subnetIds": w.subnets[0],
            "storageCapacity": 2400,
            "deploymentType": "PERSISTENT_2",
            "perUnitStorageThroughput": 250,
            "securityGroupIds": [w.group.id],
            "dataCompressionType": "LZ4",
            "kmsKeyId": w.key.state["arn"],
            "metadataConfiguration": {"mode": "AUTOMATIC"},
        },
        lambda _: {"storageCapacity": 4800},
        not_imported=frozenset({"securityGroupIds"}),
    ),
    Case(
        "fsx.DataRepositoryAssociation",
        lambda w: {
            "fileSystemId": w.file_system.id,
            "fileSystemPath": "/data",
            "dataRepositoryPath": f"s3://{w.bucket.id}/data/",
            "s3": {
                "autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]},
                "autoExportPolicy": {"events": ["NEW"]},
            },
        },
        lambda _: {
            "s3": {
                "autoImportPolicy": {"events": ["NEW"]},
                "autoExportPolicy": {"events": ["NEW", "CHANGED"]},
            }
        },
    ),
    Case(
        "s3.Bucket",
        lambda _: {"bucket": "trainyard-data", "forceDestroy": True, "tags": {"tier": "hot"}},
        lambda _: {"tags": {"tier": "cold"}},
        not_imported=frozenset({"forceDestroy"}),
    ),
    Case(
        "s3.BucketVersioning",
        lambda w: {"bucket": w.bucket.id, "versioningConfiguration": {"status": "Enabled"}},
        lambda _: {"versioningConfiguration": {"status": "Suspended"}},
        stays=True,
    ),
    Case(
        "s3.BucketServerSideEncryptionConfiguration",
        lambda w: {
            "bucket": w.bucket.id,
            "rules": [
                {
                    "applyServerSideEncryptionByDefault": {
                        "sseAlgorithm": "aws:kms",
                        "kmsMasterKeyId": w.key.state["arn"],
                    },
                    "bucketKeyEnabled": True,
                }
            ],
        },
        lambda _: {
            "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}],
        },
        stays=True,
    ),
    Case(
        "s3.BucketPublicAccessBlock",
        lambda w: {"bucket": w.bucket.id, "blockPublicAcls": True, "blockPublicPolicy": True},
        lambda _: {"ignorePublicAcls": True, "restrictPublicBuckets": True},
    ),
    Case(
        "s3.BucketLifecycleConfiguration",
        lambda w: {
            "bucket": w.bucket.id,
            "rules": [
                {
                    "id": "cold",
                    "status": "Enabled",
                    "filter": {"prefix": "checkpoints/"},
                    "transitions": [{"days": 30, "storageClass": "GLACIER_IR"}],
                    "noncurrentVersionExpiration": {"noncurrentDays": 90},
                    "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
                }
            ],
        },
        lambda _: {
            "rules": [
                {
                    "id": "cold",
                    "status": "Enabled",
                    "filter": {"prefix": "checkpoints/"},
                    "expiration": {"days": 365},
                }
            ]
        },
    ),
    Case(
        "s3.BucketPolicy",
        lambda w: {
            "bucket": w.bucket.id,
            "policy": policy("s3:GetObject", f"{w.bucket.state['arn']}/*", Principal="*"),
        },
        lambda w: {
            "policy": policy("s3:PutObject", f"{w.bucket.state['arn']}/*", Principal="*"),
        },
    ),
    Case(
        "s3.BucketObjectLockConfiguration",
        lambda w: {
            "bucket": w.locked_bucket.id,
            "rule": {"defaultRetention": {"mode": "COMPLIANCE", "days": 30}},
        },
        lambda _: {"rule": {"defaultRetention": {"mode": "COMPLIANCE", "days": 60}}},
    ),
    Case(
        "ecr.Repository",
        lambda w: {
            "name": "trainyard/checks",
            "imageTagMutability": "IMMUTABLE",
            "imageScanningConfiguration": {"scanOnPush": True},
            "encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": w.key.state["arn"]}],
            "forceDelete": True,
        },
        lambda _: {"imageScanningConfiguration": {"scanOnPush": False}},
        not_imported=frozenset({"forceDelete"}),
    ),
    Case("ecr.LifecyclePolicy", lambda w: {"repository": w.repository.id, "policy": image_rule(7)}),
    Case(
        "secretsmanager.Secret",
        lambda w: {
            "name": "trainyard/registry",
            "description": "pull token",
            "kmsKeyId": w.key.state["arn"],
            "recoveryWindowInDays": 7,
        },
        lambda _: {"description": "push token"},
        not_imported=frozenset({"recoveryWindowInDays"}),
    ),
    Case("amp.Workspace", lambda _: {"alias": "metrics"}, lambda _: {"alias": "more-metrics"}),
    Case(
        "sns.Topic",
        lambda w: {"name": "alerts", "kmsMasterKeyId": w.key.id},
        lambda _: {"displayName": "Trainyard"},
    ),
    Case(
        "sns.TopicPolicy",
        lambda w: {
            "arn": w.topic.id,
            "policy": policy(
                "sns:Publish", w.topic.id, Principal={"Service": "cloudwatch.amazonaws.com"}
            ),
        },
        lambda w: {
            "policy": policy(
                "sns:Publish", w.topic.id, Principal={"Service": "budgets.amazonaws.com"}
            ),
        },
        stays=True,
    ),
    Case(
        "cloudtrail.Trail",
        lambda w: {
            "name": "audit",
            "s3BucketName": w.trail_bucket.id,
            "enableLogFileValidation": True,
            "isMultiRegionTrail": True,
        },
        lambda _: {"enableLogging": False},
    ),
    Case(
        "budgets.Budget",
        lambda w: {
            "name": "monthly",
            "budgetType": "COST",
            "timeUnit": "MONTHLY",
            "limitAmount": "100000",
            "limitUnit": "USD",
            "costFilters": [{"name": "TagKeyValue", "values": ["user:project$trainyard"]}],
            "notifications": [
                {
                    "comparisonOperator": "GREATER_THAN",
                    "notificationType": "FORECASTED",
                    "threshold": 80,
                    "thresholdType": "PERCENTAGE",
                    "subscriberSnsTopicArns": [w.topic.id],
                }
            ],
        },
        lambda _: {"limitAmount": "120000"},
        not_imported=frozenset({"notifications", "tagsAll"}),
    ),
)
