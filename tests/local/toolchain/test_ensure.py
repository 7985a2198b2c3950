import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.errors import FailedError, UsageError
from scripts.local import toolchain
from scripts.local.toolchain import Event, Origin, machine
from scripts.local.toolchain.events import Plan, State, Step
from tests.local.toolchain.workshop import FakeWorkshop

BUILDS = [
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    "sigs.k8s.io/kueue/cmd/kueue",
    "trainyard.dev/toolchain/core",
    "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    "go.etcd.io/etcd/server/v3",
    "sigs.k8s.io/kwok/cmd/kwok",
    "trainyard.dev/toolchain/provider",
]

PULUMI = "#!/bin/sh\necho v{version}\n"

CALLER = """
from pathlib import Path
from scripts.local import toolchain
from tests.local.toolchain.workshop import FakeWorkshop
workshop = FakeWorkshop.__new__(FakeWorkshop)
workshop.home = Path({home!r})
workshop.path, workshop.source = workshop.home / "path", workshop.home / "source"
toolchain.ensure(print, places=workshop.places())
"""


def ignore(_event: Event) -> None:
    pass


def caller(workshop: FakeWorkshop) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", CALLER.format(home=str(workshop.home))]
    root = Path(__file__).parents[3]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "waited for 10 seconds"
        time.sleep(0.02)


def test_everything_that_is_missing_is_built_in_the_order_of_the_data(
    workshop: FakeWorkshop,
) -> None:
    workshop.go()
    tools = toolchain.ensure(ignore, places=workshop.places())
    assert workshop.built() == BUILDS
    assert tools.path("etcd").read_text() == "made by go.etcd.io/etcd/server/v3\n"
    assert tools.path("kube-scheduler").read_text() == (
        "made by k8s.io/kubernetes/cmd/kube-scheduler\n"
    )
    assert {name: program.origin for name, program in tools.programs.items()} == {
        "etcd": Origin.BUILT,
        "kube-apiserver": Origin.BUILT,
        "kube-controller-manager": Origin.BUILT,
        "kube-scheduler": Origin.BUILT,
        "kueue": Origin.BUILT,
        "kwok": Origin.BUILT,
        "mpi-operator": Origin.BUILT,
        "pulumi": Origin.BUILT,
        "pulumi-language-python": Origin.STAND_IN,
        "pulumi-resource-aws": Origin.STAND_IN,
        "pulumi-resource-command": Origin.STAND_IN,
        "pulumi-resource-kubernetes": Origin.BUILT,
    }


def test_files_of_modules_are_kept_so_that_go_is_not_needed_later(workshop: FakeWorkshop) -> None:
    workshop.go()
    toolchain.ensure(ignore, places=workshop.places())
    calls = workshop.calls()
    tools = toolchain.ensure(ignore, places=workshop.places())
    assert workshop.calls() == calls
    assert (tools.kueue_module / "config/components/crd/bases/one.yaml").is_file()
    assert (tools.kueue_module / "charts/kueue/Chart.yaml").is_file()
    assert (tools.mpi_module / "manifests/base/cluster-role.yaml").is_file()
    assert (tools.kwok_module / "kustomize/stage/node/fast.yaml").is_file()
    assert os.access(tools.kwok_module / "kustomize/crd/bases/stage.yaml", os.W_OK)


def test_the_repository_is_not_written_to(workshop: FakeWorkshop) -> None:
    workshop.go()
    before = sorted(workshop.source.rglob("*"))
    toolchain.ensure(ignore, places=workshop.places())
    assert sorted(workshop.source.rglob("*")) == before


def test_a_change_in_one_folder_builds_only_that_folder_anew(workshop: FakeWorkshop) -> None:
    workshop.go()
    toolchain.ensure(ignore, places=workshop.places())
    sums = workshop.source / "kwok" / "go.sum"
    sums.write_text(sums.read_text() + "\n")
    toolchain.ensure(ignore, places=workshop.places())
    assert workshop.built() == [*BUILDS, "sigs.k8s.io/kwok/cmd/kwok"]


