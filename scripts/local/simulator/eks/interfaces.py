"""What a cluster leaves in the VPC: its security group and its network interfaces.

They are real records of EC2, so that subnets and groups which the cluster uses cannot be deleted.
"""

import random

from scripts.local.simulator.calls import Call
from scripts.local.simulator.records import Record

__all__ = ["attach", "detach", "reattach"]


def attach(call: Call, cluster: Record) -> None:
    """Make the cluster security group and an interface in each subnet of the cluster."""
    config, name = cluster["resourcesVpcConfig"], cluster["name"]
    suffix = random.randrange(10**9, 10**10)  # noqa: S311 - a name, not a secret
    group = call.ask(
        "ec2",
        "CreateSecurityGroup",
        GroupName=f"eks-cluster-sg-{name}-{suffix}",
        Description="EKS created security group applied to ENI that is attached to EKS Control "
        "Plane master nodes, as well as any managed workloads.",
        VpcId=config["vpcId"],
        TagSpecifications=[
            {
                "ResourceType": "security-group",
                "Tags": [
                    {"Key": "Name", "Value": f"eks-cluster-sg-{name}-{suffix}"},
                    {"Key": f"kubernetes.io/cluster/{name}", "Value": "owned"},
                ],
            }
        ],
    )["GroupId"]
    call.ask(
        "ec2",
        "AuthorizeSecurityGroupIngress",
        GroupId=group,
        IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}],
    )
    config["clusterSecurityGroupId"] = group
    cluster["_interfaces"] = _interfaces(call, cluster)


def reattach(call: Call, cluster: Record) -> None:
    """Move the interfaces to the subnets and groups that the cluster has now."""
    _delete_interfaces(call, cluster)
    cluster["_interfaces"] = _interfaces(call, cluster)


def detach(call: Call, cluster: Record) -> None:
    """Delete the interfaces and the cluster security group."""
    _delete_interfaces(call, cluster)
    group = cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]
    call.ask("ec2", "DeleteSecurityGroup", GroupId=group)


def _interfaces(call: Call, cluster: Record) -> list[str]:
    config = cluster["resourcesVpcConfig"]
    return [
        call.ask(
            "ec2",
            "CreateNetworkInterface",
            SubnetId=subnet,
            Description=f"Amazon EKS {cluster['name']}",
            Groups=[config["clusterSecurityGroupId"], *config["securityGroupIds"]],
        )["NetworkInterface"]["NetworkInterfaceId"]
        for subnet in config["subnetIds"]
    ]


def _delete_interfaces(call: Call, cluster: Record) -> None:
    for interface in cluster.pop("_interfaces"):
        call.ask("ec2", "DeleteNetworkInterface", NetworkInterfaceId=interface)
