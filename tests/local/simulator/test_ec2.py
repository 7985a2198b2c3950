"""EC2: what moto lacks, and what it would let go that AWS keeps."""

import json
from typing import Any

import pytest

from .conftest import Account, refusal


def tags(kind: str) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": [{"Key": "team", "Value": "ml"}]}]


def test_a_placement_group_comes_and_goes_with_its_tags(account: Account) -> None:
    ec2 = account.client("ec2")
    made = ec2.create_placement_group(
        GroupName="pool", Strategy="cluster", TagSpecifications=tags("placement-group")
    )["PlacementGroup"]
    assert made["GroupArn"] == (f"arn:aws:ec2:us-east-1:{account.number}:placement-group/pool")
    ec2.create_tags(Resources=[made["GroupId"]], Tags=[{"Key": "a", "Value": "b"}])
    [described] = ec2.describe_placement_groups(GroupNames=["pool"])["PlacementGroups"]
    assert described["Tags"] == [{"Key": "team", "Value": "ml"}, {"Key": "a", "Value": "b"}]
    assert described["State"] == "available"
    ec2.delete_placement_group(GroupName="pool")
    assert refusal(ec2.describe_placement_groups, GroupNames=["pool"]) == (
        "InvalidPlacementGroup.Unknown",
        "The Placement Group 'pool' is unknown.",
    )


def test_a_placement_group_that_nodes_are_in_is_not_deleted(
    account: Account, cluster: dict[str, Any]
) -> None:
    ec2 = account.client("ec2")
    ec2.create_placement_group(GroupName="pool", Strategy="cluster")
    template = ec2.create_launch_template(
        LaunchTemplateName="pool",
        LaunchTemplateData={"InstanceType": "p5.48xlarge", "Placement": {"GroupName": "pool"}},
    )["LaunchTemplate"]["LaunchTemplateId"]
    account.client("eks").create_nodegroup(
        clusterName="train",
        nodegroupName="wave-1",
        nodeRole=account.role("node", "ec2.amazonaws.com"),
        subnets=cluster["resourcesVpcConfig"]["subnetIds"][:1],
        launchTemplate={"id": template},
    )
    assert refusal(ec2.delete_placement_group, GroupName="pool") == (
        "InvalidPlacementGroup.InUse",
        "The placement group 'pool' is in use and may not be deleted.",
    )


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ("MissingParameter", "The request must contain the parameter GroupName")),
        (
            {"GroupName": "a", "Strategy": "partition", "PartitionCount": 8},
            (
                "InvalidParameterValue",
                "Value (8) for parameter partitionCount is invalid. It must be between 1 and 7.",
            ),
        ),
        (
            {"GroupName": "a", "Strategy": "cluster", "PartitionCount": 2},
            (
                "InvalidParameterCombination",
                "The parameter partitionCount is only for the strategy partition.",
            ),
        ),
    ],
)
def test_a_wrong_placement_group_is_refused(
    account: Account, params: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert refusal(account.client("ec2").create_placement_group, **params) == expected


def test_a_capacity_reservation_comes_changes_and_is_cancelled(account: Account) -> None:
    ec2 = account.client("ec2")
    made = ec2.create_capacity_reservation(
        InstanceType="p5.48xlarge",
        InstancePlatform="Linux/UNIX",
        AvailabilityZoneId="use1-az4",
        InstanceCount=4,
        InstanceMatchCriteria="targeted",
        TagSpecifications=tags("capacity-reservation"),
    )["CapacityReservation"]
    identity = made["CapacityReservationId"]
    assert {
        key: made[key]
        for key in (
            "State",
            "AvailabilityZone",
            "InstanceMatchCriteria",
            "TotalInstanceCount",
            "Tags",
        )
    } == {
        "State": "active",
        "AvailabilityZone": "us-east-1d",
        "InstanceMatchCriteria": "targeted",
        "TotalInstanceCount": 4,
        "Tags": [{"Key": "team", "Value": "ml"}],
    }
    ec2.modify_capacity_reservation(CapacityReservationId=identity, InstanceCount=8)
    active = [{"Name": "state", "Values": ["active"]}]
    [described] = ec2.describe_capacity_reservations(Filters=active)["CapacityReservations"]
    assert described["TotalInstanceCount"] == 8
    ec2.cancel_capacity_reservation(CapacityReservationId=identity)
    [described] = ec2.describe_capacity_reservations(CapacityReservationIds=[identity])[
        "CapacityReservations"
    ]
    assert described["State"] == "cancelled"
    assert refusal(ec2.cancel_capacity_reservation, CapacityReservationId=identity) == (
        "InvalidCapacityReservationState",
        f"The capacity reservation {identity} is cancelled, it must be active",
    )


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ("MissingParameter", "The request must contain the parameter AvailabilityZone")),
        (
            {"AvailabilityZone": "us-east-1z"},
            (
                "InvalidParameterValue",
                "Value (us-east-1z) for parameter availabilityZone is invalid.",
            ),
        ),
        (
            {"AvailabilityZone": "us-east-1a", "EndDateType": "limited"},
            (
                "InvalidParameterCombination",
                "EndDate must be given for, and only for, the end date type 'limited'.",
            ),
        ),
    ],
)
def test_a_wrong_capacity_reservation_is_refused(
    account: Account, params: dict[str, Any], expected: tuple[str, str]
) -> None:
    create = account.client("ec2").create_capacity_reservation
    common = {"InstanceType": "p5.48xlarge", "InstancePlatform": "Linux/UNIX", "InstanceCount": 1}
    assert refusal(create, **common, **params) == expected


