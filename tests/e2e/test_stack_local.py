"""Stack local from nothing to nothing, in the order a person would go.

The tests of this module stand on each other: each begins where the one before it ended.
"""

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest
from lightkube.resources.core_v1 import ConfigMap, PersistentVolumeClaim, Pod

from components import catalog
from tests.e2e.support import LIMIT_SECONDS, ROOT, Machine, open_nodes

pytestmark = pytest.mark.e2e

POOL = "train"
CLUSTER = "trainyard-local"
TRAINING = ("replace", "Command", f"acceptance-{POOL}-training")
"""The pool trains anew whenever its nodes are others."""


def changes(output: str) -> Counter[str]:
    """Read the engine's summary of a deployment, ``{"create": 240}``."""
    lines = re.findall(
        r"^\s*[+~±-]*\s*(\d+) (created|updated|deleted|replaced|unchanged)", output, re.MULTILINE
    )
    return Counter({what: int(count) for count, what in lines})


def settings(folder: Path, old: str, new: str) -> Path:
    """Write the settings of stack local with one change, and return the file."""
    text = (ROOT / "Pulumi.local.yaml").read_text()
    assert old in text
    file = folder / "Pulumi.local.yaml"
    file.write_text(text.replace(old, new))
    return file


def pool_groups(machine: Machine) -> list[str]:
    """Name the node groups of the pool, without the part that tells one build from another."""
    return [
        name.rpartition("-")[0] for name in machine.groups(CLUSTER) if name.startswith(f"{POOL}-")
    ]


def deploy(machine: Machine, file: Path) -> None:
    """Update stack local to other settings with plain pulumi."""
    options = ("--config-file", str(file), "--policy-pack", "policies")
    done = machine.pulumi("up", "--yes", "--skip-preview", "--stack", "local", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_update_that_is_killed_in_the_middle_leaves_a_state_to_go_on_from(
    machine: Machine,
) -> None:
    machine.ok("local", "up")
    with machine.background("up", "local") as update:
        machine.wait(update, lambda: machine.aws("eks").list_clusters()["clusters"] != [])
        os.killpg(update.pid, signal.SIGKILL)


def test_the_next_update_recovers_and_ends_at_a_wave_that_fails_as_a_whole(
    machine: Machine,
) -> None:
    machine.ok("local", "fault", "set", "socket", "--pool", POOL, "--wave", "1")
    done = machine.yard("up", "local")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "transport is not EFA: NCCL used Socket" in said, said
    assert "look at what the nodes have in common" in said
    assert "Traceback" not in said
    assert pool_groups(machine) == [f"{POOL}-1"], "the next wave is held"
    assert open_nodes(machine.nodes(pool=POOL)) == []


def test_an_update_after_the_repair_goes_on_through_a_bad_api_and_a_restart(
    machine: Machine,
) -> None:
    machine.ok("local", "fault", "clear")
    machine.ok("local", "fault", "set", "link", "--pool", POOL, "--wave", "2", "--index", "3")
    machine.ok("local", "fault", "set", "api-throttle", "--seconds", "8")
    with machine.background("up", "local") as update:
        machine.wait(update, lambda: f"{POOL}-2" in pool_groups(machine))
        machine.ok("local", "fault", "set", "api-error", "--service", "eks", "--seconds", "5")
        machine.ok("local", "fault", "set", "apiserver-restart", "--seconds", "3")
        said, _ = update.communicate(timeout=LIMIT_SECONDS)
    assert update.returncode == 0, said


def test_no_killed_creation_left_an_orphan_in_the_account(machine: Machine) -> None:
    known = {resource.get("id") for resource in machine.state()}
    ec2 = machine.aws("ec2")
    alive = [
        *(vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]),
        *(nat["NatGatewayId"] for nat in ec2.describe_nat_gateways()["NatGateways"]),
        *(address["AllocationId"] for address in ec2.describe_addresses()["Addresses"]),
        *(
            template["LaunchTemplateId"]
            for template in ec2.describe_launch_templates()["LaunchTemplates"]
        ),
        *(
            system["FileSystemId"]
            for system in machine.aws("fsx").describe_file_systems()["FileSystems"]
        ),
    ]
    assert [found for found in alive if found not in known] == []


def test_the_account_holds_what_the_program_declares(machine: Machine) -> None:
    cluster = machine.aws("eks").describe_cluster(name=CLUSTER)["cluster"]
    assert cluster["status"] == "ACTIVE"
    assert cluster["accessConfig"]["authenticationMode"] == "API"
    assert pool_groups(machine) == [f"{POOL}-1", f"{POOL}-2"]
    [system] = machine.aws("fsx").describe_file_systems()["FileSystems"]
    assert system["LustreConfiguration"]["DeploymentType"] == "PERSISTENT_2"


