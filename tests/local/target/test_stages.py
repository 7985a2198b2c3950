from pathlib import Path

import yaml

from scripts.local.target.stages import STAGES, kwok_configuration


def test_kwok_plays_its_own_stages_and_lets_a_jobs_pod_run_for_a_second(tmp_path: Path) -> None:
    for name in STAGES:
        path = tmp_path / "kustomize" / "stage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"metadata": {"name": path.stem}, "spec": {"next": {}}}))
    options, *stages = yaml.safe_load_all(kwok_configuration(tmp_path))
    assert options["options"] == {
        "nodeLeaseParallelism": 16,
        "nodePlayStageParallelism": 16,
        "podPlayStageParallelism": 16,
    }
    assert {stage["metadata"]["name"]: stage["spec"] for stage in stages} == {
        "node-initialize": {"next": {}},
        "node-heartbeat-with-lease": {"next": {}},
        "pod-ready": {"next": {}},
        "pod-complete": {"next": {}, "delay": {"durationMilliseconds": 1000}},
        "pod-delete": {"next": {}},
    }
