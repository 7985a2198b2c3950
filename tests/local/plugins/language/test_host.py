from __future__ import annotations

import json
import os
import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from scripts.local.plugins.language.host import EXECUTOR, LanguageHost
from tests.local.plugins.shared.support import alive, channel_to, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDER = """
import json, os, sys
facts = {name: os.environ.get(name) for name in ("PULUMI_CONFIG", "PULUMI_CONFIG_SECRET_KEYS")}
facts |= {"argv": sys.argv[1:], "python": sys.executable, "cwd": os.getcwd()}
json.dump(facts, open("facts.json", "w"))
"""
SLEEPER = """
import os, subprocess, time
sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print(os.getpid(), sleeper.pid, flush=True)
open("pids.new", "w").write(f"{os.getpid()} {sleeper.pid}")
os.rename("pids.new", "pids")
time.sleep(1000)
"""


@pytest.fixture
def host() -> Iterator[LanguageHost]:
    host = LanguageHost("127.0.0.1:1")
    yield host
    host.stop()


@pytest.fixture
def stub(host: LanguageHost) -> Iterator[language_pb2_grpc.LanguageRuntimeStub]:
    with channel_to(host.register) as channel:
        yield language_pb2_grpc.LanguageRuntimeStub(channel)


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put an executor on PATH, for each test to write."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    path = folder / EXECUTOR
    path.touch(0o755)
    return path


def info(root: Path, virtualenv: str = "") -> language_pb2.ProgramInfo:
    program = language_pb2.ProgramInfo(
        root_directory=str(root), program_directory=str(root), entry_point="."
    )
    if virtualenv:
        program.options.update({"virtualenv": virtualenv})
    return program


def run_request(root: Path) -> language_pb2.RunRequest:
    return language_pb2.RunRequest(
        project="trainyard",
        stack="local",
        organization="organization",
        pwd=str(root),
        monitor_address="127.0.0.1:2",
        parallel=8,
        dryRun=True,
        config={"trainyard:a": "1"},
        configSecretKeys=["trainyard:a"],
        info=info(root),
    )


def pids(folder: Path) -> list[int]:
    assert eventually((folder / "pids").exists)
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def test_the_version_is_that_of_the_sdk(stub: language_pb2_grpc.LanguageRuntimeStub) -> None:
    assert stub.GetPluginInfo(empty_pb2.Empty()).version == metadata.version("pulumi")


def test_no_package_is_asked_for_from_the_network(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path
) -> None:
    packages = stub.GetRequiredPackages(
        language_pb2.GetRequiredPackagesRequest(info=info(tmp_path))
    )
    plugins = stub.GetRequiredPlugins(language_pb2.GetRequiredPluginsRequest(info=info(tmp_path)))
    assert (list(packages.packages), list(plugins.plugins)) == ([], [])


def test_there_is_nothing_to_install_and_the_host_says_so(
    stub: language_pb2_grpc.LanguageRuntimeStub,
) -> None:
    [message] = stub.InstallDependencies(language_pb2.InstallDependenciesRequest())
    assert message.stdout == (
        b"nothing to install: programs run with the Python packages that are already there\n"
    )


