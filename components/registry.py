"""The registry layer: repositories whose tags never move and whose images are scanned."""

import json

import pulumi
from pulumi_aws import ecr, iam
from pydantic import Field

from components.documents import allow, document
from components.keys import CustomerKey, through
from components.naming import Names
from components.settings import Dns, Section

__all__ = ["Registry", "RegistryConfig"]

UNTAGGED_DAYS = 7
"""Days after which an image that lost its tag is thrown away."""


class RegistryConfig(Section):
    """Repositories for the images of jobs and services."""

    repositories: tuple[Dns, ...] = ("training", "serving")
    """Repositories by what their images are for."""

    keep: int = Field(default=50, ge=2, le=1000)
    """Images kept in each; the older go. Two at least, so that there is one to go back to."""


class Registry(pulumi.ComponentResource):
    """Private repositories: immutable tags, scan on push, encrypted with a customer key."""

    urls: dict[str, pulumi.Output[str]]

    def __init__(
        self,
        name: str,
        config: RegistryConfig,
        *,
        names: Names,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:registry:Registry", name, None, opts)
        self._name, self._names, self._repositories = name, names, config.repositories
        self._own = pulumi.ResourceOptions(parent=self)
        key = CustomerKey(
            f"{name}-key", names, statements=[through(["ecr"], names, grants=True)], opts=self._own
        )
        self.urls = {}
        for role in config.repositories:
            repository = ecr.Repository(
                f"{name}-{role}",
                name=f"{names.prefix}/{role}",
                image_tag_mutability="IMMUTABLE",
                image_scanning_configuration={"scan_on_push": True},
                encryption_configurations=[{"encryption_type": "KMS", "kms_key": key.arn}],
                force_delete=False,
                tags=names.called(f"{names.prefix}/{role}"),
                opts=pulumi.ResourceOptions(parent=self, protect=names.protect),
            )
            ecr.LifecyclePolicy(
                f"{name}-{role}",
                repository=repository.name,
                policy=_lifecycle(config.keep),
                opts=self._own,
            )
            self.urls[role] = repository.repository_url
        self.register_outputs({"urls": self.urls})

    def grant_push(self, label: str, role_name: pulumi.Input[str]) -> None:
        """Let a role bring images into every repository, and take none away."""
        repositories = [
            self._names.arn("ecr", f"repository/{self._names.prefix}/{role}")
            for role in self._repositories
        ]
        iam.RolePolicy(
            f"{self._name}-{label}",
            name="push-images",
            role=role_name,
            policy=document(
                allow("SignIn", ["ecr:GetAuthorizationToken"], ["*"]),
                allow(
                    "Push",
                    [
                        "ecr:BatchCheckLayerAvailability",
                        "ecr:BatchGetImage",
                        "ecr:CompleteLayerUpload",
                        "ecr:GetDownloadUrlForLayer",
                        "ecr:InitiateLayerUpload",
                        "ecr:PutImage",
                        "ecr:UploadLayerPart",
                    ],
                    repositories,
                ),
            ),
            opts=self._own,
        )


def _lifecycle(keep: int) -> str:
    untagged = {
        "tagStatus": "untagged",
        "countType": "sinceImagePushed",
        "countUnit": "days",
        "countNumber": UNTAGGED_DAYS,
    }
    newest = {"tagStatus": "any", "countType": "imageCountMoreThan", "countNumber": keep}
    return json.dumps(
        {
            "rules": [
                {
                    "rulePriority": priority,
                    "description": description,
                    "selection": selection,
                    "action": {"type": "expire"},
                }
                for priority, (description, selection) in enumerate(
                    [("images without a tag", untagged), (f"keep {keep}", newest)], start=1
                )
            ]
        }
    )
