"""EC2 launch templates, where moto is silent about what does not exist."""

from typing import TYPE_CHECKING

from scripts.local.simulator.calls import Answer, AwsError, Call, answers

if TYPE_CHECKING:
    from scripts.local.simulator.records import Record

__all__ = ["check_exists", "describe_templates", "describe_versions"]


@answers("ec2", "DescribeLaunchTemplates")
def describe_templates(call: Call) -> Answer:
    """Describe launch templates; an id or name that is none is an error."""
    answer = call.forward()
    found: list[Record] = answer.get("LaunchTemplates", [])
    ids = {template["LaunchTemplateId"] for template in found}
    names = {template["LaunchTemplateName"] for template in found}
    for identity in call.params.get("LaunchTemplateIds", []):
        if identity not in ids:
            raise AwsError(
                "InvalidLaunchTemplateId.NotFound",
                f"The specified launch template, with template ID {identity}, does not exist.",
            )
    if set(call.params.get("LaunchTemplateNames", [])) - names:
        raise AwsError(
            "InvalidLaunchTemplateName.NotFoundException",
            "At least one of the launch templates specified in the request does not exist.",
        )
    return answer


def check_exists(call: Call) -> None:
    """Refuse a call that names a launch template by an id or name that is none."""
    if "LaunchTemplateId" in call.params:
        ids = [call.params["LaunchTemplateId"]]
        call.ask("ec2", "DescribeLaunchTemplates", LaunchTemplateIds=ids)
    elif "LaunchTemplateName" in call.params:
        names = [call.params["LaunchTemplateName"]]
        call.ask("ec2", "DescribeLaunchTemplates", LaunchTemplateNames=names)


@answers("ec2", "DescribeLaunchTemplateVersions")
def describe_versions(call: Call) -> Answer:
    """Describe versions; the template's own tags are no part of what it makes."""
    check_exists(call)
    answer = call.forward()
    for version in answer.get("LaunchTemplateVersions", []):
        data: Record = version["LaunchTemplateData"]
        made = [
            one
            for one in data.pop("TagSpecifications", [])
            if one["ResourceType"] != "launch-template"
        ]
        if made:
            data["TagSpecifications"] = made
    return answer


@answers("ec2", "CreateLaunchTemplateVersion", "ModifyLaunchTemplate", "DeleteLaunchTemplate")
def change_template(call: Call) -> Answer:
    """Change or delete a launch template that exists."""
    check_exists(call)
    return call.forward()
