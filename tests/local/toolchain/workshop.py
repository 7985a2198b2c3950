"""A workshop without Go: the real data, a fake ``go`` that records its calls, an own cache."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from scripts.local.toolchain.places import Places

SOURCE = Path(__file__).parents[3] / "scripts" / "local" / "toolchain"

FAKE_GO = """\
#!/bin/sh
echo "$@" >> {home}/calls
case "$1 $2" in
  "env GOVERSION") echo {version} ;;
  "env GOPROXY") echo https://user:secret@proxy.example,direct ;;
  "list -deps"|"mod download")
    if [ -e {home}/refusal ]; then cat {home}/refusal >&2; exit 1; fi ;;
  "list -m") eval module=\\${{$#}}; echo "{home}/modules/$module" ;;
  build*)
    while [ -e {home}/slow ]; do sleep 0.05; done
    while [ "$1" != -o ]; do shift; done
    target=$2; shift 2
    for package in "$@"; do
      if [ -e "{home}/broken-$(basename "$package")" ]; then
        echo "go: downloading example.com/module v1.0.0" >&2
        echo "$package: syntax error" >&2; exit 1
      fi
      case $target in */) file=$target$(basename "$package") ;; *) file=$target ;; esac
      echo "made by $package" > "$file"; chmod +x "$file"
    done ;;
esac
"""

MODULE_FILES = {
    "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python-exec": "print('run')\n",
    "sigs.k8s.io/kueue/config/components/crd/bases/one.yaml": "kind: One\n",
    "sigs.k8s.io/kueue/charts/kueue/Chart.yaml": "name: kueue\n",
    "github.com/kubeflow/mpi-operator/manifests/base/cluster-role.yaml": "kind: ClusterRole\n",
    "sigs.k8s.io/kwok/kustomize/crd/bases/stage.yaml": "kind: Stage\n",
    "sigs.k8s.io/kwok/kustomize/stage/node/fast.yaml": "kind: Fast\n",
    (
        "github.com/pulumi/pulumi-kubernetes/provider/v4/cmd/pulumi-resource-kubernetes/schema.json"
    ): '{"name": "kubernetes"}',
    (
        "github.com/pulumi/pulumi-kubernetes/provider/v4/"
        "cmd/pulumi-resource-kubernetes/terraform-mapping.json"
    ): "{}",
}


class FakeWorkshop:
    """Folders below one temporary folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "path"
        self.source = home / "source"
        shutil.copytree(SOURCE, self.source, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        for name, text in MODULE_FILES.items():
            file = home / "modules" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o444)

    def program(self, name: str, text: str, folder: Path | None = None) -> Path:
        """Put an executable on PATH, or into another folder."""
        file = (folder or self.path) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
        return file

    def go(self, version: str = "go1.26.8", folder: Path | None = None) -> Path:
        """Put the fake Go on PATH."""
        return self.program("go", FAKE_GO.format(home=self.home, version=version), folder)

    def places(self, *, cpus: int = 2, **environment: str) -> Places:
        """Return the places of a caller in this workshop."""
        base = {"PATH": f"{self.path}:{os.defpath}", "HOME": str(self.home)}
        return replace(
            Places(cache=self.home / "cache"),
            source=self.source,
            environment={**base, **environment},
            python=sys.executable,
            cpus=cpus,
        )

    def flag(self, name: str, text: str = "") -> Path:
        """Set a switch of the fake Go."""
        file = self.home / name
        file.write_text(text)
        return file

    def calls(self, start: str = "") -> list[str]:
        """Return the recorded calls that start with ``start``."""
        file = self.home / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in lines if line.startswith(start)]

    def built(self) -> list[str]:
        """Return the last word of each ``go build``: the package it was for."""
        return [line.split()[-1] for line in self.calls("build")]
