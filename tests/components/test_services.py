"""Layers around the cluster: storage, secrets, tenants, images, alerts, money, records."""

import json
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.stacks import declared


@pytest.fixture(scope="module")
def site() -> Engine:
    return declared("prod")


def statements(engine: Engine, name: str) -> dict[str, Any]:
    policy = json.loads(engine.named(name, "RolePolicy")["policy"])
    return {statement["Sid"]: statement for statement in policy["Statement"]}


def test_the_file_system_is_bought_as_the_settings_say(site: Engine) -> None:
    system = site.only("LustreFileSystem")
    assert (system["deploymentType"], system["storageCapacity"]) == ("PERSISTENT_2", 192000)
    assert (system["perUnitStorageThroughput"], system["efaEnabled"]) == (1000, True)
    assert system["subnetIds"] == "network-compute-use1-az4-id"
    assert system["securityGroupIds"] == ["firewall-lustre-id"]


def test_the_bucket_behind_the_file_system_is_ready_before_it_is_joined(site: Engine) -> None:
    association = site.dependencies[site.urn("storage", "DataRepositoryAssociation")]
    assert site.urn("storage-data", "BucketPolicy") in association
    assert site.only("DataRepositoryAssociation")["dataRepositoryPath"] == (
        "s3://trainyard-prod-data-444455556666"
    )


def test_volumes_are_static_and_name_the_one_file_system(site: Engine) -> None:
    assert site.all("StorageClass") == []
    volumes = site.all("PersistentVolume")
    assert len(volumes) == len(site.all("PersistentVolumeClaim")) == 3
    assert {v["spec"]["csi"]["volumeHandle"] for v in volumes} == {"storage-lustre-id"}
    assert {v["spec"]["persistentVolumeReclaimPolicy"] for v in volumes} == {"Retain"}


def test_a_tenant_reads_the_data_and_writes_its_own_checkpoints(site: Engine) -> None:
    granted = statements(site, "storage-research")
    bucket = "arn:aws:s3:::trainyard-prod-data-444455556666"
    assert granted["ReadData"]["Resource"] == [f"{bucket}/data/*"]
    assert granted["KeepCheckpoints"]["Resource"] == [f"{bucket}/checkpoints/research/*"]


def test_a_tenant_reads_its_own_secrets_only(site: Engine) -> None:
    granted = statements(site, "vault-simulation")
    assert granted["ReadSecrets"]["Resource"] == [
        "arn:aws:secretsmanager:us-east-1:444455556666:secret:trainyard-prod/data-licence-??????"
    ]


def test_secrets_are_made_empty(site: Engine) -> None:
    assert site.all("SecretVersion") == []
    assert {s["recoveryWindowInDays"] for s in site.all("Secret")} == {30}


def test_a_tenant_has_a_quota_and_is_closed_to_the_others(site: Engine) -> None:
    quota = site.named("tenant-research", "ResourceQuota")
    assert quota["spec"]["hard"] == {"requests.nvidia.com/gpu": "6144"}
    deny = site.named("tenant-research-default-deny", "NetworkPolicy")["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_people_of_a_tenant_get_its_group_and_no_policy(site: Engine) -> None:
    entry = site.named("tenant-research-research", "AccessEntry")
    assert entry["kubernetesGroups"] == ["trainyard:research:submitters"]
    rules = [role for role in site.all("Role") if "rules" in role]
    roles = [role for role in rules if role["metadata"]["name"] == "submitters"]
    verbs = {verb for role in roles for rule in role["rules"] for verb in rule["verbs"]}
    assert verbs == {"create", "delete", "get", "list", "watch"}


def test_images_keep_their_tags_and_are_scanned(site: Engine) -> None:
    repositories = site.all("Repository")
    assert {r["name"] for r in repositories} == {
        "trainyard-prod/training",
        "trainyard-prod/serving",
    }
    assert {r["imageTagMutability"] for r in repositories} == {"IMMUTABLE"}
    assert all(r["imageScanningConfiguration"]["scanOnPush"] for r in repositories)


def test_silence_is_an_alarm_too(site: Engine) -> None:
    assert {a["treatMissingData"] for a in site.all("MetricAlarm")} == {"breaching"}
    assert all(a["alarmActions"] for a in site.all("MetricAlarm"))


def test_the_budget_calls_before_the_money_is_gone(site: Engine) -> None:
    budget = site.only("Budget")
    assert budget["limitAmount"] == "35000000.0"
    assert [n["threshold"] for n in budget["notifications"]] == [50, 80, 100]


def test_records_go_to_a_bucket_that_nobody_can_rewrite(site: Engine) -> None:
    lock = site.only("BucketObjectLockConfiguration")["rule"]["defaultRetention"]
    assert lock == {"mode": "COMPLIANCE", "days": 365}
    trail = site.only("Trail")
    assert trail["isMultiRegionTrail"] is True
    assert trail["enableLogFileValidation"] is True
    policy = json.loads(site.named("audit-records", "BucketPolicy")["policy"])
    assert [s["Sid"] for s in policy["Statement"]] == ["OverTlsOnly", "TrailLooks", "TrailWrites"]


def test_keys_rotate_and_wait_before_they_go(site: Engine) -> None:
    keys = site.all("Key")
    assert {(k["enableKeyRotation"], k["deletionWindowInDays"]) for k in keys} == {(True, 30)}
    assert len(keys) == 8


def test_devices_are_on_every_pool_also_on_nodes_that_are_not_proved(site: Engine) -> None:
    for daemon in site.all("DaemonSet"):
        pod = daemon["spec"]["template"]["spec"]
        assert {t["key"] for t in pod["tolerations"]} == {
            "nvidia.com/gpu",
            "trainyard.dev/unproved",
        }
        [term] = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
            "nodeSelectorTerms"
        ]
        assert term["matchExpressions"] == [
            {"key": "trainyard.dev/pool", "operator": "In", "values": ["train"]}
        ]
