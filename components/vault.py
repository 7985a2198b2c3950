"""The vault layer: empty secrets, and who may read which.

Values are put in by hand or by their owner's job, never by this program: what a program writes
stands in its state.
"""

from collections.abc import Iterator
from typing import Annotated

import pulumi
from pulumi_aws import iam, secretsmanager
from pydantic import Field

from components.documents import allow, document
from components.keys import CustomerKey, through
from components.naming import Names
from components.settings import Dns, Problem, Section, rule

__all__ = ["SecretConfig", "Vault", "VaultConfig"]


class SecretConfig(Section):
    """One secret, without its value."""

    name: Dns
    """What it is, as in wandb-login."""

    tenant: Dns | None = None
    """Tenant whose jobs may read it; none but its owner may, when left out."""

    purpose: str = Field(min_length=1)
    """What it opens, for those who must renew it."""


SHORTEST_RECOVERY = 7
"""Days of the shortest recovery window but none (Secrets Manager, DeleteSecret)."""


class VaultConfig(Section):
    """Secrets of the site."""

    secrets: tuple[SecretConfig, ...] = ()
    """Secrets by name; give them values with `aws secretsmanager put-secret-value`."""

    recovery_days: Annotated[int, Field(ge=0, le=30)] = 30
    """Days in which a deleted secret can be had back, while its name stays taken; 0 for none."""

    @rule("recovery_days")
    def _window_is_offered(self) -> Iterator[Problem]:
        if 0 < self.recovery_days < SHORTEST_RECOVERY:
            yield Problem(
                "recovery_days",
                f"is {self.recovery_days}, which Secrets Manager does not offer; use 0, or "
                f"{SHORTEST_RECOVERY} to 30",
            )

    @rule("secrets")
    def _names_differ(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for position, secret in enumerate(self.secrets):
            if secret.name in seen:
                yield Problem(
                    f"secrets.{position}.name", f"is {secret.name} again; give it another name"
                )
            seen.add(secret.name)


class Vault(pulumi.ComponentResource):
    """Secrets under a key of their own; a role that reads one reads no other."""

    def __init__(
        self,
        name: str,
        config: VaultConfig,
        *,
        names: Names,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:vault:Vault", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._own = pulumi.ResourceOptions(parent=self)
        key = CustomerKey(
            f"{name}-key", names, statements=[through(["secretsmanager"], names)], opts=self._own
        )
        for secret in config.secrets:
            secretsmanager.Secret(
                f"{name}-{secret.name}",
                name=f"{names.prefix}/{secret.name}",
                description=secret.purpose,
                kms_key_id=key.arn,
                recovery_window_in_days=config.recovery_days,
                tags={**names.called(f"{names.prefix}/{secret.name}"), "rotation": "by-owner"},
                opts=pulumi.ResourceOptions(parent=self, protect=names.protect),
            )
        self.register_outputs({})

    def grant_read(self, tenant: str, role_name: pulumi.Input[str]) -> None:
        """Let a role read the secrets of its tenant, if there are any."""
        mine = [secret.name for secret in self._config.secrets if secret.tenant == tenant]
        if not mine:
            return
        iam.RolePolicy(
            f"{self._name}-{tenant}",
            name="read-secrets",
            role=role_name,
            policy=document(
                allow(
                    "ReadSecrets",
                    ["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"],
                    # Secrets Manager puts six characters of its own behind the name.
                    [
                        self._names.arn("secretsmanager", f"secret:{self._names.prefix}/{n}-??????")
                        for n in mine
                    ],
                )
            ),
            opts=self._own,
        )
