import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.errors import UsageError
from scripts.plan.cli import plan
from tests.support.stacks import ROOT, STACKS

PAPER = ("--accelerators", "100000", "--type", "p5.48xlarge")


def run(*arguments: str) -> tuple[int, str]:
    """Run ``yard plan network``; return its exit code and output, or the message of a mistake."""
    done = CliRunner().invoke(plan, ["network", *arguments])
    if isinstance(done.exception, UsageError):
        return done.exception.exit_code, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.output


def stack(tmp_path: Path, *changes: tuple[str, str]) -> str:
    text = (ROOT / "Pulumi.local.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "Pulumi.it.yaml"
    file.write_text(text)
    return str(file)


def test_on_paper_the_answer_is_the_clusters_the_limit_and_the_addresses() -> None:
    code, output = run(*PAPER, "--avoid", "office=10.0.0.0/12")
    assert code == 0
    assert output.splitlines() == [
        "100,000 H100 on p5.48xlarge are 12,500 nodes",
        "",
        "limit                                  nodes  because",
        "nodes of a cluster                     4,994  5,000 to plan with, 6 of them system nodes",
        (
            "node groups of a cluster              13,050  29 beside that of the system nodes, 450 "
            "nodes each, a tenth first"
        ),
        (
            "addresses of compute subnets (binds)   1,290  1 x /16 with 16,380 addresses and 3,071 "
            "prefixes; a node takes 1 and 2 of them"
        ),
        (
            "blocks of a VPC                        5,160  4 compute subnets beside the management "
            "network"
        ),
        "network address usage of a VPC         1,776  64,000 units, 35 for each node",
        "",
        "10 clusters of 1,250 nodes, each a stack with a VPC of its own",
        "  4 node groups: 125, 375, 375, 375 nodes",
        (
            "  1,490 addresses and 2,979 prefixes of a compute subnet, with 15 % headroom; 45,583 "
            "units of its VPC"
        ),
        "fewer clusters with --zones 2 (8), --pods-per-node 14 (7)",
        "",
        "cluster  management_cidr  compute_cidr",
        "      1  10.16.0.0/19     10.17.0.0/16",
        "      2  10.16.32.0/19    10.18.0.0/16",
        "      3  10.16.64.0/19    10.19.0.0/16",
        "      4  10.16.96.0/19    10.20.0.0/16",
        "... up to 10 with 10.25.32.0/19 and 10.27.0.0/16",
    ]


def test_on_paper_json_lists_every_cluster() -> None:
    code, output = run(*PAPER, "--zones", "4", "--raised", "--json")
    found = json.loads(output)
    assert (code, found["fits"], found["nodes"]) == (0, True, 12_500)
    assert found["binding"] == "nodes of a cluster"
    assert [cluster["nodes"] for cluster in found["clusters"]] == [4167, 4167, 4166]
    assert all(len(cluster["compute_cidrs"]) == 4 for cluster in found["clusters"])


def test_what_does_not_fit_on_paper_fails() -> None:
    code, output = run(*PAPER, "--within", "10.0.0.0/13")
    assert code == 1
    assert output.splitlines()[-1] == (
        "does not fit: 10.0.0.0/13 has free blocks for 7 of 10 clusters; give more addresses with "
        "--within, or smaller ones with --block"
    )
    code, output = run(*PAPER, "--within", "10.0.0.0/13", "--json")
    clusters = json.loads(output)["clusters"]
    assert (code, len(clusters)) == (1, 10)
    assert clusters[-1] == {"nodes": 1250, "management_cidr": None, "compute_cidrs": []}


def test_on_paper_the_answer_takes_less_than_a_second_and_no_engine() -> None:
    code = (
        "import sys; from scripts.cli import main; sys.argv = ['yard', 'plan', 'network', "
        f"*{PAPER!r}]\n"
        "try: main()\n"
        "finally: print(sorted(m for m in sys.modules if m.startswith('pulumi')))"
    )
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    after = os.times()
    assert done.stdout.splitlines()[-1] == "[]"
    # Time on the processor: what else the machine does has no part in it.
    spent = after.children_user - before.children_user
    assert spent + after.children_system - before.children_system < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            (
                "give either stack files, or --accelerators with --type; see yard plan network "
                "--help"
            ),
        ),
        (
            ("Pulumi.dev.yaml", *PAPER),
            (
                "give either stack files, or --accelerators with --type; see yard plan network "
                "--help"
            ),
        ),
        (
            ("--accelerators", "8"),
            "--accelerators needs --type, the instance type that carries them",
        ),
        (
            ("--accelerators", "8", "--type", "p5.48xlarg"),
            (
                "'p5.48xlarg' is not an instance type of the catalog; nearest: p5.48xlarge, "
                "p5e.48xlarge, p5.4xlarge"
            ),
        ),
        (
            ("--accelerators", "8", "--type", "m7i.4xlarge"),
            "m7i.4xlarge has no accelerator; give a --type that has",
        ),
        (
            (*PAPER, "--zones", "5"),
            (
                "--zones 5 needs as many compute subnets, but a VPC has room for 4 beside the "
                "management network; use at most 4, or --raised"
            ),
        ),
        (
            (*PAPER, "--avoid", "10.0.0.0/12"),
            "--avoid 10.0.0.0/12 has no name; write it like office=10.0.0.0/12",
        ),
        (
            (*PAPER, "--avoid", "office=10.0.0.1/12"),
            (
                "--avoid office: 10.0.0.1/12 is no block of IPv4 addresses; write it like "
                "10.0.0.0/12, with no bits behind its length"
            ),
        ),
        (
            (*PAPER, "--avoid", "a=10.0.0.0/12", "--avoid", "a=10.16.0.0/12"),
            "--avoid names a twice; give each neighbour its own name",
        ),
        (
            (*PAPER, "--within", "ten"),
            (
                "--within ten is no block of IPv4 addresses; write it like 10.0.0.0/12, with no "
                "bits behind its length"
            ),
        ),
    ],
)
def test_bad_use_is_one_message(arguments: tuple[str, ...], message: str) -> None:
    assert run(*arguments) == (2, message)


