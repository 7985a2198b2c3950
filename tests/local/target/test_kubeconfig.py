import base64
from pathlib import Path

import yaml

from scripts.local.target.kubeconfig import client_kubeconfig, webhook_kubeconfig
from scripts.local.target.pki import Pki


def test_a_client_logs_in_with_its_certificate(tmp_path: Path) -> None:
    for name in ("ca.crt", "admin.crt", "admin.key"):
        (tmp_path / name).write_text(name)
    content = yaml.safe_load(client_kubeconfig("https://127.0.0.1:1", Pki(tmp_path), "admin"))
    assert content["current-context"] == "trainyard-embedded"
    assert content["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": base64.b64encode(b"ca.crt").decode(),
    }
    assert content["users"] == [
        {
            "name": "admin",
            "user": {
                "client-certificate-data": base64.b64encode(b"admin.crt").decode(),
                "client-key-data": base64.b64encode(b"admin.key").decode(),
            },
        }
    ]


def test_tokens_are_reviewed_at_the_simulator() -> None:
    content = yaml.safe_load(webhook_kubeconfig("http://127.0.0.1:1/trainyard/token-review"))
    assert content["clusters"][0]["cluster"] == {
        "server": "http://127.0.0.1:1/trainyard/token-review"
    }
    assert content["users"] == [{"name": "kube-apiserver", "user": {}}]
