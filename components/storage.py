"""The storage layer: a Lustre file system close to the nodes, and the bucket behind it."""

from collections.abc import Iterator
from typing import Annotated, Literal

import pulumi
from pulumi_aws import fsx, iam
from pulumi_kubernetes import core
from pydantic import Field

from components.buckets import PrivateBucket
from components.catalog import fsx_tier
from components.documents import allow, document
from components.keys import CustomerKey, through
from components.naming import Names
from components.settings import NEVER, REPLACES, Problem, Section, ZoneId, rule

__all__ = ["SharedStorage", "StorageConfig"]

TIER = "PERSISTENT_2"
"""The only type with customer keys, EFA and data repository associations at once."""

LUSTRE = "2.15"
"""Lustre version: 2.15 is the one that current clients and EFA work with."""

MOUNTED_AT = "/data"
"""Folder of the file system that stands for the bucket."""

GIB_OF_TIB = 1024

CLIENTS_GIB = 2400
"""One file server interface for each step of capacity, counted in the address plan."""


class StorageConfig(Section):
    """The shared file system and its bucket."""

    zone: Annotated[ZoneId, NEVER]
    """Zone of the file system: the one where most of the nodes are."""

    capacity_gib: Annotated[int, Field(ge=1)]
    """Size in GiB; it can grow, never shrink."""

    throughput: Annotated[Literal[125, 250, 500, 1000], Field()] = 250
    """MB/s for each TiB; a change makes the file system unavailable for up to an hour."""

    efa: Annotated[bool, REPLACES] = False
    """Whether clients reach it over the fabric; worth it above 10 GB/s."""

    cold_after_days: Annotated[int, Field(ge=30)] = 90
    """Days after which objects under cold/ go to the cheap storage class."""

    keep_checkpoints_days: Annotated[int, Field(ge=1)] = 180
    """Days for which objects under checkpoints/ are kept."""

    @property
    def interfaces(self) -> int:
        """Network interfaces of the file servers, at most."""
        return 2 + self.capacity_gib // CLIENTS_GIB

    @property
    def sold_mbps(self) -> float:
        """What FSx sells to all clients together: MB/s of 10^6 bytes."""
        return self.capacity_gib / GIB_OF_TIB * self.throughput

    @rule("capacity_gib", "throughput", "efa")
    def _capacity_is_sold(self) -> Iterator[Problem]:
        tier, with_efa = fsx_tier(TIER), self.throughput if self.efa else None
        if not tier.sells(self.capacity_gib, efa_throughput=with_efa):
            below, above = tier.nearest(self.capacity_gib, efa_throughput=with_efa)
            way = f"use {below} or {above}" if below != above else f"use {below}"
            terms = f" with EFA at {self.throughput} MB/s for each TiB" if self.efa else ""
            yield Problem(
                "capacity_gib",
                f"is {self.capacity_gib}, which FSx does not sell{terms}; {way}",
            )


