"""What is kept is encrypted, under a key whose use can be granted and recorded."""

from collections.abc import Iterator

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import UNKNOWN, is_on, is_set, section, text

_KEY = {
    types.CLOUDTRAIL_TRAIL: "kmsKeyId",
    types.EBS_VOLUME: "kmsKeyId",
    types.EFS_FILE_SYSTEM: "kmsKeyId",
    types.FSX_LUSTRE: "kmsKeyId",
    types.FSX_ONTAP: "kmsKeyId",
    types.FSX_OPEN_ZFS: "kmsKeyId",
    types.FSX_WINDOWS: "kmsKeyId",
    types.SECRETSMANAGER_SECRET: "kmsKeyId",
    types.SNS_TOPIC: "kmsMasterKeyId",
    types.SQS_QUEUE: "kmsMasterKeyId",
}
"""The property that names the key, per kind. At preview an unknown key id counts as named."""
_SWITCHED = frozenset({types.EBS_VOLUME, types.EFS_FILE_SYSTEM})


def no_key(subject: Subject) -> Iterator[str]:
    """Name stores without a KMS key."""
    prop = _KEY[subject.kind]
    if not is_set(subject.props.get(prop)) and not _scratch(subject):
        yield f"{prop} is not set; name a KMS key of the stack"


def _scratch(subject: Subject) -> bool:
    """Scratch Lustre, which is also the default, takes no key; AWS encrypts it with its own."""
    deployment = subject.props.get("deploymentType")
    if subject.kind != types.FSX_LUSTRE or deployment is UNKNOWN:
        return False
    return not deployment or text(deployment).startswith("SCRATCH")


def switched_off(subject: Subject) -> Iterator[str]:
    """Name stores that are plain unless encryption is switched on."""
    if not is_on(subject.props.get("encrypted")):
        yield "encrypted is not true; set it"


def images_without_key(subject: Subject) -> Iterator[str]:
    """Name image repositories under the registry's own key."""
    config = section(subject.props.get("encryptionConfigurations"))
    if not text(config.get("encryptionType")).startswith("KMS"):
        yield "encryptionConfigurations[0].encryptionType is not 'KMS'; set it and name a kmsKey"


ENCRYPTED = ResourceRule(
    About(
        name="storage-encrypted",
        description="File systems, volumes, images, secrets, messages and records have a KMS key",
        remedy="Name a KMS key of the stack.",
        rows="49-51, 54",
        sources=(
            "CKV_AWS_26",
            "CKV_AWS_27",
            "CKV_AWS_35",
            "CKV_AWS_136",
            "CKV_AWS_149",
            "CKV_AWS_190",
            "AWS-0033",
        ),
    ),
    {
        no_key: frozenset(_KEY),
        switched_off: _SWITCHED,
        images_without_key: frozenset({types.ECR_REPOSITORY}),
    },
)
RULES = (ENCRYPTED,)
