"""Find a resource whose creation had begun, from what the program asked for.

Three ways: the resource carries a ``Name`` tag that no other resource of its kind in the
stack has; or it has a name that the program chose; or it is found by what it connects. Kinds
whose creation may be repeated have a table of their own. Objects of Kubernetes and Commands stand
in none: a server-side apply may be repeated, and so may a gate.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import boto3
from botocore.exceptions import ClientError

__all__ = ["LOOKS", "REPEATABLE", "Finder"]

Inputs = Mapping[str, Any]
Look = Callable[["Finder", Inputs], str | None]


def name_tag(inputs: Inputs) -> str | None:
    """Return the ``Name`` tag that the program asked for."""
    tags: Mapping[str, str] = {**inputs.get("tagsAll", {}), **inputs.get("tags", {})}
    return tags.get("Name")


def tagged(call: str, listed: str, key: str) -> Look:
    """Find an EC2 resource by its ``Name`` tag."""

    def look(finder: "Finder", inputs: Inputs) -> str | None:
        name = name_tag(inputs)
        if name is None:
            return None
        filters = [{"Name": "tag:Name", "Values": [name]}]
        argument = (
            "Filter" if call in {"describe_nat_gateways", "describe_flow_logs"} else "Filters"
        )
        found = finder.call("ec2", call, **{argument: filters})[listed]
        alive = [entry for entry in found if entry.get("State") not in {"deleted", "deleting"}]
        return str(alive[0][key]) if alive else None

    return look


def named(service: str, call: str, arguments: Callable[[Inputs], dict[str, Any]], key: str) -> Look:
    """Find a resource by asking for it; its id is `key`, formatted with the inputs."""

    def look(finder: "Finder", inputs: Inputs) -> str | None:
        try:
            finder.call(service, call, **arguments(inputs))
        except ClientError:
            return None
        return key.format(**inputs)

    return look


def rule(egress: bool) -> Look:  # noqa: FBT001 - the direction is the whole argument
    """Find a security group rule by its group, direction, protocol, ports and peer."""

    def look(finder: "Finder", inputs: Inputs) -> str | None:
        group = inputs["securityGroupId"]
        found = finder.call(
            "ec2",
            "describe_security_group_rules",
            Filters=[{"Name": "group-id", "Values": [group]}],
        )["SecurityGroupRules"]
        for entry in found:
            peer = entry.get("ReferencedGroupInfo", {}).get("GroupId")
            same = (
                entry["IsEgress"] == egress
                and entry["IpProtocol"] == str(inputs["ipProtocol"])
                and entry.get("CidrIpv4") == inputs.get("cidrIpv4")
                and peer == inputs.get("referencedSecurityGroupId")
                and entry.get("PrefixListId") == inputs.get("prefixListId")
                and (inputs.get("fromPort") in {None, entry.get("FromPort")})
            )
            if same:
                return str(entry["SecurityGroupRuleId"])
        return None

    return look


def route(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a route by its table and destination; its id is made of both, as the provider does."""
    table, target = inputs["routeTableId"], inputs.get("destinationCidrBlock")
    found = finder.call("ec2", "describe_route_tables", RouteTableIds=[table])["RouteTables"]
    present = any(
        entry.get("DestinationCidrBlock") == target for each in found for entry in each["Routes"]
    )
    return f"{table}_{target}" if present else None


