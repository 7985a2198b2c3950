"""The network layer: addresses, ways in and out, who may talk to whom, and the record of it."""

from ipaddress import IPv4Network

import pulumi
from pulumi_aws import ec2

from components import domains, endpoints, flow_logs
from components.addressing import parts, zone_plan
from components.naming import Names
from components.network_config import NetworkConfig, ZoneConfig

__all__ = ["Network", "NetworkConfig"]

ROLES = {"public": "kubernetes.io/role/elb", "management": "kubernetes.io/role/internal-elb"}
"""Tags by which a controller finds the subnets for load balancers."""


class Network(pulumi.ComponentResource):
    """VPC with management, storage and compute subnets in its zones, and all that leads out.

    ``ready`` is what must be there before a node starts: its way out or the endpoints instead, and
    the reservations that keep single addresses away from the pods' part of a subnet.
    """

    vpc_id: pulumi.Output[str]
    management_subnet_ids: dict[str, pulumi.Output[str]]
    storage_subnet_ids: dict[str, pulumi.Output[str]]
    compute_subnet_ids: dict[str, pulumi.Output[str]]
    certificate_arn: pulumi.Output[str] | None
    private_zone_id: pulumi.Output[str] | None
    ready: list[pulumi.Resource]

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
        self.ready = []

        network = ec2.Vpc(
            name,
            cidr_block=str(config.management_cidr),
            enable_dns_hostnames=True,
            enable_dns_support=True,
            enable_network_address_usage_metrics=True,
            tags=names.called(names.prefix),
            opts=self._own,
        )
        self.vpc_id = network.id
        ec2.DefaultSecurityGroup(
            f"{name}-closed", vpc_id=self.vpc_id, tags=names.called("closed"), opts=self._own
        )
        tables = self._ways_out()
        self._subnets(tables)
        self._endpoints(tables)
        flow_logs.record(name, names, vpc_id=self.vpc_id, days=config.flow_log_days, opts=self._own)
        self._domains()
        self.register_outputs(
            {
                "vpc_id": self.vpc_id,
                "management_subnet_ids": self.management_subnet_ids,
                "storage_subnet_ids": self.storage_subnet_ids,
                "compute_subnet_ids": self.compute_subnet_ids,
                "certificate_arn": self.certificate_arn,
                "private_zone_id": self.private_zone_id,
            }
        )

    def _ways_out(self) -> dict[str, pulumi.Output[str]]:
        """Make the gateways, and return the private route table of each zone."""
        name, names = self._name, self._names
        exits = self._gateways() if self._config.public_zones else {}
        tables: dict[str, pulumi.Output[str]] = {}
        for zone in self._config.zones:
            label = f"{name}-private-{zone.id}"
            table = ec2.RouteTable(
                label, vpc_id=self.vpc_id, tags=names.called(label), opts=self._own
            )
            tables[zone.id] = table.id
            gateway = exits.get(zone.id) or next(iter(exits.values()), None)
            if gateway is not None:
                out = ec2.Route(
                    f"{label}-out",
                    route_table_id=table.id,
                    destination_cidr_block="0.0.0.0/0",
                    nat_gateway_id=gateway,
                    opts=self._own,
                )
                self.ready.append(out)
        return tables

    def _gateways(self) -> dict[str, pulumi.Output[str]]:
        """Make the internet gateway, the public subnets, and the NAT gateways, which it returns."""
        name, names, config = self._name, self._names, self._config
        internet = ec2.InternetGateway(
            f"{name}-internet", vpc_id=self.vpc_id, tags=names.called("internet"), opts=self._own
        )
        public = ec2.RouteTable(
            f"{name}-public", vpc_id=self.vpc_id, tags=names.called("public"), opts=self._own
        )
        out = ec2.Route(
            f"{name}-public-out",
            route_table_id=public.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=internet.id,
            opts=self._own,
        )
        self.ready.append(out)
        subnets = {
            zone.id: self._subnet(
                "public",
                zone,
                str(zone_plan(config.management_cidr, zone.number).public),
                public.id,
            )
            for zone in config.public_zones
        }
        after = pulumi.ResourceOptions(parent=self, depends_on=[internet])
        gateways: dict[str, pulumi.Output[str]] = {}
        for zone in config.nat_zones:
            address = ec2.Eip(
                f"{name}-nat-{zone.id}",
                domain="vpc",
                tags=names.called(f"nat-{zone.id}"),
                opts=after,
            )
            gateways[zone.id] = ec2.NatGateway(
                f"{name}-{zone.id}",
                allocation_id=address.id,
                subnet_id=subnets[zone.id],
                tags=names.called(f"nat-{zone.id}"),
                opts=after,
            ).id
        return gateways

    def _subnets(self, tables: dict[str, pulumi.Output[str]]) -> None:
        """Make the private subnets of each zone, those with accelerators with a block of theirs."""
        config = self._config
        self.management_subnet_ids, self.storage_subnet_ids = {}, {}
        self.compute_subnet_ids = {}
        for zone in config.zones:
            plan, table = zone_plan(config.management_cidr, zone.number), tables[zone.id]
            self.management_subnet_ids[zone.id] = self._subnet(
                "management", zone, str(plan.private), table
            )
            self._reserve("management", zone, self.management_subnet_ids, plan.private)
            if zone.compute_cidr is None:
                continue
            self.storage_subnet_ids[zone.id] = self._subnet(
                "storage", zone, str(plan.storage), table
            )
            block = ec2.VpcIpv4CidrBlockAssociation(
                f"{self._name}-compute-{zone.id}",
                vpc_id=self.vpc_id,
                cidr_block=str(zone.compute_cidr),
                opts=self._own,
            )
            self.compute_subnet_ids[zone.id] = self._subnet(
                "compute", zone, str(zone.compute_cidr), table, after=[block]
            )
            self._reserve("compute", zone, self.compute_subnet_ids, zone.compute_cidr)

    def _subnet(
        self,
        kind: str,
        zone: ZoneConfig,
        cidr: str,
        table: pulumi.Input[str],
        *,
        after: list[pulumi.Resource] | None = None,
    ) -> pulumi.Output[str]:
        """Make a subnet in ``zone`` whose instances get no public address."""
        label = f"{self._name}-{kind}-{zone.id}"
        role = {ROLES[kind]: "1"} if kind in ROLES else {}
        subnet = ec2.Subnet(
            label,
            vpc_id=self.vpc_id,
            availability_zone_id=zone.id,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags={**self._names.called(label), "tier": kind, **role},
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )
        routed = ec2.RouteTableAssociation(
            label, subnet_id=subnet.id, route_table_id=table, opts=self._own
        )
        self.ready.append(routed)
        return subnet.id

    def _reserve(
        self,
        kind: str,
        zone: ZoneConfig,
        subnet_ids: dict[str, pulumi.Output[str]],
        block: IPv4Network,
    ) -> None:
        """Keep the pods' part of a subnet for whole prefixes: scattered addresses leave none."""
        for number, part in enumerate(parts(block).pods, start=1):
            reservation = ec2.SubnetCidrReservation(
                f"{self._name}-{kind}-{zone.id}-pods-{number}",
                subnet_id=subnet_ids[zone.id],
                cidr_block=str(part),
                reservation_type="prefix",
                description="Prefixes for pods",
                # Every change replaces it, and two of them may not overlap.
                opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
            )
            self.ready.append(reservation)

    def _endpoints(self, tables: dict[str, pulumi.Output[str]]) -> None:
        """Reach S3 and the listed services inside the network, in zones with storage from there."""
        config = self._config
        made = endpoints.connect(
            self._name,
            self._names,
            vpc_id=self.vpc_id,
            services=config.endpoints,
            subnet_ids=list({**self.management_subnet_ids, **self.storage_subnet_ids}.values()),
            route_table_ids=list(tables.values()),
            callers={"management": config.management_cidr}
            | {zone.id: zone.compute_cidr for zone in config.zones if zone.compute_cidr},
            opts=self._own,
        )
        if config.nat == "none":
            self.ready += made

    def _domains(self) -> None:
        name, names, config = self._name, self._names, self._config
        self.private_zone_id = (
            domains.private_zone(
                name, names, domain=config.private_zone, vpc_id=self.vpc_id, opts=self._own
            )
            if config.private_zone
            else None
        )
        self.certificate_arn = (
            domains.enter(name, names, config.entry, opts=self._own) if config.entry else None
        )
