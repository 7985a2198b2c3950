"""Kubeflow's MPI operator: the CRD of MPIJobs from its manifest, its controller from here.

The upstream manifest of the controller is not taken as it is. Its limits fit a few MPIJobs: at 10
events a second the pairs of a large wave take longer to be noticed than to run. Its role lacks
``jobs/status``, without which an MPIJob that Kueue has evicted never starts again, and has more
than this version uses. Rights read from the source of v0.8.0: ``pkg/controller``, ``cmd``.
"""

from typing import Final

import pulumi
from pulumi_kubernetes import apps, core, meta, rbac, yaml

from components.catalog import image, manifest

__all__ = ["NAMESPACE", "MpiOperator"]

NAME: Final = "mpi-operator"
NAMESPACE: Final = "mpi-operator"
HEALTH_PORT: Final = 8080

LIMITS: Final = (
    "--threadiness=16",
    "--kube-api-qps=200",
    "--kube-api-burst=400",
    "--controller-queue-rate-limit=1000",
    "--controller-queue-burst=10000",
)
"""Room for 512 MPIJobs at once, some 8,000 events, in seconds."""

RULES: "list[rbac.v1.PolicyRuleArgsDict]" = [
    {
        "api_groups": ["kubeflow.org"],
        "resources": ["mpijobs"],
        "verbs": ["list", "watch"],
    },
    {
        "api_groups": ["kubeflow.org"],
        "resources": ["mpijobs/status", "mpijobs/finalizers"],
        "verbs": ["update"],
    },
    {
        "api_groups": [""],
        "resources": ["configmaps", "secrets", "services"],
        "verbs": ["create", "list", "watch", "update"],
    },
    {
        "api_groups": [""],
        "resources": ["pods"],
        "verbs": ["create", "get", "list", "watch", "delete"],
    },
    {"api_groups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {
        "api_groups": ["batch"],
        "resources": ["jobs"],
        "verbs": ["create", "list", "watch", "update"],
    },
    {"api_groups": ["batch"], "resources": ["jobs/status"], "verbs": ["update"]},
    {
        "api_groups": ["scheduling.k8s.io"],
        "resources": ["priorityclasses"],
        "verbs": ["list", "watch"],
    },
]
"""Whatever it makes, it makes where the MPIJob is, so the rights hold in every namespace."""

LEASE_RULES: "list[rbac.v1.PolicyRuleArgsDict]" = [
    {
        "api_groups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["create", "get", "update"],
    }
]


class MpiOperator(pulumi.ComponentResource):
    """The CRD of MPIJobs and the controller that runs them; ``source`` is the CRD's manifest."""

    definition: pulumi.Resource
    """The CRD: what Kueue looks for when it starts."""

    controller: pulumi.Resource

    def __init__(
        self,
        name: str,
        *,
        region: str,
        source: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:scheduler:MpiOperator", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        self.definition = yaml.v2.ConfigFile(f"{name}-crd", file=source or manifest(NAME), opts=own)
        namespace = core.v1.Namespace(
            name,
            metadata={
                "name": NAMESPACE,
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
            opts=own,
        )
        inside: meta.v1.ObjectMetaArgsDict = {"name": NAME, "namespace": namespace.metadata.name}
        account = core.v1.ServiceAccount(name, metadata=inside, opts=own)
        subject: rbac.v1.SubjectArgsDict = {
            "kind": "ServiceAccount",
            "name": account.metadata.name,
            "namespace": NAMESPACE,
        }
        group = "rbac.authorization.k8s.io"
        everywhere = rbac.v1.ClusterRole(name, metadata={"name": NAME}, rules=RULES, opts=own)
        here = rbac.v1.Role(name, metadata=inside, rules=LEASE_RULES, opts=own)
        bindings = [
            rbac.v1.ClusterRoleBinding(
                name,
                metadata={"name": NAME},
                role_ref={
                    "api_group": group,
                    "kind": "ClusterRole",
                    "name": everywhere.metadata.name,
                },
                subjects=[subject],
                opts=own,
            ),
            rbac.v1.RoleBinding(
                name,
                metadata=inside,
                role_ref={"api_group": group, "kind": "Role", "name": here.metadata.name},
                subjects=[subject],
                opts=own,
            ),
        ]
        labels = {"app.kubernetes.io/name": NAME}
        self.controller = apps.v1.Deployment(
            name,
            metadata={**inside, "labels": labels},
            spec={
                # One works, the other takes over.
                "replicas": 2,
                "selector": {"match_labels": labels},
                "template": {"metadata": {"labels": labels}, "spec": _pod(region)},
            },
            # It ends at once where there is no CRD, or where it may not look.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[self.definition, *bindings]),
        )
        self.register_outputs({})


def _pod(region: str) -> "core.v1.PodSpecArgsDict":
    container: core.v1.ContainerArgsDict = {
        "name": NAME,
        "image": image(NAME, region),
        "args": [f"--lock-namespace={NAMESPACE}", *LIMITS],
        "ports": [{"name": "health", "container_port": HEALTH_PORT}],
        "liveness_probe": {"http_get": {"path": "/healthz", "port": "health"}},
        "resources": {
            "requests": {"cpu": "200m", "memory": "256Mi"},
            "limits": {"memory": "2Gi"},
        },
        "security_context": {
            "allow_privilege_escalation": False,
            "read_only_root_filesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return {
        "service_account_name": NAME,
        "security_context": {
            "run_as_non_root": True,
            "run_as_user": 65532,
            "seccomp_profile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
