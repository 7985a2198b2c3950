"""The network layer: addresses, ways in and out, who may talk to whom, and the record of it."""

from collections.abc import Iterator
from typing import Annotated, Literal

import pulumi
from pulumi_aws import cloudwatch, ec2, iam, vpc
from pydantic import Field

from components.addressing import overlaps, zone_plan
from components.documents import allow, document, service_trust
from components.keys import CustomerKey, to_log_group
from components.naming import Names
from components.settings import (
    NEVER,
    REPLACES,
    Cidr,
    Dns,
    Problem,
    Section,
    ZoneId,
    rule,
)

__all__ = ["Network", "NetworkConfig"]

REQUIRED_ENDPOINTS = frozenset(
    {"ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "fsx", "logs", "sts"}
)
"""Without NAT, nodes that cannot reach these never join (EKS guide, private clusters)."""

HTTPS = 443

Endpoint = Literal[
    "autoscaling",
    "ec2",
    "ecr.api",
    "ecr.dkr",
    "eks",
    "eks-auth",
    "fsx",
    "logs",
    "secretsmanager",
    "ssm",
    "sts",
]


class NeighbourConfig(Section):
    """A network outside that ours will be joined to, or may be one day."""

    name: Dns
    """What people call it."""

    cidr: Cidr
    """Its addresses."""


class ZoneConfig(Section):
    """One availability zone of the site."""

    id: Annotated[ZoneId, REPLACES]
    """Zone id, not name: the same name is another zone in another account."""

    compute_cidr: Annotated[Cidr | None, REPLACES] = None
    """Addresses of the compute subnet (/16 to /28); none in a zone without accelerators."""

    @property
    def number(self) -> int:
        """The 4 of ``use1-az4``, which is the zone's place in the address plan."""
        return int(self.id[-1])


class NetworkConfig(Section):
    """Addresses and exits of the site."""

    management_cidr: Annotated[Cidr, NEVER]
    """Addresses of the management network (/16 to /21): control plane, system nodes, exits."""

    service_cidr: Annotated[Cidr, NEVER] = Cidr("172.20.0.0/16")
    """Addresses of Kubernetes services; they exist inside the cluster only."""

    zones: tuple[ZoneConfig, ...] = Field(min_length=2)
    """Zones in use; EKS needs two."""

    nat: Literal["per-zone", "one", "none"] = "per-zone"
    """Way out to the internet: one gateway for each zone, one for all, or none at all."""

    endpoints: tuple[Endpoint, ...] = ()
    """AWS services reached inside the network; S3 always is."""

    neighbours: tuple[NeighbourConfig, ...] = ()
    """Networks whose addresses must stay apart from ours."""

    flow_log_days: Literal[30, 90, 180, 365, 400, 545, 731] = 365
    """Days for which flow logs are kept."""

    @rule("zones")
    def _zones_differ(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for position, zone in enumerate(self.zones):
            if zone.id in seen:
                yield Problem(f"zones.{position}.id", f"is {zone.id} again; name each zone once")
            seen.add(zone.id)

    @rule("management_cidr")
    def _management_fits(self) -> Iterator[Problem]:
        if not 16 <= self.management_cidr.prefixlen <= 21:  # noqa: PLR2004 - the bounds stand in the message
            yield Problem(
                "management_cidr",
                f"is a /{self.management_cidr.prefixlen}, but a VPC block is at most a /16 and the "
                "plan for seven zones needs at least a /21; use a length from 16 to 21",
            )

    @rule("zones")
    def _compute_blocks_fit(self) -> Iterator[Problem]:
        for position, zone in enumerate(self.zones):
            block = zone.compute_cidr
            if block and not 16 <= block.prefixlen <= 28:  # noqa: PLR2004 - the bounds stand in the message
                yield Problem(
                    f"zones.{position}.compute_cidr",
                    f"is a /{block.prefixlen}, but a VPC block is a /16 to a /28; use such a "
                    "length",
                )

    @rule("management_cidr", "service_cidr", "zones", "neighbours")
    def _nothing_overlaps(self) -> Iterator[Problem]:
        networks = {"management_cidr": self.management_cidr, "service_cidr": self.service_cidr}
        for position, zone in enumerate(self.zones):
            if zone.compute_cidr:
                networks[f"zones.{position}.compute_cidr"] = zone.compute_cidr
        for position, neighbour in enumerate(self.neighbours):
            networks[f"neighbours.{position}.cidr"] = neighbour.cidr
        called = {
            f"neighbours.{position}.cidr": f" (neighbour {neighbour.name})"
            for position, neighbour in enumerate(self.neighbours)
        }
        for ours, other in overlaps(networks):
            if not ours.startswith("neighbours."):
                yield Problem(
                    ours,
                    f"is {networks[ours]}, which shares addresses with {other} "
                    f"{networks[other]}{called.get(other, '')}; give one of them other addresses",
                )

    @rule("nat", "endpoints")
    def _a_way_to_aws(self) -> Iterator[Problem]:
        missing = sorted(REQUIRED_ENDPOINTS - set(self.endpoints))
        if self.nat == "none" and missing:
            yield Problem(
                "endpoints",
                f"lacks {', '.join(missing)}, which nodes cannot do without when nat is none; add "
                "them, or choose another nat",
            )


class Network(pulumi.ComponentResource):
    """VPC with management and compute subnets in each zone, and the rules between their members."""

    vpc_id: pulumi.Output[str]
    management_subnet_ids: dict[str, pulumi.Output[str]]
    compute_subnet_ids: dict[str, pulumi.Output[str]]

    def __init__(
        self,
        name: str,
        config: NetworkConfig,
        *,
        names: Names,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:network:Network", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._own = pulumi.ResourceOptions(parent=self)

        network = ec2.Vpc(
            name,
            cidr_block=str(config.management_cidr),
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=names.called(names.prefix),
            opts=self._own,
        )
        self.vpc_id = network.id
        ec2.DefaultSecurityGroup(
            f"{name}-closed", vpc_id=self.vpc_id, tags=names.called("closed"), opts=self._own
        )
        tables = self._ways_out()
        self.management_subnet_ids = self._management_subnets(tables)
        self.compute_subnet_ids = self._compute_subnets(tables)
        self._endpoints(tables)
        self._flow_logs()
        self.register_outputs(
            {
                "vpc_id": self.vpc_id,
                "management_subnet_ids": self.management_subnet_ids,
                "compute_subnet_ids": self.compute_subnet_ids,
            }
        )

    def _ways_out(self) -> dict[str, pulumi.Output[str]]:
        """Make the gateways, and return the private route table of each zone."""
        name, names, config = self._name, self._names, self._config
        exits = self._nat_gateways() if config.nat != "none" else {}
        tables: dict[str, pulumi.Output[str]] = {}
        for zone in config.zones:
            label = f"{name}-private-{zone.id}"
            table = ec2.RouteTable(
                label, vpc_id=self.vpc_id, tags=names.called(label), opts=self._own
            )
            tables[zone.id] = table.id
            gateway = exits.get(zone.id) or next(iter(exits.values()), None)
            if gateway is not None:
                ec2.Route(
                    f"{label}-out",
                    route_table_id=table.id,
                    destination_cidr_block="0.0.0.0/0",
                    nat_gateway_id=gateway,
                    opts=self._own,
                )
        return tables

    def _nat_gateways(self) -> dict[str, pulumi.Output[str]]:
        """Make the internet gateway, the public subnets, and a NAT gateway in each that has one."""
        name, names, config = self._name, self._names, self._config
        internet = ec2.InternetGateway(
            f"{name}-internet", vpc_id=self.vpc_id, tags=names.called("internet"), opts=self._own
        )
        public = ec2.RouteTable(
            f"{name}-public", vpc_id=self.vpc_id, tags=names.called("public"), opts=self._own
        )
        ec2.Route(
            f"{name}-public-out",
            route_table_id=public.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=internet.id,
            opts=self._own,
        )
        zones = config.zones if config.nat == "per-zone" else config.zones[:1]
        gateways: dict[str, pulumi.Output[str]] = {}
        for zone in zones:
            block = zone_plan(config.management_cidr, zone.number).public
            subnet = self._subnet("public", zone.id, str(block), public.id)
            address = ec2.Eip(
                f"{name}-nat-{zone.id}",
                domain="vpc",
                tags=names.called(f"nat-{zone.id}"),
                opts=pulumi.ResourceOptions(parent=self, depends_on=[internet]),
            )
            gateways[zone.id] = ec2.NatGateway(
                f"{name}-{zone.id}",
                allocation_id=address.id,
                subnet_id=subnet,
                tags=names.called(f"nat-{zone.id}"),
                opts=pulumi.ResourceOptions(parent=self, depends_on=[internet]),
            ).id
        return gateways

    def _management_subnets(
        self, tables: dict[str, pulumi.Output[str]]
    ) -> dict[str, pulumi.Output[str]]:
        return {
            zone.id: self._subnet(
                "management",
                zone.id,
                str(zone_plan(self._config.management_cidr, zone.number).private),
                tables[zone.id],
            )
            for zone in self._config.zones
        }

    def _compute_subnets(
        self, tables: dict[str, pulumi.Output[str]]
    ) -> dict[str, pulumi.Output[str]]:
        """Give each zone with accelerators a block of its own, which is its compute subnet."""
        subnets: dict[str, pulumi.Output[str]] = {}
        for zone in self._config.zones:
            if zone.compute_cidr is None:
                continue
            block = ec2.VpcIpv4CidrBlockAssociation(
                f"{self._name}-compute-{zone.id}",
                vpc_id=self.vpc_id,
                cidr_block=str(zone.compute_cidr),
                opts=self._own,
            )
            subnets[zone.id] = self._subnet(
                "compute", zone.id, str(zone.compute_cidr), tables[zone.id], after=[block]
            )
        return subnets

    def _subnet(
        self,
        kind: str,
        zone: str,
        cidr: str,
        table: pulumi.Input[str],
        *,
        after: list[pulumi.Resource] | None = None,
    ) -> pulumi.Output[str]:
        """Make a subnet in ``zone`` whose instances get no public address."""
        label = f"{self._name}-{kind}-{zone}"
        subnet = ec2.Subnet(
            label,
            vpc_id=self.vpc_id,
            availability_zone_id=zone,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags={**self._names.called(label), "tier": kind},
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )
        ec2.RouteTableAssociation(label, subnet_id=subnet.id, route_table_id=table, opts=self._own)
        return subnet.id

    def _endpoints(self, tables: dict[str, pulumi.Output[str]]) -> None:
        """Keep S3 traffic inside, and that of the listed services."""
        name, names, config = self._name, self._names, self._config
        ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{names.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=list(tables.values()),
            policy=_s3_endpoint_policy(names),
            tags=names.called("s3"),
            opts=self._own,
        )
        if not config.endpoints:
            return
        group = self._endpoint_group()
        for service in config.endpoints:
            ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=self.vpc_id,
                service_name=f"com.amazonaws.{names.region}.{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=list(self.management_subnet_ids.values()),
                security_group_ids=[group],
                policy=_endpoint_policy(service.split(".")[0], names),
                tags=names.called(service),
                opts=self._own,
            )

    def _endpoint_group(self) -> pulumi.Output[str]:
        """Make the security group of the endpoints, which all our own addresses may reach."""
        label = f"{self._name}-endpoints"
        group = ec2.SecurityGroup(
            label,
            name=self._names.physical("endpoints"),
            description="Private endpoints of AWS services",
            vpc_id=self.vpc_id,
            tags=self._names.called(self._names.physical("endpoints")),
            opts=self._own,
        )
        blocks = {"management": self._config.management_cidr} | {
            zone.id: zone.compute_cidr for zone in self._config.zones if zone.compute_cidr
        }
        for role, block in blocks.items():
            vpc.SecurityGroupIngressRule(
                f"{label}-{role}",
                security_group_id=group.id,
                cidr_ipv4=str(block),
                ip_protocol="tcp",
                from_port=HTTPS,
                to_port=HTTPS,
                description=f"AWS APIs from {role} addresses",
                tags=self._names.called(f"endpoints-{role}"),
                opts=self._own,
            )
        return group.id

    def _flow_logs(self) -> None:
        name, names = self._name, self._names
        group_name = f"/trainyard/{names.stack}/flow-logs"
        group_arn = names.log_group_arn(group_name)
        key = CustomerKey(
            f"{name}-key", names, statements=[to_log_group(group_name, names)], opts=self._own
        )
        group = cloudwatch.LogGroup(
            f"{name}-flow-logs",
            name=group_name,
            retention_in_days=self._config.flow_log_days,
            kms_key_id=key.arn,
            tags=names.called(group_name),
            opts=self._own,
        )
        role = iam.Role(
            f"{name}-flow-logs",
            name=names.physical("flow-logs"),
            assume_role_policy=service_trust("vpc-flow-logs", names),
            tags=names.called(names.physical("flow-logs")),
            opts=self._own,
        )
        writes = iam.RolePolicy(
            f"{name}-flow-logs",
            name="write-flow-logs",
            role=role.name,
            policy=document(
                allow(
                    "WriteFlowLogs",
                    ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                    [group_arn, f"{group_arn}:*"],
                )
            ),
            opts=self._own,
        )
        ec2.FlowLog(
            name,
            vpc_id=self.vpc_id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            tags=names.called("flow-logs"),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[writes]),
        )


def _s3_endpoint_policy(names: Names) -> str:
    """Let through what goes to our own buckets, and the reads that nodes need to start."""
    bucket = f"arn:{names.partition}:s3:::"
    everyone = {"AWS": "*"}
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
            [f"{bucket}{names.prefix}-*", f"{bucket}{names.prefix}-*/*"],
            principal=everyone,
            condition={"StringEquals": {"aws:ResourceAccount": names.account}},
        ),
        allow(
            "ImageLayersAndPackages",
            ["s3:GetObject"],
            [
                f"{bucket}prod-{names.region}-starport-layer-bucket/*",
                f"{bucket}al2023-repos-{names.region}-de612dc2/*",
            ],
            principal=everyone,
        ),
    )


def _endpoint_policy(service: str, names: Names) -> str:
    """Let through the calls of our own account's principals to one service."""
    return document(
        allow(
            "OurAccount",
            [f"{service}:*"],
            ["*"],
            principal={"AWS": "*"},
            condition={"StringEquals": {"aws:PrincipalAccount": names.account}},
        )
    )
