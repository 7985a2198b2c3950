import pytest

from components.inference import InferenceConfig, rollout
from components.settings import parse
from tests.support.engine import Engine
from tests.support.stacks import declared

IMAGE = "registry.example.com/serving@sha256:" + "0" * 64


@pytest.fixture(scope="module")
def site() -> Engine:
    return declared("local")


@pytest.mark.parametrize(
    ("replicas", "each", "there", "surge", "missing"),
    [(1, 8, 8, 0, 1), (2, 4, 8, 0, 1), (2, 4, 11, 0, 1), (2, 4, 12, 1, 0), (1, 1, 16, 1, 0)],
)
def test_a_rollout_starts_a_pod_first_only_when_there_are_gpus_for_it(
    replicas: int, each: int, there: int, surge: int, missing: int
) -> None:
    config = parse(
        InferenceConfig,
        {"name": "chat", "image": IMAGE, "pool": "p", "replicas": replicas, "gpus_each": each},
        "test",
    )
    assert rollout(config, there) == {
        "type": "RollingUpdate",
        "rolling_update": {"max_surge": surge, "max_unavailable": missing},
    }


def test_the_service_waits_for_every_gate(site: Engine) -> None:
    waits = site.dependencies[site.urn("inference", "Deployment")]
    assert site.urn("acceptance-train-1", "Command") in waits
    assert site.urn("acceptance-train-2", "Command") in waits


def test_the_pod_has_three_probes_and_time_to_load(site: Engine) -> None:
    [container] = site.only("Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["startupProbe"]["failureThreshold"] * 10 == 900
    assert container["readinessProbe"]["httpGet"]["path"] == "/health"
    assert "livenessProbe" in container


def test_the_service_is_reached_from_inside_only(site: Engine) -> None:
    assert site.only("Service")["spec"]["type"] == "ClusterIP"