def association(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a route table association by its subnet."""
    found = finder.call(
        "ec2",
        "describe_route_tables",
        Filters=[{"Name": "association.subnet-id", "Values": [inputs["subnetId"]]}],
    )["RouteTables"]
    for table in found:
        for entry in table["Associations"]:
            if entry.get("SubnetId") == inputs["subnetId"]:
                return str(entry["RouteTableAssociationId"])
    return None


def address_block(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a further address block of a VPC."""
    found = finder.call("ec2", "describe_vpcs", VpcIds=[inputs["vpcId"]])["Vpcs"]
    for vpc in found:
        for entry in vpc["CidrBlockAssociationSet"]:
            alive = entry["CidrBlockState"]["State"] in {"associating", "associated"}
            if alive and entry["CidrBlock"] == inputs.get("cidrBlock"):
                return str(entry["AssociationId"])
    return None


def reservation(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a reservation of addresses by its subnet and block."""
    found = finder.call("ec2", "get_subnet_cidr_reservations", SubnetId=inputs["subnetId"])
    for entry in found["SubnetIpv4CidrReservations"]:
        if entry["Cidr"] == inputs["cidrBlock"]:
            return str(entry["SubnetCidrReservationId"])
    return None


def hosted_zone(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a hosted zone by its name and its ``Name`` tag: a public one may be called the same."""
    name = str(inputs["name"]).rstrip(".") + "."
    found = finder.call("route53", "list_hosted_zones_by_name", DNSName=name)["HostedZones"]
    for entry in found:
        zone = str(entry["Id"]).rpartition("/")[2]
        if entry["Name"] == name and _has_our_name(
            finder.call(
                "route53", "list_tags_for_resource", ResourceType="hostedzone", ResourceId=zone
            )["ResourceTagSet"]["Tags"],
            inputs,
        ):
            return zone
    return None


def record(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a record by its zone, name and type, of which its id is made."""
    name, kind = str(inputs["name"]).rstrip(".").lower(), inputs["type"]
    found = finder.call(
        "route53",
        "list_resource_record_sets",
        HostedZoneId=inputs["zoneId"],
        StartRecordName=name,
        StartRecordType=kind,
        MaxItems="1",
    )["ResourceRecordSets"]
    same = found and (found[0]["Name"].rstrip("."), found[0]["Type"]) == (name, kind)
    return f"{inputs['zoneId']}_{name}_{kind}" if same else None


def certificate(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a certificate by its domain and its ``Name`` tag."""
    for entry in finder.call("acm", "list_certificates")["CertificateSummaryList"]:
        arn = str(entry["CertificateArn"])
        tags = finder.call("acm", "list_tags_for_certificate", CertificateArn=arn)["Tags"]
        if entry["DomainName"] == inputs["domainName"] and _has_our_name(tags, inputs):
            return arn
    return None


def _has_our_name(tags: Sequence[Mapping[str, str]], inputs: Inputs) -> bool:
    return {"Key": "Name", "Value": name_tag(inputs)} in tags


def trail(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a trail by its name; its id is its ARN."""
    found = finder.call("cloudtrail", "describe_trails", trailNameList=[inputs["name"]])
    return str(found["trailList"][0]["TrailARN"]) if found["trailList"] else None


def budget(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a budget by its name; its id is the account and the name."""
    account = finder.call("sts", "get_caller_identity")["Account"]
    try:
        finder.call("budgets", "describe_budget", AccountId=account, BudgetName=inputs["name"])
    except ClientError:
        return None
    return f"{account}:{inputs['name']}"


def log_group(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a log group by its name."""
    name = str(inputs["name"])
    found = finder.call("logs", "describe_log_groups", logGroupNamePrefix=name)["logGroups"]
    return name if any(entry["logGroupName"] == name for entry in found) else None


def alias(finder: "Finder", inputs: Inputs) -> str | None:
    """Find an alias of a key by its name."""
    name = str(inputs["name"])
    found = finder.call("kms", "list_aliases", Limit=100)["Aliases"]
    return name if any(entry["AliasName"] == name for entry in found) else None


def key(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a KMS key by its ``Name`` tag; keys waiting for deletion do not count."""
    name = name_tag(inputs)
    for entry in finder.call("kms", "list_keys", Limit=1000)["Keys"]:
        identity = entry["KeyId"]
        tags = finder.call("kms", "list_resource_tags", KeyId=identity)["Tags"]
        if {"TagKey": "Name", "TagValue": name} in tags:
            state = finder.call("kms", "describe_key", KeyId=identity)["KeyMetadata"]["KeyState"]
            if state == "Enabled":
                return str(identity)
    return None


def file_system(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a file system by its ``Name`` tag."""
    name = name_tag(inputs)
    for entry in finder.call("fsx", "describe_file_systems")["FileSystems"]:
        if {"Key": "Name", "Value": name} in entry.get("Tags", []):
            return str(entry["FileSystemId"])
    return None


def repository_association(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a data repository association by its file system and path."""
    found = finder.call("fsx", "describe_data_repository_associations")["Associations"]
    for entry in found:
        if (entry["FileSystemId"], entry.get("FileSystemPath")) == (
            inputs["fileSystemId"],
            inputs.get("fileSystemPath"),
        ):
            return str(entry["AssociationId"])
    return None


def secret(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a secret by its name; its id is its ARN."""
    try:
        return str(finder.call("secretsmanager", "describe_secret", SecretId=inputs["name"])["ARN"])
    except ClientError:
        return None


def workspace(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a metrics workspace by its alias."""
    found = finder.call("amp", "list_workspaces", alias=inputs.get("alias"))["workspaces"]
    return str(found[0]["workspaceId"]) if found else None


def identity_association(finder: "Finder", inputs: Inputs) -> str | None:
    """Find a pod identity association by its cluster, namespace and service account."""
    found = finder.call(
        "eks",
        "list_pod_identity_associations",
        clusterName=inputs["clusterName"],
        namespace=inputs["namespace"],
        serviceAccount=inputs["serviceAccount"],
    )["associations"]
    return str(found[0]["associationId"]) if found else None


LOOKS: dict[str, Look] = {
    "aws:ec2/vpc:Vpc": tagged("describe_vpcs", "Vpcs", "VpcId"),
    "aws:ec2/subnet:Subnet": tagged("describe_subnets", "Subnets", "SubnetId"),
    "aws:ec2/internetGateway:InternetGateway": tagged(
        "describe_internet_gateways", "InternetGateways", "InternetGatewayId"
    ),
    "aws:ec2/eip:Eip": tagged("describe_addresses", "Addresses", "AllocationId"),
    "aws:ec2/natGateway:NatGateway": tagged("describe_nat_gateways", "NatGateways", "NatGatewayId"),
    "aws:ec2/routeTable:RouteTable": tagged("describe_route_tables", "RouteTables", "RouteTableId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": tagged(
        "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"
    ),
    "aws:ec2/flowLog:FlowLog": tagged("describe_flow_logs", "FlowLogs", "FlowLogId"),
    "aws:ec2/securityGroup:SecurityGroup": tagged(
        "describe_security_groups", "SecurityGroups", "GroupId"
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": tagged(
        "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"
    ),
    "aws:ec2/capacityReservation:CapacityReservation": tagged(
        "describe_capacity_reservations", "CapacityReservations", "CapacityReservationId"
    ),
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": address_block,
    "aws:ec2/subnetCidrReservation:SubnetCidrReservation": reservation,
    "aws:route53/zone:Zone": hosted_zone,
    "aws:route53/record:Record": record,
    "aws:acm/certificate:Certificate": certificate,
    "aws:ec2/route:Route": route,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": association,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": rule(egress=False),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": rule(egress=True),
    "aws:ec2/placementGroup:PlacementGroup": named(
        "ec2", "describe_placement_groups", lambda i: {"GroupNames": [i["name"]]}, "{name}"
    ),
    "aws:iam/role:Role": named("iam", "get_role", lambda i: {"RoleName": i["name"]}, "{name}"),
    "aws:s3/bucket:Bucket": named(
        "s3", "head_bucket", lambda i: {"Bucket": i["bucket"]}, "{bucket}"
    ),
    "aws:ecr/repository:Repository": named(
        "ecr", "describe_repositories", lambda i: {"repositoryNames": [i["name"]]}, "{name}"
    ),
    "aws:eks/cluster:Cluster": named(
        "eks", "describe_cluster", lambda i: {"name": i["name"]}, "{name}"
    ),
    "aws:eks/nodeGroup:NodeGroup": named(
        "eks",
        "describe_nodegroup",
        lambda i: {"clusterName": i["clusterName"], "nodegroupName": i["nodeGroupName"]},
        "{clusterName}:{nodeGroupName}",
    ),
    "aws:eks/addon:Addon": named(
        "eks",
        "describe_addon",
        lambda i: {"clusterName": i["clusterName"], "addonName": i["addonName"]},
        "{clusterName}:{addonName}",
    ),
    "aws:eks/accessEntry:AccessEntry": named(
        "eks",
        "describe_access_entry",
        lambda i: {"clusterName": i["clusterName"], "principalArn": i["principalArn"]},
        "{clusterName}:{principalArn}",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": identity_association,
    "aws:kms/key:Key": key,
    "aws:kms/alias:Alias": alias,
    "aws:cloudwatch/logGroup:LogGroup": log_group,
    "aws:cloudtrail/trail:Trail": trail,
    "aws:budgets/budget:Budget": budget,
    "aws:fsx/lustreFileSystem:LustreFileSystem": file_system,
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": repository_association,
    "aws:secretsmanager/secret:Secret": secret,
    "aws:amp/workspace:Workspace": workspace,
}


REPEATABLE = frozenset(
    {
        "aws:acm/certificateValidation:CertificateValidation",
        "aws:autoscaling/schedule:Schedule",
        "aws:cloudwatch/metricAlarm:MetricAlarm",
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration",
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        "aws:s3/bucketVersioning:BucketVersioning",
        "aws:sns/topic:Topic",
        "aws:sns/topicPolicy:TopicPolicy",
    }
)
"""Kinds whose creation is a put, or waits, or takes over what is there: nothing has to be found."""


class Finder:
    """Looks for resources with the credentials of an engine's environment."""

    def __init__(self, environment: Mapping[str, str], region: str) -> None:
        """Take what the engine uses: its credentials, its endpoint override, its region."""
        self._environment = environment
        self._region = region
        self._endpoint = environment.get("AWS_ENDPOINT_URL")
        self._clients: dict[str, Any] = {}

    def __call__(self, kind: str, inputs: Inputs) -> str | None:
        """Return the id of the resource of `kind` that `inputs` describe, or None."""
        look = LOOKS.get(kind)
        return look(self, inputs) if look else None

    def call(self, service: str, operation: str, **arguments: Any) -> Any:  # noqa: ANN401 - botocore answers are untyped
        """Call one AWS operation and return its answer."""
        if service not in self._clients:
            self._clients[service] = self._client(service)
        return getattr(self._clients[service], operation)(**arguments)

    def _client(self, service: str) -> Any:  # noqa: ANN401 - boto3 has a type per service
        keys = {
            "aws_access_key_id": self._environment.get("AWS_ACCESS_KEY_ID"),
            "aws_secret_access_key": self._environment.get("AWS_SECRET_ACCESS_KEY"),
            "aws_session_token": self._environment.get("AWS_SESSION_TOKEN"),
        }
        make = cast("Any", boto3.Session().client)  # it has an overload per service
        return make(service, region_name=self._region, endpoint_url=self._endpoint, **keys)
