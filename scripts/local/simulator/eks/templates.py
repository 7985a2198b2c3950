"""What a managed node group accepts of a launch template, whatever its machines are."""

import base64
import binascii
from email import message_from_bytes

from scripts.local.simulator.calls import AwsError, Call
from scripts.local.simulator.eks.common import invalid
from scripts.local.simulator.records import Record

__all__ = ["check_request", "resolved_template"]


def resolved_template(call: Call, asked: Record) -> tuple[Record, Record]:
    """Find the launch template version that a request names.

    Returns the node group's view of it (id, name, version as a number) and the template's data;
    raises what EKS answers when the template is missing or says what only EKS may say.
    """
    names = {"LaunchTemplateId": asked.get("id"), "LaunchTemplateName": asked.get("name")}
    if all(names.values()):
        raise invalid("Launch template id and name cannot both be specified.")
    if not any(names.values()):
        raise invalid("Either provide launch template ID or launch template name in the request.")
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
    if "UserData" in data and "ImageId" not in data and not _is_multipart(data["UserData"]):
        raise invalid("User data was not in the MIME multipart format.")


def _is_multipart(user_data: str) -> bool:
    """Tell whether EKS can put its own part beside those of the user data."""
    try:
        content = base64.b64decode(user_data, validate=True)
    except binascii.Error:
        return False
    return message_from_bytes(content).is_multipart()


def check_request(data: Record, request: Record) -> None:
    """Refuse what is said twice, or belongs into the launch template."""
    if "InstanceType" in data and request.get("instanceTypes"):
        raise AwsError(
            "InvalidRequestException",
            "Cannot specify instance types in launch template and API request",
        )
    if "diskSize" in request:
        raise invalid("Disk size must be specified within the launch template.")
    if "remoteAccess" in request:
        raise invalid("Remote access configuration cannot be specified with a launch template.")
    for name, what in (("version", "kubernetes"), ("releaseVersion", "release")):
        if "ImageId" in data and name in request:
            raise invalid(
                f"You cannot specify a {what} version to use when specifying an image id to use "
                "within the launch template."
            )
