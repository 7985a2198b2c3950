"""One resource of every kind that the program declares, and how each is described."""

import json
from collections.abc import Iterator
from typing import Any

from .conftest import Account


def build(account: Account) -> None:
    """Make one of everything."""
    subnets = _network(account)
    key = account.client("kms").create_key()["KeyMetadata"]["KeyId"]
    account.client("kms").create_alias(AliasName="alias/train", TargetKeyId=key)
    account.client("kms").enable_key_rotation(KeyId=key, RotationPeriodInDays=90)
    _storage(account, subnets[0])
    _control_plane(account, subnets)
    _names(account)
    _watching(account)


def _network(account: Account) -> list[str]:
    ec2, vpc = account.client("ec2"), account.vpc()
    subnets = [account.subnet(vpc, 0, "use1-az4"), account.subnet(vpc, 1, "use1-az6")]
    ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="100.64.0.0/16")
    ec2.create_subnet_cidr_reservation(
        SubnetId=subnets[0], Cidr="10.0.0.128/25", ReservationType="prefix", Description="pods"
    )
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=subnets[0], AllocationId=address)["NatGateway"]
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(
        RouteTableId=table,
        DestinationCidrBlock="0.0.0.0/0",
        NatGatewayId=nat["NatGatewayId"],
    )
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnets[1])
    service = "com.amazonaws.us-east-1.s3"
    ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=service, RouteTableIds=[table])
    group = ec2.create_security_group(GroupName="efa", Description="EFA", VpcId=vpc)["GroupId"]
    pair = {"GroupId": group, "Description": "self"}
    permissions = [{"IpProtocol": "-1", "UserIdGroupPairs": [pair]}]
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=permissions)
    ec2.create_placement_group(GroupName="pool", Strategy="cluster")
    ec2.create_capacity_reservation(
        InstanceType="p5.48xlarge",
        InstancePlatform="Linux/UNIX",
        AvailabilityZoneId="use1-az4",
        InstanceCount=2,
    )
    data = {"InstanceType": "p5.48xlarge", "Placement": {"GroupName": "pool"}}
    ec2.create_launch_template(LaunchTemplateName="pool", LaunchTemplateData=data)
    account.client("logs").create_log_group(logGroupName="/flow", tags={"a": "b"})
    ec2.create_flow_logs(
        ResourceIds=[vpc],
        ResourceType="VPC",
        TrafficType="ALL",
        LogDestination=f"arn:aws:logs:us-east-1:{account.number}:log-group:/flow",
        DeliverLogsPermissionArn=account.role("flow", "vpc-flow-logs.amazonaws.com"),
    )
    return subnets


def _storage(account: Account, subnet: str) -> None:
    s3, bucket = account.client("s3"), f"data-{account.number}"
    s3.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    s3.put_object(Bucket=bucket, Key="a", Body=b"content")
    allow = {
        "Effect": "Allow",
        "Principal": {"Service": "cloudtrail.amazonaws.com"},
        "Action": "s3:PutObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    s3.put_bucket_policy(Bucket=bucket, Policy=policy)
    rule = {"ID": "a", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 9}}
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [rule]})
    fsx = account.client("fsx")
    file_system = fsx.create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=[subnet],
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
    )["FileSystem"]["FileSystemId"]
    fsx.create_data_repository_association(
        FileSystemId=file_system, FileSystemPath="/a", DataRepositoryPath=f"s3://{bucket}/"
    )
    account.client("ecr").create_repository(repositoryName="train")
    account.client("secretsmanager").create_secret(Name="token", SecretString="for tests")