def test_a_subnet_is_closed_and_keeps_its_attributes(account: Account) -> None:
    ec2, subnet = account.client("ec2"), account.subnet(account.vpc())
    [described] = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
    assert (described["MapPublicIpOnLaunch"], described["DefaultForAz"]) == (False, False)
    ec2.modify_subnet_attribute(SubnetId=subnet, PrivateDnsHostnameTypeOnLaunch="resource-name")
    ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    [described] = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
    assert described["PrivateDnsNameOptionsOnLaunch"]["HostnameType"] == "resource-name"
    assert described["MapPublicIpOnLaunch"] is True


def test_unknown_ids_are_refused_in_aws_s_words(account: Account) -> None:
    ec2 = account.client("ec2")
    nowhere = {"VpcId": "vpc-0123456789abcdef0"}
    no_vpc = ("InvalidVpcID.NotFound", "The vpc ID 'vpc-0123456789abcdef0' does not exist")
    assert refusal(ec2.create_subnet, **nowhere, CidrBlock="10.0.0.0/24") == no_vpc
    assert refusal(ec2.create_security_group, **nowhere, GroupName="a", Description="a") == no_vpc
    service = {"ServiceName": "com.amazonaws.us-east-1.s3"}
    assert refusal(ec2.create_vpc_endpoint, **nowhere, **service) == no_vpc
    assert refusal(ec2.describe_security_groups, GroupIds=["sg-0123456789abcdef0"]) == (
        "InvalidGroup.NotFound",
        "The security group 'sg-0123456789abcdef0' does not exist",
    )
    assert refusal(ec2.describe_launch_templates, LaunchTemplateNames=["none"]) == (
        "InvalidLaunchTemplateName.NotFoundException",
        "At least one of the launch templates specified in the request does not exist.",
    )
    assert refusal(ec2.describe_nat_gateways, NatGatewayIds=["nat-0123456789abcdef0"]) == (
        "NatGatewayNotFound",
        "NatGateway nat-0123456789abcdef0 was not found",
    )