class SharedStorage(pulumi.ComponentResource):
    """A Lustre file system in one compute subnet; what is written to it reaches the bucket."""

    file_system_id: pulumi.Output[str]
    bucket_name: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        config: StorageConfig,
        *,
        names: Names,
        subnet_id: pulumi.Input[str],
        security_group_id: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:storage:SharedStorage", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._own = pulumi.ResourceOptions(parent=self)

        key = CustomerKey(
            f"{name}-key",
            names,
            statements=[through(["s3", "fsx"], names, grants=True)],
            opts=self._own,
        )
        bucket = PrivateBucket(
            f"{name}-data",
            names=names,
            role="data",
            key_arn=key.arn,
            rules=[
                {
                    "id": "cold",
                    "status": "Enabled",
                    "filter": {"prefix": "cold/"},
                    "transitions": [
                        {"days": config.cold_after_days, "storage_class": "GLACIER_IR"}
                    ],
                },
                {
                    "id": "checkpoints",
                    "status": "Enabled",
                    "filter": {"prefix": "checkpoints/"},
                    "expiration": {"days": config.keep_checkpoints_days},
                },
            ],
            opts=self._own,
        )
        self._file_system = self._lustre(key.arn, subnet_id, security_group_id)
        fsx.DataRepositoryAssociation(
            name,
            file_system_id=self._file_system.id,
            file_system_path=MOUNTED_AT,
            data_repository_path=f"s3://{names.bucket('data')}",
            batch_import_meta_data_on_create=True,
            s3={
                "auto_import_policy": {"events": ["NEW", "CHANGED", "DELETED"]},
                "auto_export_policy": {"events": ["NEW", "CHANGED", "DELETED"]},
            },
            tags=names.called(names.physical("data")),
            opts=pulumi.ResourceOptions(parent=self, depends_on=bucket.ready),
        )
        self.file_system_id = self._file_system.id
        self.bucket_name = bucket.bucket_name
        self.register_outputs(
            {"file_system_id": self.file_system_id, "bucket_name": self.bucket_name}
        )

    def claim(self, label: str, namespace: pulumi.Input[str]) -> pulumi.Resource:
        """Offer the file system to the pods of ``namespace``, as the claim ``shared``.

        The volume is a static one: a provisioner that times out makes a file system for each try.
        """
        name, capacity = f"{self._name}-{label}", f"{self._config.capacity_gib}Gi"
        volume = core.v1.PersistentVolume(
            name,
            metadata={"name": self._names.physical(f"shared-{label}")},
            spec={
                "access_modes": ["ReadWriteMany"],
                "capacity": {"storage": capacity},
                "persistent_volume_reclaim_policy": "Retain",
                "storage_class_name": "",
                "volume_mode": "Filesystem",
                "mount_options": ["flock", "noatime"],
                "csi": {
                    "driver": "fsx.csi.aws.com",
                    "volume_handle": self._file_system.id,
                    "volume_attributes": {
                        "dnsname": self._file_system.dns_name,
                        "mountname": self._file_system.mount_name,
                    },
                },
            },
            opts=self._own,
        )
        return core.v1.PersistentVolumeClaim(
            name,
            metadata={"name": "shared", "namespace": namespace},
            spec={
                "access_modes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": capacity}},
                "storage_class_name": "",
                "volume_name": volume.metadata.name,
            },
            opts=self._own,
        )

    def grant_write(self, label: str, role_name: pulumi.Input[str]) -> None:
        """Let a role read the data sets, and keep checkpoints of its own in the bucket."""
        bucket = self._names.bucket_arn("data")
        mine = f"{bucket}/checkpoints/{label}/*"
        iam.RolePolicy(
            f"{self._name}-{label}",
            name="shared-storage",
            role=role_name,
            policy=document(
                allow("ListBucket", ["s3:ListBucket"], [bucket]),
                allow("ReadData", ["s3:GetObject"], [f"{bucket}/data/*"]),
                allow(
                    "KeepCheckpoints",
                    [
                        "s3:AbortMultipartUpload",
                        "s3:DeleteObject",
                        "s3:GetObject",
                        "s3:PutObject",
                    ],
                    [mine],
                ),
            ),
            opts=self._own,
        )

    def _lustre(
        self,
        key_arn: pulumi.Input[str],
        subnet_id: pulumi.Input[str],
        security_group_id: pulumi.Input[str],
    ) -> "fsx.LustreFileSystem":
        config, names = self._config, self._names
        return fsx.LustreFileSystem(
            f"{self._name}-lustre",
            deployment_type=TIER,
            storage_type="SSD",
            storage_capacity=config.capacity_gib,
            per_unit_storage_throughput=config.throughput,
            file_system_type_version=LUSTRE,
            data_compression_type="LZ4",
            efa_enabled=config.efa,
            metadata_configuration={"mode": "AUTOMATIC"},
            kms_key_id=key_arn,
            subnet_ids=subnet_id,
            security_group_ids=[security_group_id],
            tags=names.called(names.physical("shared")),
            opts=pulumi.ResourceOptions(parent=self, protect=names.protect),
        )
