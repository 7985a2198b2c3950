"""Endpoints: AWS services reached without leaving the network, and who may reach what there."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any, Literal

import pulumi
from pulumi_aws import ec2, vpc

from components.catalog import networks
from components.documents import allow, document
from components.naming import Names

__all__ = ["REQUIRED", "Endpoint", "connect"]

HTTPS = 443

Endpoint = Literal[
    "aps-workspaces",
    "autoscaling",
    "ec2",
    "ec2messages",
    "ecr.api",
    "ecr.dkr",
    "eks",
    "eks-auth",
    "elasticloadbalancing",
    "fsx",
    "kms",
    "logs",
    "monitoring",
    "secretsmanager",
    "sns",
    "sqs",
    "ssm",
    "ssmmessages",
    "sts",
]

REQUIRED = frozenset(name for name, facts in networks.endpoints().items() if facts.needed)
"""Without NAT, nodes that cannot reach these never join."""

EVERYONE = {"AWS": "*"}


def connect(
    name: str,
    names: Names,
    *,
    vpc_id: pulumi.Input[str],
    services: Sequence[Endpoint],
    subnet_ids: Sequence[pulumi.Input[str]],
    route_table_ids: Sequence[pulumi.Input[str]],
    callers: Mapping[str, IPv4Network],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Make the gateway to S3 and an endpoint for each of ``services``, and return all of them.

    Parameters
    ----------
    name
        Start of the logical names.
    names
        The site's names.
    vpc_id
        The network.
    services
        Services beside S3.
    subnet_ids
        One subnet of each zone, where the endpoints have their addresses.
    route_table_ids
        The private route tables, which lead to S3.
    callers
        Who may call them: addresses by what they are for.
    opts
        Options of all that is made here.
    """
    made: list[pulumi.Resource] = [
        ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc_id,
            service_name=f"com.amazonaws.{names.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[*route_table_ids],
            policy=_s3_policy(names),
            tags=names.called("s3"),
            opts=opts,
        )
    ]
    if not services:
        return made
    group = _group(name, names, vpc_id, callers, opts)
    made += [
        ec2.VpcEndpoint(
            f"{name}-{service}",
            vpc_id=vpc_id,
            service_name=f"com.amazonaws.{names.region}.{service}",
            vpc_endpoint_type="Interface",
            private_dns_enabled=True,
            subnet_ids=[*subnet_ids],
            security_group_ids=[group],
            policy=_policy(service, names),
            tags=names.called(service),
            opts=opts,
        )
        for service in services
    ]
    return made


def _group(
    name: str,
    names: Names,
    vpc_id: pulumi.Input[str],
    callers: Mapping[str, IPv4Network],
    opts: pulumi.ResourceOptions,
) -> pulumi.Output[str]:
    """Make the security group of the endpoints, which all our own addresses may reach."""
    label = f"{name}-endpoints"
    group = ec2.SecurityGroup(
        label,
        name=names.physical("endpoints"),
        description="Private endpoints of AWS services",
        vpc_id=vpc_id,
        tags=names.called(names.physical("endpoints")),
        opts=opts,
    )
    for role, block in callers.items():
        vpc.SecurityGroupIngressRule(
            f"{label}-{role}",
            security_group_id=group.id,
            cidr_ipv4=str(block),
            ip_protocol="tcp",
            from_port=HTTPS,
            to_port=HTTPS,
            description=f"AWS APIs from {role} addresses",
            tags=names.called(f"endpoints-{role}"),
            opts=opts,
        )
    return group.id


def _s3_policy(names: Names) -> str:
    """Let our principals through to our own buckets, and nodes to what they need to start.

    AWS's buckets are read through links that AWS signed, so nothing can be asked of the caller.
    """
    bucket = f"arn:{names.partition}:s3:::"
    ours = f"{bucket}{names.prefix}-*"
    theirs = [f"{bucket}{each}/*" for each in networks.node_buckets(names.region)]
    return document(
        allow(
            "OurBuckets",
            [
                "s3:AbortMultipartUpload",
                "s3:DeleteObject",
                "s3:GetObject",
                "s3:ListBucket",
                "s3:PutObject",
            ],
            [ours, f"{ours}/*"],
            principal=EVERYONE,
            condition={
                "StringEquals": {
                    "aws:PrincipalAccount": names.account,
                    "aws:ResourceAccount": names.account,
                }
            },
        ),
        allow("ImageLayersAndPackages", ["s3:GetObject"], theirs, principal=EVERYONE),
    )


def _policy(service: Endpoint, names: Names) -> str:
    """Let our account's principals through to one service, for what is our account's there.

    Some calls are about no resource (a login at the image registry, a list); the key is missing in
    them, hence IfExists. Images of EKS's own add-ons lie in an account of EKS: they can be read.
    """
    facts = networks.endpoints()[service]
    ours: dict[str, Any] = {"aws:PrincipalAccount": names.account}
    statements = [
        allow(
            "OurAccount",
            [f"{facts.actions}:*"],
            ["*"],
            principal=EVERYONE,
            condition={
                "StringEquals": ours,
                "StringEqualsIfExists": {"aws:ResourceAccount": names.account},
            },
        )
    ]
    if facts.images:
        registry = f"arn:{names.partition}:ecr:{names.region}"
        account = networks.image_account(names.region)
        statements.append(
            allow(
                "ImagesOfEks",
                [
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetDownloadUrlForLayer",
                ],
                [f"{registry}:{account}:repository/*"],
                principal=EVERYONE,
                condition={"StringEquals": ours},
            )
        )
    return document(*statements)