def test_a_zone_of_another_region_is_refused_with_those_of_this_one(account: Account) -> None:
    assert refusal(
        account.client("ec2").create_subnet,
        VpcId=account.vpc(),
        CidrBlock="10.0.0.0/24",
        AvailabilityZoneId="usw2-az1",
    ) == (
        "InvalidParameterValue",
        (
            "Value (usw2-az1) for parameter availabilityZoneId is invalid. Subnets can currently "
            "only be created in the following availability zones: use1-az6, use1-az1, use1-az2, "
            "use1-az4, use1-az3, use1-az5."
        ),
    )


def test_the_default_group_has_its_rule_and_stays(account: Account) -> None:
    ec2, vpc = account.client("ec2"), account.vpc()
    [group] = ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [vpc]}])[
        "SecurityGroups"
    ]
    identity = group["GroupId"]
    [rule] = group["IpPermissions"]
    assert [pair["GroupId"] for pair in rule["UserIdGroupPairs"]] == [identity]
    assert refusal(ec2.delete_security_group, GroupId=identity) == (
        "CannotDelete",
        f'the specified group: "{identity}" name: "default" cannot be deleted by a user',
    )


def test_a_rule_between_groups_keeps_its_description_and_its_tags(account: Account) -> None:
    ec2, vpc = account.client("ec2"), account.vpc()
    one, two = (
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"]
        for name in ("one", "two")
    )
    pair = {"GroupId": two, "Description": "EFA from two"}
    [made] = ec2.authorize_security_group_ingress(
        GroupId=one,
        IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [pair]}],
        TagSpecifications=tags("security-group-rule"),
    )["SecurityGroupRules"]
    rule = made["SecurityGroupRuleId"]
    ec2.create_tags(Resources=[rule], Tags=[{"Key": "a", "Value": "b"}])
    [described] = ec2.describe_security_group_rules(SecurityGroupRuleIds=[rule])[
        "SecurityGroupRules"
    ]
    assert described["Description"] == "EFA from two"
    assert described["Tags"] == [{"Key": "team", "Value": "ml"}, {"Key": "a", "Value": "b"}]
    assert refusal(ec2.delete_security_group, GroupId=two) == (
        "DependencyViolation",
        f"resource {two} has a dependent object",
    )
    ec2.revoke_security_group_ingress(GroupId=one, SecurityGroupRuleIds=[rule])
    ec2.delete_security_group(GroupId=two)


