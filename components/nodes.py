"""What every node of the cluster has in common: its role, its disk, its metadata service."""

import pulumi
from pulumi_aws import ec2, iam

from components.documents import allow, document
from components.naming import Names

__all__ = ["METADATA", "node_role", "root_volume", "tag_specifications"]

METADATA: "ec2.LaunchTemplateMetadataOptionsArgsDict" = {
    "http_endpoint": "enabled",
    "http_tokens": "required",
    "http_put_response_hop_limit": 1,
}
"""Tokens are demanded, and one hop keeps pods from the node's credentials."""

NODE_POLICIES = ("AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly")
"""Credentials for its pods, through the agent of Pod Identity, and images."""

JOINING = ("ec2:DescribeInstanceTypes", "ec2:DescribeInstances")
"""What nodeadm asks before the kubelet starts: the node's name, and how many pods it holds.

The minimal policy leaves them out, and a node of the AL2023 image then never joins. Both take no
resource. The worker node policy of AWS would allow seven calls more.
"""


def node_role(
    name: str, names: Names, opts: pulumi.ResourceOptions
) -> tuple[pulumi.Output[str], list[pulumi.Resource]]:
    """Make the role of nodes, which EC2 takes for them: all that a node may do by itself.

    Returns its ARN, and its rights: nodes must come after them and go before them, or EKS can
    neither start nor end their instances.
    """
    role = iam.Role(
        name,
        name=names.physical("node"),
        assume_role_policy=document(
            {
                "Sid": "Instances",
                "Effect": "Allow",
                "Principal": {"Service": "ec2.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ),
        tags=names.called(names.physical("node")),
        opts=opts,
    )
    rights: list[pulumi.Resource] = [
        iam.RolePolicyAttachment(
            f"{name}-{policy}", role=role.name, policy_arn=names.managed_policy(policy), opts=opts
        )
        for policy in NODE_POLICIES
    ]
    rights.append(
        iam.RolePolicy(
            f"{name}-join",
            name="join",
            role=role.name,
            policy=document(allow("Join", JOINING, ["*"])),
            opts=opts,
        )
    )
    return role.arn, rights


def root_volume(
    gib: int, key_arn: pulumi.Input[str]
) -> "ec2.LaunchTemplateBlockDeviceMappingArgsDict":
    """Return an encrypted root disk of ``gib`` GiB."""
    return {
        "device_name": "/dev/xvda",
        "ebs": {
            "volume_size": gib,
            "volume_type": "gp3",
            "encrypted": "true",
            "kms_key_id": key_arn,
            "delete_on_termination": "true",
        },
    }


def tag_specifications(
    names: Names, label: str
) -> "list[ec2.LaunchTemplateTagSpecificationArgsDict]":
    """Return the tags of what a launch makes; a provider's default tags do not reach it."""
    return [
        {"resource_type": kind, "tags": names.called(label)}
        for kind in ("instance", "volume", "network-interface")
    ]