def test_a_virtual_environment_that_is_missing_is_an_error_of_the_call(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        stub.About(language_pb2.AboutRequest(info=info(tmp_path, "venv")))
    assert caught.value.details().startswith("the option 'virtualenv' is 'venv'")


def test_a_missing_executor_is_named(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert stub.Run(run_request(tmp_path)).error == (
        "pulumi-language-python-exec is not on PATH; the toolchain puts it beside the language host"
    )


@pytest.mark.slow
def test_about_names_the_python_of_the_program(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path
) -> None:
    about = stub.About(language_pb2.AboutRequest(info=info(tmp_path)))
    assert (about.executable, about.version) == (sys.executable, platform.python_version())


@pytest.mark.slow
def test_the_packages_of_the_program_are_listed(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path
) -> None:
    def listed(*, transitive: bool) -> dict[str, str]:
        answer = stub.GetProgramDependencies(
            language_pb2.GetProgramDependenciesRequest(
                info=info(tmp_path), transitiveDependencies=transitive
            )
        )
        return {package.name: package.version for package in answer.dependencies}

    everything, direct = listed(transitive=True), listed(transitive=False)
    assert everything["grpcio"] == metadata.version("grpcio")
    assert "grpcio" not in direct
    assert direct.items() < everything.items()


@pytest.mark.slow
def test_a_program_gets_what_the_engine_says_about_the_run(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path, executor: Path
) -> None:
    executor.write_text(RECORDER)
    stub.Handshake(language_pb2.LanguageHandshakeRequest(engine_address="127.0.0.1:3"))
    assert stub.Run(run_request(tmp_path)) == language_pb2.RunResponse()
    assert json.loads((tmp_path / "facts.json").read_text()) == {
        "PULUMI_CONFIG": '{"trainyard:a": "1"}',
        "PULUMI_CONFIG_SECRET_KEYS": '["trainyard:a"]',
        "argv": [
            *("--monitor", "127.0.0.1:2"),
            *("--engine", "127.0.0.1:3"),
            *("--project", "trainyard"),
            *("--stack", "local"),
            *("--organization", "organization"),
            *("--root_directory", str(tmp_path)),
            *("--pwd", str(tmp_path)),
            *("--parallel", "8"),
            *("--dry_run", "true"),
            ".",
        ],
        "python": sys.executable,
        "cwd": str(tmp_path),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "response"),
    [
        ("sys.exit(32)", language_pb2.RunResponse(bail=True)),
        (
            "sys.exit(3)",
            language_pb2.RunResponse(error="Program exited with non-zero exit code: 3"),
        ),
        (
            "os.kill(os.getpid(), 9)",
            language_pb2.RunResponse(error="Program exited unexpectedly: signal: killed"),
        ),
    ],
)
def test_a_failed_program_is_told_from_one_whose_error_has_been_shown(
    stub: language_pb2_grpc.LanguageRuntimeStub,
    tmp_path: Path,
    executor: Path,
    code: str,
    response: language_pb2.RunResponse,
) -> None:
    executor.write_text(f"import os, sys; {code}")
    assert stub.Run(run_request(tmp_path)) == response


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cancel", "stop"])
def test_a_program_dies_with_its_children_when_the_engine_is_done_with_it(
    stub: language_pb2_grpc.LanguageRuntimeStub,
    host: LanguageHost,
    tmp_path: Path,
    executor: Path,
    how: str,
) -> None:
    executor.write_text(SLEEPER)
    call = stub.Run.future(run_request(tmp_path))
    family = pids(tmp_path)
    assert all(map(alive, family))
    (call.cancel if how == "cancel" else host.stop)()
    assert eventually(lambda: not any(map(alive, family)))


def plugin_request(root: Path, kind: str) -> language_pb2.RunPluginRequest:
    return language_pb2.RunPluginRequest(
        pwd=str(root),
        args=["127.0.0.1:3"],
        env=["CANARY=sings"],
        kind=kind,
        info=info(root),
    )


@pytest.mark.slow
def test_the_output_of_a_plugin_is_passed_on_and_its_code_comes_last(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path
) -> None:
    (tmp_path / "__main__.py").write_text(
        "import os, sys\n"
        "print(sys.argv[1:], os.environ['CANARY'])\n"
        "print('problem', file=sys.stderr)\n"
        "sys.exit(4)\n"
    )
    *output, last = stub.RunPlugin(plugin_request(tmp_path, "resource"))
    assert b"".join(message.stdout for message in output) == b"['127.0.0.1:3'] sings\n"
    assert b"".join(message.stderr for message in output) == b"problem\n"
    assert last == language_pb2.RunPluginResponse(exitcode=4)


@pytest.mark.slow
def test_a_policy_pack_is_run_by_the_policy_module(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path
) -> None:
    (tmp_path / "__main__.py").write_text("import sys; print(sys.argv, __name__)")
    *output, last = stub.RunPlugin(plugin_request(tmp_path, "analyzer"))
    text = b"".join(message.stdout for message in output).decode()
    # The module gets the engine and the folder, and puts the folder in the place of its own name.
    assert text == f"{[str(tmp_path), '127.0.0.1:3', str(tmp_path)]} __main__\n"
    assert last == language_pb2.RunPluginResponse(exitcode=0)


@pytest.mark.slow
def test_a_plugin_dies_when_its_stream_is_cancelled(
    stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path
) -> None:
    (tmp_path / "__main__.py").write_text(SLEEPER)
    stream = stub.RunPlugin(plugin_request(tmp_path, "resource"))
    family = [int(pid) for pid in next(stream).stdout.split()]
    assert all(map(alive, family))
    stream.cancel()
    assert eventually(lambda: not any(map(alive, family)))


def test_the_code_of_imported_resources_is_refused_and_the_import_is_said_to_be_done(
    stub: language_pb2_grpc.LanguageRuntimeStub,
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        stub.GenerateProgram(language_pb2.GenerateProgramRequest())
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert caught.value.details() == (
        "this stand-in of the Python language host writes no code for what was imported; the "
        "import itself is done and in the state (--generate-code=false leaves this step out)"
    )