def test_a_nat_gateway_holds_its_address_subnet_and_internet_gateway(account: Account) -> None:
    ec2, vpc = account.client("ec2"), account.vpc()
    subnet = account.subnet(vpc)
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = ec2.allocate_address(Domain="vpc")
    allocation = address["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=subnet, AllocationId=allocation)["NatGateway"]
    assert nat["ConnectivityType"] == "public"
    assert refusal(ec2.create_nat_gateway, SubnetId=subnet, AllocationId=allocation) == (
        "Resource.AlreadyAssociated",
        f"Elastic IP address [{allocation}] is already associated",
    )
    assert refusal(ec2.release_address, AllocationId=allocation) == (
        "InvalidIPAddress.InUse",
        f"Address {address['PublicIp']} is in use.",
    )
    assert refusal(ec2.detach_internet_gateway, InternetGatewayId=gateway, VpcId=vpc) == (
        "DependencyViolation",
        (
            f"Network {vpc} has some mapped public address(es). Please unmap those public "
            "address(es) before detaching the gateway."
        ),
    )
    assert refusal(ec2.delete_subnet, SubnetId=subnet)[0] == "DependencyViolation"
    ec2.delete_nat_gateway(NatGatewayId=nat["NatGatewayId"])
    ec2.release_address(AllocationId=allocation)
    ec2.delete_subnet(SubnetId=subnet)
    refused = ("DependencyViolation", f"The vpc '{vpc}' has dependencies and cannot be deleted.")
    assert refusal(ec2.delete_vpc, VpcId=vpc) == refused
    ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    ec2.delete_vpc(VpcId=vpc)


def test_instances_hold_their_subnet_until_they_are_terminated(account: Account) -> None:
    ec2, subnet = account.client("ec2"), account.subnet(account.vpc())
    [instance] = ec2.run_instances(
        ImageId="ami-0123456789abcdef0",
        InstanceType="p5.48xlarge",
        MinCount=1,
        MaxCount=1,
        SubnetId=subnet,
    )["Instances"]
    assert refusal(ec2.delete_subnet, SubnetId=subnet)[0] == "DependencyViolation"
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    ec2.delete_subnet(SubnetId=subnet)


def test_addresses_that_subnets_use_stay_with_the_vpc(account: Account) -> None:
    ec2, vpc = account.client("ec2"), account.vpc()
    [first] = ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["CidrBlockAssociationSet"]
    block = ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="100.64.0.0/16")
    identity = block["CidrBlockAssociation"]["AssociationId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="100.64.0.0/18")["Subnet"]["SubnetId"]
    assert refusal(ec2.disassociate_vpc_cidr_block, AssociationId=identity) == (
        "InvalidCidrBlock.InUse",
        (
            f"The vpc CIDR block with association ID {identity} is in use by subnets and may "
            "not be disassociated."
        ),
    )
    assert refusal(ec2.disassociate_vpc_cidr_block, AssociationId=first["AssociationId"]) == (
        "OperationNotPermitted",
        (
            f"The vpc CIDR block with association ID {first['AssociationId']} may not be "
            "disassociated. It is the primary IPv4 CIDR block of the VPC"
        ),
    )
    ec2.delete_subnet(SubnetId=subnet)
    ec2.disassociate_vpc_cidr_block(AssociationId=identity)


def test_a_gateway_endpoint_moves_between_route_tables(account: Account) -> None:
    ec2, vpc = account.client("ec2"), account.vpc()
    one, two = (ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"] for _ in "ab")
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    endpoint = ec2.create_vpc_endpoint(
        VpcId=vpc,
        ServiceName="com.amazonaws.us-east-1.s3",
        RouteTableIds=[one],
        PolicyDocument=policy,
        TagSpecifications=tags("vpc-endpoint"),
    )["VpcEndpoint"]
    identity = endpoint["VpcEndpointId"]
    assert (endpoint["VpcEndpointType"], endpoint["PrivateDnsEnabled"]) == ("Gateway", False)
    assert endpoint["PolicyDocument"] == policy
    ec2.modify_vpc_endpoint(
        VpcEndpointId=identity, AddRouteTableIds=[two], RemoveRouteTableIds=[one]
    )
    [described] = ec2.describe_vpc_endpoints(VpcEndpointIds=[identity])["VpcEndpoints"]
    assert described["RouteTableIds"] == [two]
    found = ec2.describe_route_tables(RouteTableIds=[one, two])["RouteTables"]
    users = {
        table["RouteTableId"]: [route["GatewayId"] for route in table["Routes"]] for table in found
    }
    assert users == {one: ["local"], two: ["local", identity]}
    assert refusal(ec2.delete_vpc, VpcId=vpc)[0] == "DependencyViolation"
    assert ec2.delete_vpc_endpoints(VpcEndpointIds=[identity])["Unsuccessful"] == []


def test_an_interface_endpoint_has_an_interface_in_each_of_its_subnets(account: Account) -> None:
    ec2, vpc = account.client("ec2"), account.vpc()
    one, two = account.subnet(vpc, 0), account.subnet(vpc, 1, "use1-az6")
    identity = ec2.create_vpc_endpoint(
        VpcId=vpc,
        ServiceName="com.amazonaws.us-east-1.ecr.api",
        VpcEndpointType="Interface",
        SubnetIds=[one],
        PrivateDnsEnabled=True,
    )["VpcEndpoint"]["VpcEndpointId"]
    ec2.modify_vpc_endpoint(VpcEndpointId=identity, AddSubnetIds=[two], RemoveSubnetIds=[one])
    [endpoint] = ec2.describe_vpc_endpoints(VpcEndpointIds=[identity])["VpcEndpoints"]
    [group] = endpoint["Groups"]
    assert (endpoint["SubnetIds"], group["GroupName"]) == ([two], "default")
    interfaces = ec2.describe_network_interfaces(
        NetworkInterfaceIds=endpoint["NetworkInterfaceIds"]
    )["NetworkInterfaces"]
    assert [interface["SubnetId"] for interface in interfaces] == [two]
    ec2.delete_subnet(SubnetId=one)
    assert refusal(ec2.delete_subnet, SubnetId=two)[0] == "DependencyViolation"
    ec2.delete_vpc_endpoints(VpcEndpointIds=[identity])
    ec2.delete_subnet(SubnetId=two)


def test_an_endpoint_that_does_not_exist_is_reported_not_raised(account: Account) -> None:
    answer = account.client("ec2").delete_vpc_endpoints(VpcEndpointIds=["vpce-0123456789abcdef0"])
    assert answer["Unsuccessful"] == [
        {
            "ResourceId": "vpce-0123456789abcdef0",
            "Error": {
                "Code": "InvalidVpcEndpointId.NotFound",
                "Message": "The VpcEndPoint ID 'vpce-0123456789abcdef0' does not exist",
            },
        }
    ]


def test_flow_logs_go_into_a_folder_of_a_bucket(account: Account) -> None:
    ec2, bucket = account.client("ec2"), f"flow-{account.number}"
    account.client("s3").create_bucket(Bucket=bucket)
    options = {"FileFormat": "parquet", "HiveCompatiblePartitions": True, "PerHourPartition": True}
    [identity] = ec2.create_flow_logs(
        ResourceIds=[account.vpc()],
        ResourceType="VPC",
        TrafficType="REJECT",
        LogDestinationType="s3",
        LogDestination=f"arn:aws:s3:::{bucket}/vpc",
        MaxAggregationInterval=60,
        DestinationOptions=options,
        TagSpecifications=tags("vpc-flow-log"),
    )["FlowLogIds"]
    [log] = ec2.describe_flow_logs(FlowLogIds=[identity])["FlowLogs"]
    assert {
        key: log[key]
        for key in ("LogDestination", "DestinationOptions", "DeliverLogsStatus", "Tags")
    } == {
        "LogDestination": f"arn:aws:s3:::{bucket}/vpc",
        "DestinationOptions": options,
        "DeliverLogsStatus": "SUCCESS",
        "Tags": [{"Key": "team", "Value": "ml"}],
    }
    assert "DeliverLogsErrorMessage" not in log


def test_a_launch_template_reads_back_as_it_was_written(account: Account) -> None:
    ec2 = account.client("ec2")
    data = {
        "InstanceType": "p5.48xlarge",
        "UserData": "aGk=",
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 200, "VolumeType": "gp3"}}
        ],
        "NetworkInterfaces": [
            {"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "efa", "Groups": ["sg-1"]}
        ],
        "InstanceMarketOptions": {"MarketType": "capacity-block"},
        "CapacityReservationSpecification": {
            "CapacityReservationTarget": {"CapacityReservationId": "cr-1"}
        },
        "TagSpecifications": tags("instance"),
    }
    identity = ec2.create_launch_template(
        LaunchTemplateName="pool",
        LaunchTemplateData=data,
        TagSpecifications=tags("launch-template"),
    )["LaunchTemplate"]["LaunchTemplateId"]
    [version] = ec2.describe_launch_template_versions(LaunchTemplateId=identity)[
        "LaunchTemplateVersions"
    ]
    assert version["LaunchTemplateData"] == data
    ec2.delete_launch_template(LaunchTemplateId=identity)
    assert refusal(ec2.describe_launch_template_versions, LaunchTemplateId=identity) == (
        "InvalidLaunchTemplateId.NotFound",
        f"The specified launch template, with template ID {identity}, does not exist.",
    )
