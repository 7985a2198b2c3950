"""The language host: runs programs and plugins, and ends them with the engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2
from typing_extensions import override

from scripts.local.plugins.language import interpreter
from scripts.local.plugins.shared import serving
from scripts.local.plugins.shared.children import Child, ChildError, Running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf import empty_pb2

    from scripts.local.plugins.language.interpreter import Interpreter

EXECUTOR: Final = "pulumi-language-python-exec"
"""The program of the Pulumi SDK that runs a Python program; it is looked up on PATH."""

ALREADY_SHOWN: Final = 32
"""The exit code with which that program says that its error has been shown."""

NOTHING_TO_INSTALL: Final = (
    "nothing to install: programs run with the Python packages that are already there\n"
)

WRITES_NO_CODE: Final = (
    "this stand-in of the Python language host writes no code for what was imported; the import "
    "itself is done and in the state (--generate-code=false leaves this step out)"
)

_FACTS: Final = Path(__file__).with_name("facts.py")


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Serves the engine at ``engine``, an address that a handshake may replace."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._running = Running()

    def register(self, server: grpc.Server) -> None:
        """Add this host to ``server``."""
        language_pb2_grpc.add_LanguageRuntimeServicer_to_server(self, server)

    def stop(self) -> None:
        """End every program and plugin that still runs."""
        self._running.stop()

    @override
    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        self._engine = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    @override
    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi"))

    @override
    def GetRequiredPlugins(
        self, request: language_pb2.GetRequiredPluginsRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPluginsResponse:
        """Name none: the engine must take the plugins from PATH, not from the network."""
        return language_pb2.GetRequiredPluginsResponse()

    @override
    def GetRequiredPackages(
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        """Name none, as ``GetRequiredPlugins`` does."""
        return language_pb2.GetRequiredPackagesResponse()

    @override
    def RuntimeOptionsPrompts(
        self, request: language_pb2.RuntimeOptionsRequest, context: grpc.ServicerContext
    ) -> language_pb2.RuntimeOptionsResponse:
        return language_pb2.RuntimeOptionsResponse()

    @override
    def InstallDependencies(
        self, request: language_pb2.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        """Install nothing, and say so."""
        yield language_pb2.InstallDependenciesResponse(stdout=NOTHING_TO_INSTALL.encode())

    @override
    def About(
        self, request: language_pb2.AboutRequest, context: grpc.ServicerContext
    ) -> language_pb2.AboutResponse:
        python = _interpreter(request.info, context)
        return language_pb2.AboutResponse(
            executable=python.path, version=_ask(python, "version", context)
        )

    @override
    def GetProgramDependencies(
        self, request: language_pb2.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetProgramDependenciesResponse:
        question = "all" if request.transitiveDependencies else "direct"
        packages = json.loads(_ask(_interpreter(request.info, context), question, context))
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=version)
                for name, version in packages.items()
            ]
        )

    @override
    def Run(
        self, request: language_pb2.RunRequest, context: grpc.ServicerContext
    ) -> language_pb2.RunResponse:
        """Run a program; its output goes where ours goes, which the engine shows."""
        executor = shutil.which(EXECUTOR)
        if executor is None:
            return language_pb2.RunResponse(
                error=f"{EXECUTOR} is not on PATH; the toolchain puts it beside the language host"
            )
        python = _interpreter(request.info, context)
        env = python.environment(os.environ)
        env["PULUMI_CONFIG"] = json.dumps(dict(request.config))
        env["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
        argv = [python.path, "-u", executor, *self._flags(request), *request.args]
        try:
            child = Child.start(argv, cwd=request.pwd, env=env, capture=False)
        except ChildError as error:
            return language_pb2.RunResponse(error=f"could not start the program: {error}")
        with child, self._running.hold(child):
            serving.stop_with(context, child.stop)
            ending = child.wait()
        if ending.code == ALREADY_SHOWN:
            return language_pb2.RunResponse(bail=True)
        if ending.code is None:
            return language_pb2.RunResponse(error=f"Program exited unexpectedly: {ending}")
        if ending.code:
            return language_pb2.RunResponse(
                error=f"Program exited with non-zero exit code: {ending.code}"
            )
        return language_pb2.RunResponse()

    @override
    def RunPlugin(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.RunPluginResponse]:
        """Run a policy pack or another plugin written in Python, and pass on its output."""
        python = _interpreter(request.info, context)
        folder = request.info.program_directory
        if request.kind == "analyzer":
            program = ["-m", "pulumi.policy", *request.args, folder]
        else:
            program = [str(Path(folder, request.info.entry_point)), *request.args]
        env = python.environment(
            os.environ | dict(entry.split("=", 1) for entry in request.env if "=" in entry)
        )
        try:
            child = Child.start([python.path, "-u", *program], cwd=request.pwd or folder, env=env)
        except ChildError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"could not start: {error}")
        with child, self._running.hold(child):
            serving.stop_with(context, child.stop)
            for stream, chunk in child.output():
                if stream == "stdout":
                    yield language_pb2.RunPluginResponse(stdout=chunk)
                else:
                    yield language_pb2.RunPluginResponse(stderr=chunk)
            ending = child.wait()
        yield language_pb2.RunPluginResponse(exitcode=1 if ending.code is None else ending.code)

    @override
    def GenerateProgram(
        self, request: language_pb2.GenerateProgramRequest, context: grpc.ServicerContext
    ) -> language_pb2.GenerateProgramResponse:
        """Refuse to write the code of imported resources, which the engine asks for last."""
        context.abort(grpc.StatusCode.UNIMPLEMENTED, WRITES_NO_CODE)

    def _flags(self, request: language_pb2.RunRequest) -> list[str]:
        flags = {
            "monitor": request.monitor_address,
            "engine": self._engine,
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization,
            "root_directory": request.info.root_directory,
            "pwd": request.pwd,
            "parallel": str(request.parallel),
            "dry_run": "true" if request.dryRun else "false",
        }
        named = [word for name, value in flags.items() if value for word in (f"--{name}", value)]
        return [*named, request.info.entry_point or "."]


def _interpreter(info: language_pb2.ProgramInfo, context: grpc.ServicerContext) -> Interpreter:
    option = info.options.fields["virtualenv"].string_value if info.HasField("options") else ""
    try:
        return interpreter.find(info.root_directory, option)
    except interpreter.VirtualenvError as error:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))


def _ask(python: Interpreter, question: str, context: grpc.ServicerContext) -> str:
    """Let the program's own Python tell a fact about itself."""
    answer = subprocess.run(  # noqa: S603 - our own file, run by the Python of the project
        [python.path, "-I", str(_FACTS), question], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        context.abort(grpc.StatusCode.INTERNAL, f"{python.path} failed: {answer.stderr.strip()}")
    return answer.stdout
