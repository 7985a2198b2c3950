"""Tests of open nodes on a schedule: one CronJob a pool, on idle nodes only, at low priority."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import pulumi
from pulumi_aws import eks, iam
from pulumi_kubernetes import batch, core, networking, rbac, scheduling
from pydantic import Field

from components.cron import Schedule
from components.documents import allow, document, pod_trust
from components.naming import Names
from components.settings import Dns, PinnedImage, Section

__all__ = ["Regression", "RegressionConfig", "WaveGate"]

CALLED: Final = "trainyard-regression"
"""Name of the service account and of everything that it may do."""

LABELS: Final = {"app.kubernetes.io/name": CALLED}

PRIORITY: Final = -100_000
"""Below everything else, and it pushes nobody out; what oci-hpc-oke gives its idle checks."""

START_SECONDS: Final = 600
"""A run that could not start by then is left out; so are those that a paused controller missed."""

RETRIES = 2
"""Times that a test is tried again which could not be judged."""

UNKNOWN = 3
"""Exit code of a gate that could not judge (scripts/verdicts.py)."""

SPARE_SECONDS: Final = 600
"""Beyond the time of all gates: pulling the image, and writing the last report."""

KEPT_RUNS: Final = 3

USER: Final = 65532

RUN: Final = """
worst=0 gate= stopped=
stop() { stopped=yes; [ -z "$gate" ] || kill -TERM "$gate"; }
trap stop TERM INT
run() {
  [ -z "$stopped" ] || return 0
  "$@" &
  gate=$!
  [ -z "$stopped" ] || kill -TERM "$gate"
  wait "$gate"; code=$?
  if [ -n "$stopped" ]; then wait "$gate"; code=3; fi
  gate=
  if [ $code -ne 0 ] && [ $worst -ne 1 ]; then worst=$code; fi
}
"""
"""A shell is asked to stop in place of what it runs, and hears of it at once only in wait. It may
be asked before it knows the process that it has just begun."""

IDENTITY_AGENT: Final = "169.254.170.23/32"
"""Where pods ask EKS Pod Identity for their credentials, over HTTP on their own node."""


class RegressionConfig(Section):
    """Tests of open nodes on a schedule."""

    schedule: Schedule
    """When, in UTC, as cron writes it: 0 3 * * 6 is Saturdays at 03:00."""

    image: PinnedImage
    """Image with the `yard` command, by digest; there is no public one (docs/regression.md)."""

    pools: tuple[Dns, ...] = ()
    """Pools that are tested; all when left out."""

    timeout_seconds: Annotated[int, Field(ge=300, le=4 * 3600)] = 3600
    """Longest time for one wave; the waves of a pool are tested one after the other."""


@dataclass(frozen=True, slots=True)
class WaveGate:
    """A wave to test: the words of its gate's command, without where it runs."""

    pool: str
    words: tuple[str, ...]


