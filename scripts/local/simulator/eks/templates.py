"""What a managed node group accepts of a launch template."""

from scripts.local.simulator.calls import AwsError, Call
from scripts.local.simulator.eks.common import invalid
from scripts.local.simulator.records import Record

__all__ = ["resolved_template"]


def resolved_template(call: Call, asked: Record, request: Record) -> tuple[Record, Record]:
    """Find the launch template version that a request names.

    Returns the node group's view of it (id, name, version as a number) and the template's data;
    raises what EKS answers when the template is missing or contradicts the request.
    """
    names = {"LaunchTemplateId": asked.get("id"), "LaunchTemplateName": asked.get("name")}
    if all(names.values()):
        raise invalid("Launch template id and name cannot both be specified.")
    version = asked.get("version", "$Default")
    try:
        found = call.ask("ec2", "DescribeLaunchTemplateVersions", **names, Versions=[version])
    except AwsError as error:
        raise AwsError("InvalidRequestException", error.message) from None
    if not found["LaunchTemplateVersions"]:
        raise AwsError(
            "InvalidRequestException",
            f"The specified launch template version {version} does not exist.",
        )
    [template] = found["LaunchTemplateVersions"]
    data = template.get("LaunchTemplateData", {})
    _check_data(data)
    _check_request(data, request)
    return {
        "id": template["LaunchTemplateId"],
        "name": template["LaunchTemplateName"],
        "version": str(template["VersionNumber"]),
    }, data


def _check_data(data: Record) -> None:
    interfaces = data.get("NetworkInterfaces", [])
    if interfaces and (data.get("SecurityGroupIds") or data.get("SecurityGroups")):
        raise AwsError(
            "InvalidRequestException",
            "Network interfaces and an instance-level security groups may not be specified on "
            "the same request",
        )
    if any("SubnetId" in interface for interface in interfaces):
        raise invalid(
            "Launch template should not specify a subnet in its network interfaces. The subnets "
            "in your request will be used."
        )
    if "IamInstanceProfile" in data:
        raise invalid(
            "Launch template should not specify an instance profile. The noderole in your "
            "request will be used to construct an instance profile."
        )
    _check_cards(interfaces)


def _check_cards(interfaces: list[Record]) -> None:
    """Each (card, device) pair is used once; the primary interface is device 0 of card 0."""
    if not interfaces:
        return
    places = [(one.get("NetworkCardIndex", 0), one.get("DeviceIndex", 0)) for one in interfaces]
    if len(set(places)) < len(places):
        raise AwsError(
            "InvalidRequestException",
            "Each network interface requires a unique device index within its network card.",
        )
    if (0, 0) not in places:
        raise AwsError(
            "InvalidRequestException",
            "The primary network interface must have device index 0 on network card 0.",
        )


def _check_request(data: Record, request: Record) -> None:
    if "InstanceType" in data and request.get("instanceTypes"):
        raise AwsError(
            "InvalidRequestException",
            "Cannot specify instance types in launch template and API request",
        )
    if "diskSize" in request:
        raise invalid("Disk size must be specified within the launch template.")
    if "remoteAccess" in request:
        raise invalid("Remote access configuration cannot be specified with a launch template.")
    if "ImageId" in data and request.get("amiType", "CUSTOM") != "CUSTOM":
        raise invalid(
            "You cannot specify an AMI Type other than CUSTOM, when specifying an image id in "
            "your launch template."
        )
    if "ImageId" in data and ("version" in request or "releaseVersion" in request):
        raise invalid(
            "You cannot specify a kubernetes version or release version when specifying an "
            "image id in your launch template."
        )
