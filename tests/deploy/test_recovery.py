import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil

from scripts.deploy.recovery import pending_creates, settle, stale_locks


def lock(backend: Path, *, pid: int, hostname: str) -> Path:
    folder = backend / ".pulumi" / "locks" / "organization" / "trainyard" / "local"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{pid}-{hostname}.json"
    file.write_text(json.dumps({"pid": pid, "username": "me", "hostname": hostname}))
    return file


def ended_process() -> int:
    """Return the id of a process that is gone."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_the_lock_of_a_process_that_has_ended_and_waits_for_its_parent_is_stale(
    tmp_path: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        while psutil.Process(ended.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        held = lock(tmp_path, pid=ended.pid, hostname=socket.gethostname())
        assert list(stale_locks(f"file://{tmp_path}", "local")) == [held]


def test_only_the_lock_of_a_process_that_is_gone_from_this_host_is_stale(tmp_path: Path) -> None:
    here = socket.gethostname()
    stale = lock(tmp_path, pid=ended_process(), hostname=here)
    lock(tmp_path, pid=os.getpid(), hostname=here)
    lock(tmp_path, pid=ended_process(), hostname="another-host")
    assert list(stale_locks(f"file://{tmp_path}", "local")) == [stale]


def test_a_lock_of_another_stack_is_left_alone(tmp_path: Path) -> None:
    lock(tmp_path, pid=ended_process(), hostname=socket.gethostname())
    assert list(stale_locks(f"file://{tmp_path}", "dev")) == []


def test_a_backend_that_is_no_folder_has_no_locks_to_judge() -> None:
    assert list(stale_locks("s3://state", "local")) == []


VPC = {"urn": "urn:pulumi:local::trainyard::aws:ec2/vpc:Vpc::a", "type": "aws:ec2/vpc:Vpc"}
SUBNET = {"urn": "urn:pulumi:local::trainyard::aws:ec2/subnet:Subnet::b", "type": "aws:ec2/subnet"}


def interrupted(*resources: dict[str, object]) -> dict[str, object]:
    return {
        "version": 3,
        "deployment": {
            "resources": list(resources),
            "pending_operations": [
                {"type": "creating", "resource": {**VPC, "inputs": {"cidrBlock": "10.0.0.0/16"}}},
                {"type": "creating", "resource": SUBNET},
                {"type": "deleting", "resource": VPC},
            ],
        },
    }


def test_only_creations_that_had_begun_are_pending() -> None:
    assert [each["urn"] for each in pending_creates(interrupted())] == [VPC["urn"], SUBNET["urn"]]


def test_what_was_found_is_adopted_and_the_rest_is_forgotten() -> None:
    assert settle(interrupted(), {VPC["urn"]: "vpc-1"})["deployment"] == {
        "resources": [
            {
                **VPC,
                "id": "vpc-1",
                "inputs": {"cidrBlock": "10.0.0.0/16"},
                "outputs": {"cidrBlock": "10.0.0.0/16"},
            }
        ],
        "pending_operations": [{"type": "deleting", "resource": VPC}],
    }


def test_what_an_adopted_resource_was_to_replace_is_left_to_be_deleted() -> None:
    old = {**VPC, "id": "vpc-0"}
    settled = settle(interrupted(old), {VPC["urn"]: "vpc-1"})["deployment"]["resources"]
    assert [(each["id"], each.get("delete")) for each in settled] == [
        ("vpc-0", True),
        ("vpc-1", None),
    ]


def test_a_new_stack_has_nothing_pending() -> None:
    assert pending_creates({"version": 3, "deployment": {}}) == []