def test_a_complete_pulumi_of_the_machine_and_its_plugins_are_used(workshop: FakeWorkshop) -> None:
    workshop.go()
    version = machine.sdk_version("pulumi")
    pulumi = workshop.program("pulumi", PULUMI.format(version=version))
    workshop.program("pulumi-language-python", "")
    plugins = workshop.home / ".pulumi" / "plugins"
    folder = plugins / f"resource-kubernetes-v{machine.sdk_version('pulumi-kubernetes')}"
    kubernetes = workshop.program("pulumi-resource-kubernetes", "", folder)
    aws = workshop.program("pulumi-resource-aws", "")
    tools = toolchain.ensure(ignore, places=workshop.places())
    assert workshop.built() == [*BUILDS[:3], *BUILDS[4:6]]
    assert tools.path("pulumi") == pulumi
    assert tools.path("pulumi-resource-kubernetes") == kubernetes
    assert tools.path("pulumi-resource-aws") == aws
    assert tools.programs["pulumi-resource-command"].origin is Origin.STAND_IN
    assert not (tools.shims / "pulumi-language-python").exists()


@pytest.mark.parametrize(
    ("version", "language"),
    [("3.0.0", True), ("99.0.0", False), ("not a version", True)],
)
def test_an_old_or_incomplete_pulumi_of_the_machine_is_passed_over(
    workshop: FakeWorkshop, version: str, *, language: bool
) -> None:
    workshop.go()
    workshop.program("pulumi", PULUMI.format(version=version))
    if language:
        workshop.program("pulumi-language-python", "")
    tools = toolchain.ensure(ignore, places=workshop.places())
    assert tools.programs["pulumi"].origin is Origin.BUILT


def test_a_plugin_of_another_version_than_the_sdk_asks_for_is_passed_over(
    workshop: FakeWorkshop,
) -> None:
    workshop.go()
    folder = workshop.home / ".pulumi" / "plugins" / "resource-kubernetes-v4.0.0"
    workshop.program("pulumi-resource-kubernetes", "", folder)
    tools = toolchain.ensure(ignore, places=workshop.places())
    assert tools.programs["pulumi-resource-kubernetes"].origin is Origin.BUILT


def test_a_stand_in_can_be_asked_for_although_the_machine_has_the_plugin(
    workshop: FakeWorkshop,
) -> None:
    workshop.go()
    workshop.program("pulumi-resource-aws", "")
    tools = toolchain.ensure(ignore, places=workshop.places(), stand_ins={"aws"})
    assert tools.programs["pulumi-resource-aws"].origin is Origin.STAND_IN


def test_what_the_toolchain_put_on_path_is_not_taken_for_the_machine_s(
    workshop: FakeWorkshop,
) -> None:
    workshop.go()
    first = toolchain.ensure(ignore, places=workshop.places())
    environment = first.environment(workshop.home / "pulumi", str(workshop.path))
    second = toolchain.ensure(ignore, places=workshop.places(**environment))
    assert second == first


def test_a_refused_download_is_explained_for_every_folder_at_once(workshop: FakeWorkshop) -> None:
    workshop.go()
    workshop.flag(
        "refusal",
        "go: downloading example.com/fine v1.0.0\n"
        "go: example.com/gone@v1.0.0: https://user:secret@proxy.example/gone: 403 Forbidden\n",
    )
    with pytest.raises(UsageError) as caught:
        toolchain.ensure(ignore, places=workshop.places())
    proxy = "https://proxy.example,direct"
    rest = (
        f" could not be fetched through GOPROXY={proxy}\n"
        "  seen: go: example.com/gone@v1.0.0: https://proxy.example/gone: 403 Forbidden\n"
        "  way out: point GOPROXY at a Go module proxy that this machine reaches, "
        "and run this again"
    )
    assert str(caught.value) == "\n".join(
        [
            f"the Go modules of kubernetes, kueue, mpi-operator, pulumi, etcd{rest}",
            f"the Go modules of kwok{rest}",
            f"the Go modules of pulumi-resource-kubernetes{rest}",
        ]
    )
    assert workshop.built() == []


