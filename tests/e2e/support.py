"""The embedded target as its user drives it: through ``yard``, boto3 and a Kubernetes client."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
import lightkube
from botocore.config import Config
from lightkube.core.client import Client
from lightkube.resources.core_v1 import Node

ROOT = Path(__file__).resolve().parents[2]
YARD = Path(sys.executable).with_name("yard")

# Longer than any step takes, so that a hang ends as a failure and not as a stuck run.
LIMIT_SECONDS = 1200


class Machine:
    """One embedded target in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "PULUMI_"))}
        self.environment = {**kept, "TRAINYARD_HOME": str(home), "NO_COLOR": "1", "CI": "true"}

    def yard(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``yard`` and return what it said and how it ended."""
        return subprocess.run(
            [str(YARD), *arguments],
            cwd=ROOT,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )

    def ok(self, *arguments: str) -> str:
        """Run ``yard``, insist that it passes, and return its output."""
        done = self.yard(*arguments)
        assert done.returncode == 0, f"yard {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextmanager
    def background(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """Run ``yard`` beside the test, in a process group of its own that ends with the block."""
        with subprocess.Popen(
            [str(YARD), *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as running:
            try:
                yield running
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)

    def wait(self, running: "subprocess.Popen[str]", until: Callable[[], bool]) -> None:
        """Wait until something is so, and insist that ``running`` still runs then."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not until():
            assert time.monotonic() < deadline, "it never came to that"
            assert running.poll() is None, running.communicate()[0]
            time.sleep(0.2)

    @cached_property
    def shell(self) -> dict[str, str]:
        """The environment that ``eval "$(yard local env)"`` gives."""
        script = 'eval "$("$0" local env)" && env -0'
        listed = subprocess.run(
            ["/bin/sh", "-c", script, str(YARD)],
            cwd=ROOT,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        given = dict(entry.split("=", 1) for entry in listed.split("\0") if "=" in entry)
        # Plain pulumi writes its salt into the stack file; the repository's stays as it is.
        copy = self.home / "Pulumi.local.yaml"
        shutil.copyfile(ROOT / "Pulumi.local.yaml", copy)
        return {**given, "PULUMI_OPTION_CONFIG_FILE": str(copy)}

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run plain ``pulumi`` in that environment."""
        return subprocess.run(
            [self._pulumi, *arguments, "--non-interactive"],
            cwd=ROOT,
            env=self.shell,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )

    def steps(self, settings: Path) -> list[tuple[str, str, str]]:
        """Preview stack local with other settings: operation, kind and name of each change."""
        done = self.pulumi("preview", "--stack", "local", "--config-file", str(settings), "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return [
            (
                step["op"],
                step["urn"].split("::")[-2].rpartition(":")[2],
                step["urn"].split("::")[-1],
            )
            for step in json.loads(done.stdout)["steps"]
            if step["op"] != "same"
        ]

    def state(self) -> list[dict[str, Any]]:
        """Return the resources in the state of stack local."""
        done = self.pulumi("stack", "export", "--stack", "local")
        assert done.returncode == 0, done.stderr
        resources: list[dict[str, Any]] = json.loads(done.stdout)["deployment"].get("resources", [])
        return resources

    def aws(self, service: str) -> Any:  # noqa: ANN401 - a client has no type before it is made
        """Return a boto3 client of the simulated account."""
        session = boto3.Session(
            aws_access_key_id=self.shell["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.shell["AWS_SECRET_ACCESS_KEY"],
            region_name="us-east-1",
        )
        make: Any = session.client
        # The tests look on while faults make calls fail.
        patient = Config(retries={"mode": "standard", "max_attempts": 10})
        return make(service, endpoint_url=self.shell["AWS_ENDPOINT_URL"], config=patient)

    def groups(self, cluster: str) -> list[str]:
        """Name the node groups of a cluster, in order."""
        listed = self.aws("eks").list_nodegroups(clusterName=cluster)["nodegroups"]
        return sorted(listed)

    def kubernetes(self) -> closing[Client]:
        """Return an administrator's client of the control plane, to be used with ``with``."""
        config = lightkube.KubeConfig.from_file(self.home / "kubeconfig")
        return closing(lightkube.Client(config=config, trust_env=False))

    def nodes(self, **labels: str) -> list[Node]:
        """List nodes by the program's own labels, given without their prefix."""
        chosen = {f"trainyard.dev/{key}": value for key, value in labels.items()}
        with self.kubernetes() as client:
            return list(client.list(Node, labels=chosen))

    def stop(self) -> None:
        """Stop every process and remove the home."""
        self.yard("local", "down")
        shutil.rmtree(self.home, ignore_errors=True)

    @cached_property
    def _pulumi(self) -> str:
        found = shutil.which("pulumi", path=self.shell["PATH"])
        assert found, "pulumi is not on the PATH that yard local env gives"
        return found


def open_nodes(nodes: list[Node]) -> list[str]:
    """Name the nodes that a gate has opened."""
    return sorted(node.metadata.name for node in nodes if not _taints(node, "unproved"))


def _taints(node: Node, key: str) -> bool:
    return any(taint.key == f"trainyard.dev/{key}" for taint in node.spec.taints or [])
