"""A compliant bag of properties for each governed kind; tests spoil one property at a time."""

import json
from collections.abc import Mapping
from typing import Any

from rules import types
from rules.documents import ACCESS_KINDS, PERMISSION_KINDS
from tests.policies.support import OWNED, Declared

ACCOUNT = "111122223333"
KEY = f"arn:aws:kms:us-east-1:{ACCOUNT}:key/1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/platform"
CLUSTER_ARN = f"arn:aws:eks:us-east-1:{ACCOUNT}:cluster/trainyard-dev"


def document(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


PERMISSION = {"Effect": "Allow", "Action": "eks:DescribeCluster", "Resource": CLUSTER_ARN}
GRANT = {
    "Effect": "Allow",
    "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:role/reader"},
    "Action": "s3:GetObject",
    "Resource": "*",
}
POD_TRUST = {
    "Effect": "Allow",
    "Principal": {"Service": "pods.eks.amazonaws.com"},
    "Action": ["sts:AssumeRole", "sts:TagSession"],
    "Condition": {
        "StringEquals": {"aws:SourceAccount": ACCOUNT},
        "ArnEquals": {"aws:SourceArn": CLUSTER_ARN},
    },
}
TEMPLATE: dict[str, Any] = {
    "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
    "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"encrypted": "true"}}],
    "networkInterfaces": [{"interfaceType": "efa", "securityGroups": ["sg-1"]}],
    "tagSpecifications": [
        {"resourceType": "instance", "tags": OWNED},
        {"resourceType": "volume", "tags": OWNED},
    ],
}
MACHINE: dict[str, Any] = {
    "metadataOptions": {"httpTokens": "required"},
    "rootBlockDevice": {"encrypted": True},
    "ebsBlockDevices": [{"deviceName": "/dev/sdb", "encrypted": True}],
}
CLUSTER: dict[str, Any] = {
    "vpcConfig": {"endpointPrivateAccess": True, "endpointPublicAccess": False},
    "encryptionConfig": {"resources": ["secrets"], "provider": {"keyArn": KEY}},
    "enabledClusterLogTypes": ["api", "audit", "authenticator", "scheduler"],
    "accessConfig": {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": False,
    },
}

GOOD: dict[str, dict[str, Any]] = {
    **{kind: {"policy": document(GRANT)} for kind in ACCESS_KINDS},
    **{
        kind: {"policy": document(PERMISSION)}
        for kind in PERMISSION_KINDS - {types.IAM_USER_POLICY}
    },
    types.IAM_ROLE: {
        "assumeRolePolicy": document(POD_TRUST),
        "inlinePolicies": [{"name": "read", "policy": document(PERMISSION)}],
        "managedPolicyArns": ["arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolicy"],
    },
    **{
        kind: {"policyArn": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"}
        for kind in (
            types.IAM_GROUP_POLICY_ATTACHMENT,
            types.IAM_POLICY_ATTACHMENT,
            types.IAM_ROLE_POLICY_ATTACHMENT,
        )
    },
    types.IAM_ROLE_POLICY_ATTACHMENTS_EXCLUSIVE: {
        "policyArns": ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]
    },
    types.EC2_SECURITY_GROUP: {
        "description": "Nodes",
        "ingress": [{"protocol": "-1", "self": True, "description": "Among nodes"}],
    },
    types.EC2_DEFAULT_SECURITY_GROUP: {},
    types.EC2_SECURITY_GROUP_RULE: {
        "type": "ingress",
        "cidrBlocks": ["10.0.0.0/16"],
        "description": "AWS APIs",
    },
    types.VPC_INGRESS_RULE: {"cidrIpv4": "10.0.0.0/16", "description": "AWS APIs"},
    types.VPC_EGRESS_RULE: {"cidrIpv4": "0.0.0.0/0", "description": "AWS APIs"},
    types.EC2_LAUNCH_TEMPLATE: TEMPLATE,
    types.EC2_INSTANCE: MACHINE,
    types.EC2_LAUNCH_CONFIGURATION: MACHINE,
    types.EC2_SPOT_INSTANCE_REQUEST: MACHINE,
    types.EKS_ACCESS_ENTRY: {"principalArn": ROLE, "kubernetesGroups": ["research:submitters"]},
    types.EKS_ACCESS_POLICY_ASSOCIATION: {
        "principalArn": ROLE,
        "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy",
        "accessScope": {"type": "namespace", "namespaces": ["research"]},
    },
    types.EKS_ADDON: {
        "addonName": "vpc-cni",
        "addonVersion": "v1.23.0-eksbuild.1",
        "configurationValues": json.dumps({"enableNetworkPolicy": "true"}),
    },
    types.EKS_CLUSTER: CLUSTER,
    types.EKS_NODE_GROUP: {"instanceTypes": ["p5.48xlarge"]},
    types.CLOUDTRAIL_TRAIL: {"kmsKeyId": KEY},
    types.EBS_VOLUME: {"encrypted": True, "kmsKeyId": KEY},
    types.ECR_REPOSITORY: {"encryptionConfigurations": [{"encryptionType": "KMS", "kmsKey": KEY}]},
    types.EFS_FILE_SYSTEM: {"encrypted": True, "kmsKeyId": KEY},
    types.FSX_LUSTRE: {"deploymentType": "PERSISTENT_2", "kmsKeyId": KEY},
    types.FSX_ONTAP: {"kmsKeyId": KEY},
    types.FSX_OPEN_ZFS: {"kmsKeyId": KEY},
    types.FSX_WINDOWS: {"kmsKeyId": KEY},
    types.SECRETSMANAGER_SECRET: {"kmsKeyId": KEY, "policy": document(GRANT)},
    types.SNS_TOPIC: {"kmsMasterKeyId": KEY, "policy": document(GRANT)},
    types.SQS_QUEUE: {"kmsMasterKeyId": KEY, "policy": document(GRANT)},
    types.AWS_PROVIDER: {"region": "us-east-1", "profile": "dev"},
    types.KUBERNETES_PROVIDER: {
        "kubeconfig": json.dumps({"users": [{"user": {"exec": {"command": "aws"}}}]})
    },
    types.KUBERNETES_CONFIG_MAP: {"metadata": {"namespace": "kube-system", "name": "coredns"}},
}

FABRIC = [
    Declared(types.EC2_SECURITY_GROUP, "efa", {"name": "efa"}),
    Declared(
        types.VPC_INGRESS_RULE,
        "in",
        {"ipProtocol": "-1"},
        {"securityGroupId": ["efa"], "referencedSecurityGroupId": ["efa"]},
    ),
    Declared(
        types.VPC_EGRESS_RULE,
        "out",
        {"ipProtocol": "-1"},
        {"securityGroupId": ["efa"], "referencedSecurityGroupId": ["efa"]},
    ),
    Declared(
        types.EC2_LAUNCH_TEMPLATE,
        "template",
        {"networkInterfaces": [{"interfaceType": "efa"}]},
        {"networkInterfaces": ["efa"]},
    ),
]
CLOSED = {
    "blockPublicAcls": True,
    "blockPublicPolicy": True,
    "ignorePublicAcls": True,
    "restrictPublicBuckets": True,
}
SSE = {"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}}]}
BUCKETS = [
    Declared(types.S3_BUCKET, "data", {"bucket": "trainyard-data"}),
    Declared(types.S3_ENCRYPTION, "sse", SSE, {"bucket": ["data"]}),
    Declared(types.S3_PUBLIC_ACCESS_BLOCK, "block", CLOSED, {"bucket": ["data"]}),
]