def test_a_broken_build_is_explained_and_other_folders_are_finished(
    workshop: FakeWorkshop,
) -> None:
    workshop.go()
    workshop.flag("broken-kueue")
    places = workshop.places()
    with pytest.raises(FailedError) as caught:
        toolchain.ensure(ignore, places=places)
    assert str(caught.value) == (
        "kueue v0.17.0 was not built: go ended with 1\n"
        "  seen: sigs.k8s.io/kueue/cmd/kueue: syntax error\n"
        f"  way out: read {places.logs}/kueue.log, mend it and run this again; "
        "what is finished is kept"
    )
    assert workshop.built() == [*BUILDS[:2], *BUILDS[5:]]
    (workshop.home / "broken-kueue").unlink()
    toolchain.ensure(ignore, places=places)
    assert workshop.built()[-4:] == BUILDS[1:5]


def test_a_caller_that_stops_ends_the_build_that_is_running(workshop: FakeWorkshop) -> None:
    workshop.go()
    workshop.flag("slow")

    def stop(event: Event) -> None:
        if isinstance(event, Step) and event.state is State.BUILDING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        toolchain.ensure(stop, places=workshop.places())
    assert list((workshop.home / "cache" / "toolchain").glob("*/bin/*")) == []


@pytest.mark.slow
def test_a_killed_build_goes_on_and_waits_for_what_it_left_running(
    workshop: FakeWorkshop,
) -> None:
    workshop.go()
    slow = workshop.flag("slow")
    killed = caller(workshop)
    until(lambda: len(workshop.built()) == 1)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    notes: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, Step):
            notes.append(f"{event.task.name} {event.state} {event.note}".strip())
            slow.unlink(missing_ok=True)

    toolchain.ensure(note, places=workshop.places())
    assert notes[0] == "kubernetes waiting another yard builds it"
    assert workshop.built() == [BUILDS[0], *BUILDS]


@pytest.mark.slow
def test_two_callers_do_not_build_the_same_thing_twice(workshop: FakeWorkshop) -> None:
    workshop.go()
    slow = workshop.flag("slow")
    both = [caller(workshop), caller(workshop)]
    until(lambda: len(workshop.built()) == 1)
    slow.unlink()
    assert [one.wait(20) for one in both] == [0, 0]
    assert sorted(workshop.built()) == sorted(BUILDS)


def test_more_cores_build_folders_side_by_side(workshop: FakeWorkshop) -> None:
    workshop.go()
    slow = workshop.flag("slow")
    running: set[str] = set()

    def watch(event: Event) -> None:
        if isinstance(event, Step) and event.state is State.BUILDING:
            running.add(event.task.name)
            if running >= {"kubernetes", "kwok", "pulumi-resource-kubernetes"}:
                slow.unlink(missing_ok=True)

    toolchain.ensure(watch, places=workshop.places(cpus=8))
    assert sorted(workshop.built()) == sorted(BUILDS)


def test_the_plan_is_told_first_and_counts_what_is_there(workshop: FakeWorkshop) -> None:
    workshop.go()
    workshop.flag("broken-kueue")
    places = workshop.places()
    with pytest.raises(FailedError):
        toolchain.ensure(ignore, places=places)
    (workshop.home / "broken-kueue").unlink()
    events: list[Event] = []
    toolchain.ensure(events.append, places=places)
    plan = events[0]
    assert isinstance(plan, Plan)
    assert [task.name for task in plan.tasks] == ["kueue", "mpi-operator", "pulumi", "etcd"]
    assert plan.have == 3
    assert not any(isinstance(event, Plan) for event in events[1:])
