"""Import every module that answers operations, so that their handlers are in the table."""

import importlib

__all__ = ["load"]

MODULES = (
    "eks.clusters",
    "eks.updates",
    "eks.nodegroups",
    "eks.node_updates",
    "eks.addons",
    "eks.access",
    "eks.identities",
    "eks.tagging",
    "ec2.placement",
    "ec2.reservations",
    "ec2.vpcs",
    "ec2.groups",
    "ec2.addresses",
    "ec2.endpoints",
    "ec2.flow_logs",
    "ec2.instances",
    "ec2.launch_templates",
    "ec2.subnet_reservations",
    "fsx.file_systems",
    "fsx.associations",
    "fsx.tagging",
    "route53.zones",
    "route53.record_sets",
    "acm.certificates",
    "autoscaling.groups",
    "autoscaling.instances",
    "autoscaling.schedules",
    "mends.amp",
    "mends.budgets",
    "mends.cloudtrail",
    "mends.iam",
    "mends.kms",
    "mends.logs",
    "mends.s3",
    "mends.secretsmanager",
    "mends.sns",
    "mends.sts",
)


def load() -> None:
    """Fill the table of handlers."""
    for module in MODULES:
        importlib.import_module(f"scripts.local.simulator.{module}")