def test_the_slow_node_stays_out_and_is_named_while_the_rest_opens(machine: Machine) -> None:
    first = machine.nodes(pool=POOL, wave="1")
    second = machine.nodes(pool=POOL, wave="2")
    assert (len(first), len(second)) == (2, 14)
    assert len(open_nodes(first)) == 2
    assert len(open_nodes(second)) == 13
    with machine.kubernetes() as client:
        kept = client.get(ConfigMap, f"gate-{POOL}-2", namespace="trainyard-gate").data or {}
    closed = {node.metadata.name for node in second} - set(open_nodes(second))
    assert kept["verdict"] == "pass"
    assert all(name in kept["verdict.json"] for name in closed)


def test_the_file_system_is_claimed(machine: Machine) -> None:
    with machine.kubernetes() as client:
        claims = list(client.list(PersistentVolumeClaim, namespace="*"))
    assert claims
    assert {claim.status.phase for claim in claims} == {"Bound"}


def test_a_second_update_changes_nothing(machine: Machine) -> None:
    before = machine.state()
    output = machine.ok("up", "local")
    counted = changes(output)
    assert (counted["created"], counted["updated"], counted["deleted"]) == (0, 0, 0)
    assert len(machine.state()) == len(before)


def idle_nodes(machine: Machine) -> list[str]:
    """Name the open nodes of wave 2 on which no job runs; the model service takes some."""
    with machine.kubernetes() as client:
        busy = {pod.spec.nodeName for pod in client.list(Pod, namespace="chat")}
    return [name for name in open_nodes(machine.nodes(pool=POOL, wave="2")) if name not in busy]


def cluster_options(machine: Machine) -> list[str]:
    return ["--kubeconfig", str(machine.home / "kubeconfig")]


def again(machine: Machine) -> list[str]:
    """Give the command that proves the idle nodes of wave 2 again."""
    words = ["--pool", POOL, "--wave", "2", "--nodes", "14", "--type", "p5.48xlarge", "--again"]
    image = catalog.image("nccl-tests", "us-east-1")
    reports = ["--report-dir", str(machine.home / "reports")]
    return ["gate", "run", *words, "--image", image, *reports, *cluster_options(machine)]


def kept_answers(machine: Machine) -> set[str]:
    """Name what a gate that has not ended has kept: ``RUN.LABEL.PART``, and the wave itself."""
    journal = {"trainyard.dev/record": "journal"}
    with machine.kubernetes() as client:
        found = client.list(ConfigMap, namespace="trainyard-gate", labels=journal)
        return {str(each.metadata.labels["trainyard.dev/record-name"]) for each in found}


def test_a_node_that_goes_bad_later_is_found_shut_and_named(machine: Machine) -> None:
    before = open_nodes(machine.nodes(pool=POOL, wave="2"))
    bad = idle_nodes(machine)[0]
    machine.ok("local", "fault", "set", "gpu", "--node", bad)
    line = machine.ok(*again(machine))
    assert line.startswith(f"pass: pool {POOL} wave 2: 12 of 14 nodes open")
    assert f"{bad}: gpus: a GPU is lost" in line
    assert open_nodes(machine.nodes(pool=POOL, wave="2")) == [n for n in before if n != bad]


def test_nodes_that_are_mended_and_forgiven_open_again(machine: Machine) -> None:
    machine.ok("local", "fault", "clear")
    listed = json.loads(machine.ok("blacklist", "list", "--json", *cluster_options(machine)))
    assert listed
    for entry in listed:
        who = ["--by", "operator", "--reason", "mended"]
        machine.ok("blacklist", "clear", entry["id"], *who, *cluster_options(machine))
    line = machine.ok(*again(machine))
    assert line.startswith(f"pass: pool {POOL} wave 2: 14 of 14 nodes open")


