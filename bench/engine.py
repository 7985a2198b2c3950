"""What Trainyard costs on top of the bare engine, measured in one run.

Starts an embedded target in a folder of its own, deploys stack local from nothing, updates it
without a change, previews stack prod, and does the same with a program that registers as many
empty resources under no policy. Prints seconds and ratios; judge by the ratios, because machines
are noisy. Takes about ten minutes on two cores.

    .venv/bin/python bench/engine.py
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
YARD = Path(sys.executable).with_name("yard")

BARE = """
import pulumi


class Empty(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("bench:index:Empty", name)
        self.register_outputs({})


for number in range(COUNT):
    Empty(f"empty-{number}")
"""


def timed(command: list[str], folder: Path, environment: Mapping[str, str]) -> float:
    """Run a command to its end and return its seconds; a failure ends the benchmark."""
    started = time.monotonic()
    done = subprocess.run(  # noqa: S603 - the commands stand in this file
        command,
        cwd=folder,
        env=dict(environment),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{shlex.join(command)} failed:\n{done.stdout}")
    return time.monotonic() - started


def shell(environment: Mapping[str, str], stack: str) -> dict[str, str]:
    """Return the environment of plain pulumi on the target, for one stack."""
    script = f'eval "$({shlex.quote(str(YARD))} local env --stack {stack})" && env -0'
    listed = subprocess.run(  # noqa: S603 - the command stands here
        ["/bin/sh", "-c", script],
        cwd=ROOT,
        env=dict(environment),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return dict(entry.split("=", 1) for entry in listed.split("\0") if "=" in entry)


def count(environment: Mapping[str, str]) -> int:
    """Return how many resources stack local has registered."""
    listed = subprocess.run(
        ["pulumi", "stack", "--stack", "local", "--show-urns", "--non-interactive"],  # noqa: S607 - found on the PATH that yard gives
        cwd=ROOT,
        env=dict(environment),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return listed.count("URN: ")


def bare(resources: int, folder: Path, environment: Mapping[str, str]) -> dict[str, float]:
    """Measure the engine alone with as many empty resources."""
    folder.mkdir()
    options = f"  options:\n    virtualenv: {ROOT / '.venv'}\n"
    (folder / "Pulumi.yaml").write_text(f"name: bare\nruntime:\n  name: python\n{options}")
    (folder / "__main__.py").write_text(BARE.replace("COUNT", str(resources)))
    timed(["pulumi", "stack", "init", "bare", "--non-interactive"], folder, environment)
    common = ["--stack", "bare", "--non-interactive"]
    return {
        "preview": timed(["pulumi", "preview", *common], folder, environment),
        "up": timed(["pulumi", "up", "--yes", "--skip-preview", *common], folder, environment),
        "again": timed(["pulumi", "up", "--yes", "--skip-preview", *common], folder, environment),
    }


def main() -> None:
    """Measure everything and print the table."""
    home = Path(tempfile.mkdtemp(prefix="trainyard-bench-"))
    environment = {**os.environ, "TRAINYARD_HOME": str(home / "target"), "CI": "true"}
    yard = str(YARD)
    try:
        target = timed([yard, "local", "up"], ROOT, environment)
        preview_local = timed([yard, "preview", "local"], ROOT, environment)
        deploy = timed([yard, "up", "local"], ROOT, environment)
        again = timed([yard, "up", "local"], ROOT, environment)
        prod = timed([yard, "preview", "prod", "--target", "embedded"], ROOT, environment)
        variables = shell(environment, "local")
        resources = count(variables)
        alone = bare(resources, home / "bare", variables)
        destroy = timed([yard, "down", "local"], ROOT, environment)
    finally:
        subprocess.run([yard, "local", "down"], cwd=ROOT, env=environment, check=False)  # noqa: S603 - our own command
        shutil.rmtree(home, ignore_errors=True)
    rows = [
        ("embedded target from nothing", target, None),
        (f"preview of local, {resources} resources, policies", preview_local, alone["preview"]),
        ("deploy of local from nothing, both gates", deploy, alone["up"]),
        ("update of local without a change", again, alone["again"]),
        ("preview of prod, 8,192 GPUs", prod, None),
        ("destroy of local", destroy, None),
    ]
    print(f"{'what':52} {'seconds':>8} {'bare':>8} {'ratio':>6}")
    for what, seconds, base in rows:
        compared = f"{base:8.1f} {seconds / base:6.2f}" if base else ""
        print(f"{what:52} {seconds:8.1f} {compared}")


if __name__ == "__main__":
    main()
