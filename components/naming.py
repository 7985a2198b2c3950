"""Names, tags and ARNs, all made from configuration.

An ARN that is made here is known before anything exists, so every IAM document can be read and
judged in a preview of a stack that has never been up.
"""

from dataclasses import dataclass

__all__ = ["Names"]

PROJECT = "trainyard"
"""Also the Pulumi project; part of every physical name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Physical names and ARNs of one site: every name starts with ``trainyard-<stack>``."""

    stack: str
    partition: str
    account: str
    region: str
    environment: str
    owner: str
    cost_center: str

    @property
    def prefix(self) -> str:
        """Start of every physical name."""
        return f"{PROJECT}-{self.stack}"

    @property
    def cluster(self) -> str:
        """Name of the EKS cluster."""
        return self.prefix

    @property
    def protect(self) -> bool:
        """Whether what holds data refuses to be deleted: in production."""
        return self.environment == "prod"

    @property
    def tags(self) -> dict[str, str]:
        """Tags that every taggable resource carries."""
        return {
            "owner": self.owner,
            "cost-center": self.cost_center,
            "environment": self.environment,
            "stack": self.stack,
        }

    @property
    def root(self) -> str:
        """ARN that stands for the account in resource policies."""
        return self.arn("iam", "root", region="")

    def called(self, name: str) -> dict[str, str]:
        """Return the tags of a resource that shows ``name`` in the console."""
        return {**self.tags, "Name": name}

    def physical(self, role: str) -> str:
        """Return the physical name of what plays ``role``."""
        return f"{self.prefix}-{role}"

    def bucket(self, role: str) -> str:
        """Return a bucket's name, with our account in it: all accounts share the names."""
        return f"{self.prefix}-{role}-{self.account}"

    def arn(self, service: str, resource: str, *, region: str | None = None) -> str:
        """Return an ARN in our account; ``region=""`` for services that have none."""
        place = self.region if region is None else region
        return f"arn:{self.partition}:{service}:{place}:{self.account}:{resource}"

    def bucket_arn(self, role: str) -> str:
        """Return the ARN of the bucket that plays ``role``."""
        return f"arn:{self.partition}:s3:::{self.bucket(role)}"

    def cluster_arn(self) -> str:
        """Return the ARN of the EKS cluster."""
        return self.arn("eks", f"cluster/{self.cluster}")

    def log_group_arn(self, name: str) -> str:
        """Return the ARN of a log group, without the suffix that stands for its streams."""
        return self.arn("logs", f"log-group:{name}")

    def managed_policy(self, name: str) -> str:
        """Return the ARN of a policy that AWS keeps."""
        return f"arn:{self.partition}:iam::aws:policy/{name}"

    def role_arn(self, role: str) -> str:
        """Return the ARN of our role that plays ``role``."""
        return self.arn("iam", f"role/{self.physical(role)}", region="")

    def service(self, service: str) -> str:
        """Return the regional principal of a service, as in ``logs.us-east-1.amazonaws.com``."""
        return f"{service}.{self.region}.amazonaws.com"
