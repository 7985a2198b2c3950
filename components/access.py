"""The access layer: a namespace for each tenant, closed to the others, with rights by duty."""

from typing import Annotated

import pulumi
from pulumi_aws import eks, iam
from pulumi_kubernetes import core, rbac
from pydantic import Field

from components.documents import pod_trust
from components.namespaces import closed_namespace
from components.naming import Names
from components.quantities import count
from components.settings import Dns, RoleArn, Section
from components.waves import GPU

__all__ = ["Tenant", "TenantConfig"]

JOBS_ACCOUNT = "jobs"
"""Service account of a tenant's jobs; what it may do in AWS is its tenant's."""


class TenantConfig(Section):
    """A team that runs jobs."""

    name: Dns
    """Also the name of its namespace."""

    gpus: Annotated[int, Field(ge=0)]
    """Most GPUs that it may hold at once."""

    submitters: tuple[RoleArn, ...] = ()
    """Roles whose people submit jobs for it."""


class Tenant(pulumi.ComponentResource):
    """One tenant: its namespace and quota, who submits, what its jobs may do, whom they reach."""

    namespace: pulumi.Output[str]
    role_name: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        config: TenantConfig,
        *,
        names: Names,
        cluster_name: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:access:Tenant", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._own = pulumi.ResourceOptions(parent=self)
        self.namespace = closed_namespace(
            name, config.name, self._own, level="baseline", tenant=True
        )
        self._quota()
        self._jobs(cluster_name)
        self._submitters(cluster_name)
        self.register_outputs({"namespace": self.namespace})

    def _quota(self) -> None:
        core.v1.ResourceQuota(
            self._name,
            metadata={"name": "gpus", "namespace": self.namespace},
            spec={"hard": {f"requests.{GPU}": count(self._config.gpus)}},
            opts=self._own,
        )

    def _jobs(self, cluster_name: pulumi.Input[str]) -> None:
        """Give the tenant's jobs an identity in AWS, through their service account."""
        core.v1.ServiceAccount(
            self._name,
            metadata={"name": JOBS_ACCOUNT, "namespace": self.namespace},
            automount_service_account_token=False,
            opts=self._own,
        )
        label = self._names.physical(f"jobs-{self._config.name}")
        role = iam.Role(
            self._name,
            name=label,
            assume_role_policy=pod_trust(self._names),
            tags=self._names.called(label),
            opts=self._own,
        )
        self.role_name = role.name
        eks.PodIdentityAssociation(
            self._name,
            cluster_name=cluster_name,
            namespace=self.namespace,
            service_account=JOBS_ACCOUNT,
            role_arn=role.arn,
            tags=self._names.called(label),
            opts=self._own,
        )

    def _submitters(self, cluster_name: pulumi.Input[str]) -> None:
        """Let the tenant's people submit and follow jobs, and nothing else."""
        group = f"trainyard:{self._config.name}:submitters"
        role = rbac.v1.Role(
            self._name,
            metadata={"name": "submitters", "namespace": self.namespace},
            rules=_submit(),
            opts=self._own,
        )
        rbac.v1.RoleBinding(
            self._name,
            metadata={"name": "submitters", "namespace": self.namespace},
            role_ref={
                "api_group": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": role.metadata.name.apply(str),
            },
            subjects=[{"api_group": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
            opts=self._own,
        )
        for arn in self._config.submitters:
            person = arn.rpartition("/")[2]
            eks.AccessEntry(
                f"{self._name}-{person}",
                cluster_name=cluster_name,
                principal_arn=arn,
                kubernetes_groups=[group],
                type="STANDARD",
                tags=self._names.called(person),
                opts=self._own,
            )


def _submit() -> "list[rbac.v1.PolicyRuleArgsDict]":
    return [
        {
            "api_groups": ["batch"],
            "resources": ["jobs"],
            "verbs": ["create", "delete", "get", "list", "watch"],
        },
        {
            "api_groups": [""],
            "resources": ["events", "pods", "pods/log"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "api_groups": ["kueue.x-k8s.io"],
            "resources": ["localqueues", "workloads"],
            "verbs": ["get", "list", "watch"],
        },
    ]