def test_a_killed_gate_goes_on_though_the_api_restarts_and_a_node_dies(machine: Machine) -> None:
    slow, dying = idle_nodes(machine)[:2]
    machine.ok("local", "fault", "set", "link", "--node", slow)
    with machine.background(*again(machine)) as gate:
        machine.wait(gate, lambda: any(".a1." in name for name in kept_answers(machine)))
        os.killpg(gate.pid, signal.SIGKILL)
    [run] = {name.partition(".")[0] for name in kept_answers(machine) if "." in name}
    machine.ok("local", "fault", "set", "dead", "--node", dying)
    machine.ok("local", "fault", "set", "apiserver-restart", "--seconds", "3")

    place = ["--report-dir", str(machine.home / "reports"), *cluster_options(machine)]
    done = machine.yard("gate", "resume", "--pool", POOL, "--wave", "2", *place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"run {run} goes on with" in done.stderr
    assert done.stdout.startswith(f"pass: pool {POOL} wave 2: 12 of 14 nodes open")
    report = json.loads((machine.home / "reports" / f"gate-{POOL}-2.json").read_text())
    assert report["run"] == run
    out = {node["name"]: node["verdict"] for node in report["nodes"] if node["verdict"] != "pass"}
    assert out == {slow: "fail", dying: "unknown"}
    assert report["effort"]["alone_rounds"] == 1, "what was measured before is not measured again"
    assert kept_answers(machine) == set()
    machine.ok("local", "fault", "clear")


def test_a_refresh_with_plain_pulumi_finds_no_drift(machine: Machine) -> None:
    done = machine.pulumi("refresh", "--yes", "--stack", "local", "--expect-no-changes")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_target_keeps_its_state_over_a_stop(machine: Machine) -> None:
    nodes = sorted(node.metadata.name for node in machine.nodes(pool=POOL))
    machine.ok("local", "down")
    machine.ok("local", "up")
    assert sorted(node.metadata.name for node in machine.nodes(pool=POOL)) == nodes
    assert machine.aws("eks").list_clusters()["clusters"] == [CLUSTER]


def test_a_simulator_that_is_down_is_one_clear_error_and_the_state_stays(machine: Machine) -> None:
    before = machine.state()
    [simulator] = [
        part
        for part in json.loads(machine.ok("local", "status", "--json"))
        if part["part"] == "simulator"
    ]
    os.kill(simulator["pid"], signal.SIGKILL)
    done = machine.pulumi("up", "--yes", "--stack", "local", "--policy-pack", "policies")
    assert done.returncode != 0
    assert "yard local status" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert machine.state() == before
    machine.ok("local", "up")


def test_a_pool_grows_by_a_wave_without_touching_what_is_there(
    machine: Machine, tmp_path: Path
) -> None:
    file = settings(tmp_path, "waves: [2, 14]", "waves: [2, 14, 2]")
    steps = machine.steps(file)
    made = {(kind, name) for op, kind, name in steps if op == "create"}
    assert made == {("NodeGroup", f"pool-{POOL}-3"), ("Command", f"acceptance-{POOL}-3")}
    # Quotas share out what the pool has, so they grow with it, in place, and the schedule takes the
    # wave in; the pool trains anew.
    others = {(op, kind) for op, kind, _ in steps if op != "create"}
    assert others == {
        *(("update", kind) for kind in ("ClusterQueue", "ResourceQuota", "CronJob")),
        ("replace", "Command"),
    }
    assert TRAINING in steps
    deploy(machine, file)
    assert len(open_nodes(machine.nodes(pool=POOL, wave="3"))) == 2


def test_another_image_release_touches_the_groups_of_its_pool_and_their_gates_only(
    machine: Machine, tmp_path: Path
) -> None:
    # What stayed out before would stay out again; the new nodes are to be good.
    machine.ok("local", "fault", "clear")
    release = "1.35.7-20261001"
    wanted = f"waves: [2, 14, 2]\n        ami_release: {release}"
    file = settings(tmp_path, "waves: [2, 14]", wanted)
    numbers = (1, 2, 3)
    assert set(machine.steps(file)) == {
        *(("update", "NodeGroup", f"pool-{POOL}-{number}") for number in numbers),
        *(("replace", "Command", f"acceptance-{POOL}-{number}") for number in numbers),
        TRAINING,
    }
    deploy(machine, file)
    for number, nodes in zip(numbers, (2, 14, 2), strict=True):
        assert len(open_nodes(machine.nodes(pool=POOL, wave=str(number), image=release))) == nodes


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_other_stacks_preview_on_the_embedded_target(machine: Machine, stack: str) -> None:
    output = machine.ok("preview", stack, "--target", "embedded")
    assert "can't run policy" not in output
    assert "to create" in output


def test_a_bad_setting_is_refused_by_check_and_preview_with_the_same_text(
    machine: Machine, tmp_path: Path
) -> None:
    before = machine.state()
    file = settings(tmp_path, "p5.48xlarge", "p5.48xlarg")
    checked = machine.yard("config", "check", str(file))
    assert checked.returncode == 2
    previewed = machine.pulumi("preview", "--stack", "local", "--config-file", str(file))
    assert previewed.returncode != 0
    problems = [line.strip() for line in checked.stderr.splitlines() if "p5.48xlarg" in line]
    assert problems
    assert all(problem in previewed.stdout + previewed.stderr for problem in problems)
    assert "Traceback" not in previewed.stdout + previewed.stderr
    assert machine.state() == before


def test_destroying_leaves_nothing_behind(machine: Machine) -> None:
    machine.ok("down", "local")
    machine.ok("local", "up")
    ec2 = machine.aws("ec2")
    assert [vpc for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]] == []
    assert machine.aws("eks").list_clusters()["clusters"] == []
    assert machine.aws("fsx").describe_file_systems()["FileSystems"] == []
    assert machine.aws("s3").list_buckets()["Buckets"] == []
    assert machine.nodes() == []
    assert machine.state() == []