@pytest.mark.parametrize("name", STACKS)
def test_the_stacks_of_the_repository_fit(name: str) -> None:
    code, output = run(str(ROOT / f"Pulumi.{name}.yaml"))
    assert code == 0
    assert output.splitlines()[0] == f"{ROOT / f'Pulumi.{name}.yaml'}: fits"


def test_a_stack_file_is_shown_block_by_block(tmp_path: Path) -> None:
    file = stack(tmp_path)
    assert run(file) == (
        0,
        "\n".join(
            [
                f"{file}: fits",
                (
                    "zone      purpose            block                                     size  "
                    "demand  with 15 %   use"
                ),
                (
                    "use1-az4  management, hosts  10.64.128.0/22                 1,020 addresses  "
                    "    19         22   3 %"
                ),
                (
                    "use1-az4  management, pods   10.64.132.0/22 10.64.136.0/21     191 prefixes  "
                    "     6          7   4 %"
                ),
                (
                    "use1-az4  public             10.64.144.0/23                   507 addresses  "
                    "     1          2   1 %"
                ),
                (
                    "use1-az4  storage            10.64.152.0/21                 2,043 addresses  "
                    "     4          5   1 %"
                ),
                (
                    "use1-az4  compute, hosts     10.65.0.0/22                   1,020 addresses  "
                    "    18         21   3 %"
                ),
                (
                    "use1-az4  compute, pods      10.65.4.0/22 10.65.8.0/21         191 prefixes  "
                    "    36         42  22 %"
                ),
                (
                    "use1-az6  management, hosts  10.64.192.0/22                 1,020 addresses  "
                    "    19         22   3 %"
                ),
                (
                    "use1-az6  management, pods   10.64.196.0/22 10.64.200.0/21     191 prefixes  "
                    "     6          7   4 %"
                ),
                "IPv4 blocks of a VPC: 2 of 5",
                "network address usage of a VPC: 658 of 64,000",
                "",
            ]
        ),
    )


def test_a_stack_that_does_not_fit_is_still_shown_and_fails(tmp_path: Path) -> None:
    file = stack(tmp_path, ("10.65.0.0/20", "10.65.0.0/24"))
    code, output = run(file)
    lines = output.splitlines()
    assert (code, lines[0]) == (1, f"{file}: does not fit")
    assert lines[7].endswith("11 prefixes      36         42  382 %")
    assert lines[-1] == (
        "  network.zones.0.compute_cidr: is 10.65.0.0/24, which has 60 addresses and 11 prefixes, "
        "but 16 nodes with 24 pods each need 21 addresses and 42 prefixes (with 2 more nodes "
        "during updates, 15 percent headroom); a /22 would do, or lower "
        "control_plane.pods_per_node"
    )
    code, output = run(file, "--json")
    [found] = json.loads(output)
    assert (code, found["fits"], len(found["problems"])) == (1, False, 1)
    assert found["parts"][5] == {
        "zone": "use1-az4",
        "purpose": "compute, pods",
        "blocks": ["10.65.0.64/26", "10.65.0.128/25"],
        "unit": "prefixes",
        "size": 11,
        "demand": 36,
        "needed": 42,
        "use_percent": 382,
    }


def test_a_mistake_elsewhere_does_not_hide_the_plan(tmp_path: Path) -> None:
    code, output = run(stack(tmp_path, ("owner: platform", "owner: 5")))
    assert (code, output.splitlines()[0].rpartition(": ")[2]) == (0, "fits")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "nat: one",
            "nat: two",
            "  network.nat: is the text 'two'; use 'per-zone', 'one' or 'none'",
        ),
        (
            "    owner: platform",
            "    owner: platform\n    owner: again",
            (
                "  (whole file): is not YAML at line 9, column 5: the key owner stands twice; mend "
                "that line first"
            ),
        ),
    ],
)
def test_a_file_that_no_plan_can_be_made_of_is_told_what_to_mend(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    code, message = run(stack(tmp_path, (old, new)))
    assert (code, problem in message.splitlines()) == (2, True)