class Regression(pulumi.ComponentResource):
    """An identity that may run gates, and the CronJobs that run them.

    Who may create Jobs in the gate's namespace may do on a node what the checks do there, and that
    is a lot: the kernel's log, locked memory. Nobody else gets this account, and its token goes to
    no other pod.
    """

    def __init__(
        self,
        name: str,
        config: RegressionConfig,
        *,
        names: Names,
        namespace: pulumi.Input[str],
        cluster_name: pulumi.Input[str],
        bucket_arn: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:regression:Regression", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._namespace = namespace
        self._own = pulumi.ResourceOptions(parent=self)
        account = core.v1.ServiceAccount(
            name,
            metadata={"name": CALLED, "namespace": namespace},
            automount_service_account_token=False,
            opts=self._own,
        )
        priority = scheduling.v1.PriorityClass(
            name,
            metadata={"name": CALLED},
            value=PRIORITY,
            preemption_policy="Never",
            global_default=False,
            description="Tests of idle nodes; everything else comes first",
            opts=self._own,
        )
        self._ready: list[pulumi.Resource] = [
            account,
            priority,
            *self._rights(),
            *self._identity(cluster_name, bucket_arn),
        ]
        self.register_outputs({})

    def of_pool(self, tests: Sequence[WaveGate], after: Sequence[pulumi.Resource]) -> None:
        """Make the CronJob that tests the waves of one pool, once ``after`` is there."""
        pool = tests[0].pool
        seconds = len(tests) * self._config.timeout_seconds + SPARE_SECONDS
        labels = {**LABELS, "trainyard.dev/pool": pool}
        batch.v1.CronJob(
            f"{self._name}-{pool}",
            metadata={"name": f"regression-{pool}", "namespace": self._namespace, "labels": labels},
            spec={
                "schedule": self._config.schedule,
                "time_zone": "Etc/UTC",
                "concurrency_policy": "Forbid",
                "starting_deadline_seconds": START_SECONDS,
                "successful_jobs_history_limit": KEPT_RUNS,
                "failed_jobs_history_limit": KEPT_RUNS,
                "job_template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        # Unknown is tried again: a test that was killed goes on where it stopped,
                        # and opens what it had shut. Failed has failed.
                        "backoff_limit": RETRIES,
                        "pod_failure_policy": {
                            "rules": [
                                {
                                    "action": "FailJob",
                                    "on_exit_codes": {
                                        "container_name": "yard",
                                        "operator": "NotIn",
                                        "values": [UNKNOWN],
                                    },
                                }
                            ]
                        },
                        "active_deadline_seconds": seconds,
                        "template": {"metadata": {"labels": labels}, "spec": self._pod(tests)},
                    },
                },
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*self._ready, *after]),
        )

    def _pod(self, tests: Sequence[WaveGate]) -> "core.v1.PodSpecArgsDict":
        container: core.v1.ContainerArgsDict = {
            "name": "yard",
            "image": self._config.image,
            "command": ["/bin/sh", "-c", self._script(tests)],
            "env": [
                {"name": "AWS_DEFAULT_REGION", "value": self._names.region},
                {"name": "HOME", "value": "/scratch"},
            ],
            "working_dir": "/scratch",
            "resources": {
                "requests": {"cpu": "250m", "memory": "512Mi"},
                "limits": {"memory": "2Gi"},
            },
            "security_context": {
                "allow_privilege_escalation": False,
                "read_only_root_filesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volume_mounts": [
                {"name": "scratch", "mount_path": "/scratch"},
                {"name": "tmp", "mount_path": "/tmp"},  # noqa: S108 - a volume of the pod, not the host's folder
            ],
        }
        return {
            "service_account_name": CALLED,
            "automount_service_account_token": True,
            "enable_service_links": False,
            "priority_class_name": CALLED,
            "restart_policy": "Never",
            # A gate that is stopped writes its report first.
            "termination_grace_period_seconds": 60,
            "security_context": {
                "run_as_non_root": True,
                "run_as_user": USER,
                "seccomp_profile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [
                {"name": "scratch", "empty_dir": {"size_limit": "1Gi"}},
                {"name": "tmp", "empty_dir": {"size_limit": "256Mi"}},
            ],
        }

    def _script(self, tests: Sequence[WaveGate]) -> str:
        """Return the shell that runs one gate after the other, and ends as the worst of them did.

        A wave that failed leaves the others to be tested. 1 (failed) is worse than 3 (unknown). Who
        stops the pod stops the gate, which writes its report and gives back its lease.
        """
        where = ["--kubeconfig", "in-cluster", "--report-dir", "/scratch/reports"]
        seconds = ["--timeout", str(self._config.timeout_seconds)]
        lines = [shlex.join([*test.words, *seconds, *where, "--regression"]) for test in tests]
        return "\n".join([RUN.strip(), *(f"run {line}" for line in lines), "exit $worst"])

    def _rights(self) -> list[pulumi.Resource]:
        """Let the account run a gate: mark nodes, see who uses them, run Jobs in its namespace."""
        nodes: list[rbac.v1.PolicyRuleArgsDict] = [
            {"api_groups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]},
            {"api_groups": [""], "resources": ["pods"], "verbs": ["list"]},
        ]
        subject: rbac.v1.SubjectArgsDict = {
            "kind": "ServiceAccount",
            "name": CALLED,
            "namespace": self._namespace,
        }
        group = "rbac.authorization.k8s.io"
        return [
            rbac.v1.ClusterRole(self._name, metadata={"name": CALLED}, rules=nodes, opts=self._own),
            rbac.v1.ClusterRoleBinding(
                self._name,
                metadata={"name": CALLED},
                role_ref={"api_group": group, "kind": "ClusterRole", "name": CALLED},
                subjects=[subject],
                opts=self._own,
            ),
            rbac.v1.Role(
                self._name,
                metadata={"name": CALLED, "namespace": self._namespace},
                rules=_of_gates(),
                opts=self._own,
            ),
            rbac.v1.RoleBinding(
                self._name,
                metadata={"name": CALLED, "namespace": self._namespace},
                role_ref={"api_group": group, "kind": "Role", "name": CALLED},
                subjects=[subject],
                opts=self._own,
            ),
        ]

    def _identity(self, cluster_name: pulumi.Input[str], bucket_arn: str) -> list[pulumi.Resource]:
        """Let the account write baselines to their bucket, and nothing else in AWS."""
        label = self._names.physical("regression")
        role = iam.Role(
            self._name,
            name=label,
            assume_role_policy=pod_trust(self._names),
            tags=self._names.called(label),
            opts=self._own,
        )
        policy = iam.RolePolicy(
            self._name,
            name="baselines",
            role=role.name,
            policy=document(
                allow("ListBaselines", ["s3:ListBucket"], [bucket_arn]),
                allow("KeepBaselines", ["s3:GetObject", "s3:PutObject"], [f"{bucket_arn}/*"]),
            ),
            opts=self._own,
        )
        association = eks.PodIdentityAssociation(
            self._name,
            cluster_name=cluster_name,
            namespace=self._namespace,
            service_account=CALLED,
            role_arn=role.arn,
            tags=self._names.called(label),
            opts=self._own,
        )
        agent = networking.v1.NetworkPolicy(
            self._name,
            metadata={"name": CALLED, "namespace": self._namespace},
            spec={
                "pod_selector": {"match_labels": LABELS},
                "policy_types": ["Egress"],
                "egress": [
                    {
                        "to": [{"ip_block": {"cidr": IDENTITY_AGENT}}],
                        "ports": [{"protocol": "TCP", "port": 80}],
                    }
                ],
            },
            opts=self._own,
        )
        return [policy, association, agent]


def _of_gates() -> "list[rbac.v1.PolicyRuleArgsDict]":
    """Return the verbs that a gate uses, and no more; ``scripts/gate/api.py`` has its calls."""
    run = ["create", "deletecollection", "list"]
    return [
        {"api_groups": ["batch"], "resources": ["jobs"], "verbs": run},
        {"api_groups": ["kubeflow.org"], "resources": ["mpijobs"], "verbs": run},
        # They hold verdicts, baselines, the blacklist, journals and leases of gates.
        {
            "api_groups": [""],
            "resources": ["configmaps"],
            "verbs": ["create", "delete", "list", "patch"],
        },
        {"api_groups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]},
        {"api_groups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"api_groups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    ]
