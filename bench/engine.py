"""What Trainyard costs on top of the bare engine, measured in one run.

Starts an embedded target in a folder of its own, deploys stack local from nothing, updates it
without a change, and previews stack prod. Beside these stands a program that registers the very
resources of stack local, with the inputs that stand in its state, from a list: no settings, no
layers, no policies. It runs twice: alone, and with the classes of the SDKs that a Python program
for these resources imports. The second is what program and policies are held against (at most half
again); the first tells what the SDKs cost. Judge by the ratios, because machines are noisy. Takes
about six minutes on two cores.

    .venv/bin/python bench/engine.py
"""

import json
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

REPLAY = """
import importlib
import json
import os

import pulumi

made = {}


def load(kind):
    # Import the class of a kind, as a program that names it does.
    package, module, name = kind.split(":")
    group, version = (module.split("/") + [""])[:2]
    parts = [group.split(".")[0]] + ([version] if package == "kubernetes" else [])
    place = importlib.import_module(".".join(["pulumi_" + package, *parts]))
    getattr(place, name)


def options(entry):
    provider = entry.get("provider", "").rpartition("::")[0]
    return pulumi.ResourceOptions(
        parent=made.get(entry.get("parent")),
        provider=made.get(provider),
        depends_on=[made[urn] for urn in entry.get("dependencies") or () if urn in made],
        protect=entry.get("protect"),
    )


for entry in json.load(open("resources.json")):
    kind, name = entry["type"], entry["urn"].rpartition("::")[2]
    props = {key: value for key, value in entry.get("inputs", {}).items() if key[:2] != "__"}
    provider = kind.startswith("pulumi:providers:")
    if kind == "pulumi:pulumi:Stack" or provider and name[:7] == "default":
        continue
    if provider:
        resource = pulumi.ProviderResource(kind.rpartition(":")[2], name, props, options(entry))
    elif entry["custom"]:
        if os.environ.get("BENCH_SDK") and kind.split(":")[0] in ("aws", "command", "kubernetes"):
            try:
                load(kind)
            except (ImportError, AttributeError):
                pass  # a custom resource of Kubernetes has no class
        resource = pulumi.CustomResource(kind, name, props, options(entry))
    else:
        resource = pulumi.ComponentResource(kind, name, None, options(entry))
        resource.register_outputs({})
    made[entry["urn"]] = resource
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
    # Plain pulumi writes its salt into the stack file; the repository's stays as it is.
    copy = Path(environment["TRAINYARD_HOME"]) / f"Pulumi.{stack}.yaml"
    shutil.copyfile(ROOT / copy.name, copy)
    script = f'eval "$({shlex.quote(str(YARD))} local env --stack {stack})" && env -0'
    listed = subprocess.run(  # noqa: S603 - the command stands here
        ["/bin/sh", "-c", script],
        cwd=ROOT,
        env=dict(environment),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    given = dict(entry.split("=", 1) for entry in listed.split("\0") if "=" in entry)
    return {**given, "PULUMI_OPTION_CONFIG_FILE": str(copy)}


def resources(environment: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the resources of stack local, in the order in which they were made."""
    exported = subprocess.run(
        ["pulumi", "stack", "export", "--stack", "local", "--show-secrets"],  # noqa: S607 - found on the PATH that yard gives
        cwd=ROOT,
        env=dict(environment),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found: list[dict[str, object]] = json.loads(exported)["deployment"]["resources"]
    return found


def replayed(listed: object, folder: Path, environment: Mapping[str, str]) -> dict[str, float]:
    """Measure the engine with a list of the same resources: unchanged, and as if nothing were."""
    folder.mkdir()
    options = f"  options:\n    virtualenv: {ROOT / '.venv'}\n"
    (folder / "Pulumi.yaml").write_text(f"name: trainyard\nruntime:\n  name: python\n{options}")
    (folder / "__main__.py").write_text(REPLAY)
    (folder / "resources.json").write_text(json.dumps(listed))
    common = ["--non-interactive", "--stack"]
    bare = timed(["pulumi", "preview", *common, "local"], folder, environment)
    sdk = {"BENCH_SDK": "1"}
    again = timed(["pulumi", "preview", *common, "local"], folder, {**environment, **sdk})
    own = {k: v for k, v in environment.items() if k != "PULUMI_OPTION_CONFIG_FILE"}
    timed(["pulumi", "stack", "init", "empty", "--non-interactive"], folder, own)
    fresh = timed(["pulumi", "preview", *common, "empty"], folder, {**own, **sdk})
    return {"again": again, "fresh": fresh, "without the SDKs": bare}


def main() -> None:
    """Measure everything and print the table."""
    home = Path(tempfile.mkdtemp(prefix="trainyard-bench-"))
    environment = {**os.environ, "TRAINYARD_HOME": str(home / "target"), "CI": "true"}
    yard = str(YARD)
    try:
        target = timed([yard, "local", "up"], ROOT, environment)
        variables = shell(environment, "local")
        judged = ["--policy-pack", "policies", "--non-interactive"]
        preview = ["pulumi", "preview", "--stack", "local", *judged]
        timed([yard, "preview", "local"], ROOT, environment)
        fresh = timed(preview, ROOT, variables)
        deploy = timed([yard, "up", "local"], ROOT, environment)
        again = timed([yard, "up", "local"], ROOT, environment)
        unchanged = timed(preview, ROOT, variables)
        prod = timed([yard, "preview", "prod", "--target", "embedded"], ROOT, environment)
        listed = resources(variables)
        bare = replayed(listed, home / "replay", variables)
        destroy = timed([yard, "down", "local"], ROOT, environment)
    finally:
        subprocess.run([yard, "local", "down"], cwd=ROOT, env=environment, check=False)  # noqa: S603 - our own command
        shutil.rmtree(home, ignore_errors=True)
    rows = [
        ("embedded target from nothing", target, None),
        (f"engine, first preview of local, {len(listed)} resources", fresh, bare["fresh"]),
        ("engine, preview of local without a change", unchanged, bare["again"]),
        ("… against a list without the SDKs", unchanged, bare["without the SDKs"]),
        ("deploy of local from nothing, both gates", deploy, None),
        ("update of local without a change", again, None),
        ("preview of prod, 8,192 GPUs", prod, None),
        ("destroy of local", destroy, None),
    ]
    print(f"{'what':52} {'seconds':>8} {'bare':>8} {'ratio':>6}")
    for what, seconds, base in rows:
        compared = f"{base:8.1f} {seconds / base:6.2f}" if base else ""
        print(f"{what:52} {seconds:8.1f} {compared}")


if __name__ == "__main__":
    main()