def _control_plane(account: Account, subnets: list[str]) -> None:
    eks, cluster = account.client("eks"), {"clusterName": "train"}
    eks.create_cluster(
        name="train",
        roleArn=account.role("cluster", "eks.amazonaws.com"),
        resourcesVpcConfig={"subnetIds": subnets},
        accessConfig={"authenticationMode": "API"},
    )
    eks.create_nodegroup(
        **cluster,
        nodegroupName="wave-1",
        nodeRole=account.role("node", "ec2.amazonaws.com"),
        subnets=subnets[:1],
        launchTemplate={"name": "pool"},
    )
    account.client("autoscaling").put_scheduled_update_group_action(
        AutoScalingGroupName=_scaled(account),
        ScheduledActionName="drain",
        Recurrence="0 20 * * 5",
        DesiredCapacity=0,
    )
    role = account.role("pod", "pods.eks.amazonaws.com")
    eks.create_addon(
        **cluster,
        addonName="vpc-cni",
        podIdentityAssociations=[{"serviceAccount": "aws-node", "roleArn": role}],
    )
    eks.create_access_entry(**cluster, principalArn=role, kubernetesGroups=["train"])
    iam = account.client("iam")
    iam.attach_role_policy(
        RoleName="node", PolicyArn="arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
    )
    statement = {"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName="node", PolicyName="own", PolicyDocument=document)


def _scaled(account: Account) -> str:
    """Name the Auto Scaling group of the node group."""
    group = account.client("eks").describe_nodegroup(clusterName="train", nodegroupName="wave-1")
    name: str = group["nodegroup"]["resources"]["autoScalingGroups"][0]["name"]
    return name


def _names(account: Account) -> None:
    route53, acm = account.client("route53"), account.client("acm")
    zone = route53.create_hosted_zone(Name="train.example.org", CallerReference="a")["HostedZone"]
    records = [{"Value": "10.0.0.1"}]
    record_set = {
        "Name": "chat.train.example.org",
        "Type": "A",
        "TTL": 60,
        "ResourceRecords": records,
    }
    changes = [{"Action": "CREATE", "ResourceRecordSet": record_set}]
    route53.change_resource_record_sets(HostedZoneId=zone["Id"], ChangeBatch={"Changes": changes})
    acm.request_certificate(DomainName="chat.train.example.org", ValidationMethod="DNS")


def _watching(account: Account) -> None:
    account.client("amp").create_workspace(alias="train")
    topic = account.client("sns").create_topic(Name="alerts")["TopicArn"]
    account.client("cloudwatch").put_metric_alarm(
        AlarmName="dead",
        Namespace="Trainyard",
        MetricName="Heartbeat",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=2,
        Threshold=1,
        ComparisonOperator="LessThanThreshold",
        AlarmActions=[topic],
    )
    account.client("cloudtrail").create_trail(Name="audit", S3BucketName=f"data-{account.number}")
    budget = {
        "BudgetName": "gpu",
        "BudgetLimit": {"Amount": "10", "Unit": "USD"},
        "TimeUnit": "MONTHLY",
        "BudgetType": "COST",
    }
    account.client("budgets").create_budget(AccountId=account.number, Budget=budget)


def snapshot(account: Account) -> dict[str, Any]:
    """Describe everything of the account, without what each answer says of itself."""
    return {
        f"{service}:{operation}": _without_metadata(
            getattr(account.client(service), operation)(**params)
        )
        for service, operation, params in _questions(account)
    }


def _without_metadata(answer: dict[str, Any]) -> dict[str, Any]:
    if "Body" in answer:
        answer["Body"] = answer["Body"].read()
    return {key: value for key, value in answer.items() if key != "ResponseMetadata"}


def _questions(account: Account) -> Iterator[tuple[str, str, dict[str, Any]]]:
    bucket = {"Bucket": f"data-{account.number}"}
    cluster = {"clusterName": "train"}
    ec2 = (
        *("vpcs", "subnets", "internet_gateways", "addresses", "nat_gateways", "route_tables"),
        *("vpc_endpoints", "flow_logs", "security_groups", "security_group_rules"),
        *("launch_templates", "placement_groups", "capacity_reservations", "network_interfaces"),
    )
    for what in ec2:
        yield "ec2", f"describe_{what}", {}
    yield "ec2", "describe_launch_template_versions", {"LaunchTemplateName": "pool"}
    [subnet] = _reserved(account)
    yield "ec2", "get_subnet_cidr_reservations", {"SubnetId": subnet}
    yield "autoscaling", "describe_auto_scaling_groups", {}
    yield "autoscaling", "describe_scheduled_actions", {}
    yield "route53", "list_hosted_zones", {}
    zones = account.client("route53").list_hosted_zones()["HostedZones"]
    yield "route53", "list_resource_record_sets", {"HostedZoneId": zones[0]["Id"]}
    yield "acm", "list_certificates", {}
    yield "eks", "describe_cluster", {"name": "train"}
    yield "eks", "describe_nodegroup", {**cluster, "nodegroupName": "wave-1"}
    yield "eks", "describe_addon", {**cluster, "addonName": "vpc-cni"}
    yield "eks", "list_access_entries", cluster
    yield "eks", "list_pod_identity_associations", cluster
    yield "fsx", "describe_file_systems", {}
    yield "fsx", "describe_data_repository_associations", {}
    yield "iam", "list_roles", {}
    yield "iam", "list_attached_role_policies", {"RoleName": "node"}
    yield "iam", "get_role_policy", {"RoleName": "node", "PolicyName": "own"}
    yield "kms", "list_keys", {}
    yield "kms", "list_aliases", {}
    yield "kms", "get_key_rotation_status", {"KeyId": _key(account)}
    yield "logs", "describe_log_groups", {}
    yield "cloudwatch", "describe_alarms", {}
    for what in ("policy", "versioning", "encryption", "lifecycle_configuration"):
        yield "s3", f"get_bucket_{what}", bucket
    yield "s3", "get_object_lock_configuration", bucket
    yield "s3", "get_public_access_block", bucket
    yield "s3", "get_object", {**bucket, "Key": "a"}
    yield "ecr", "describe_repositories", {}
    yield "secretsmanager", "get_secret_value", {"SecretId": "token"}
    yield "amp", "list_workspaces", {}
    yield "sns", "list_topics", {}
    yield "cloudtrail", "describe_trails", {}
    yield "budgets", "describe_budgets", {"AccountId": account.number}


def _reserved(account: Account) -> list[str]:
    """Find the subnet in which addresses are reserved."""
    subnets = account.client("ec2").describe_subnets()["Subnets"]
    return [one["SubnetId"] for one in subnets if one["CidrBlock"] == "10.0.0.0/24"]


def _key(account: Account) -> str:
    aliases = account.client("kms").list_aliases()["Aliases"]
    [target] = [one["TargetKeyId"] for one in aliases if one["AliasName"] == "alias/train"]
    identity: str = target
    return identity
