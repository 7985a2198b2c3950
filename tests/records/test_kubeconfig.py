from pathlib import Path

import pytest

from scripts.errors import UsageError
from scripts.records import kubeconfig
from scripts.records.kubeconfig import read_kubeconfig
from tests.records.api import KUBECONFIG


def test_a_kubeconfig_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    assert read_kubeconfig(str(file)).get() is not None


def test_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_kubeconfig(str(tmp_path / "none"))
    assert str(caught.value) == (
        f"kubeconfig '{tmp_path}/none' cannot be read: [Errno 2] No such file or directory: "
        f"'{tmp_path}/none'"
    )


@pytest.mark.parametrize("text", ["", "[]", "a: [", "canary-token", '{"clusters": []}'])
def test_what_is_none_is_refused_without_quoting_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_kubeconfig(str(file))
    assert str(caught.value).startswith(f"kubeconfig '{file}' ")
    assert "canary" not in str(caught.value)


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a pod's environment, and the folder in which its service account would be."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "172.20.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(kubeconfig, "ACCOUNT", tmp_path / "account")
    return tmp_path / "account"


def test_a_pod_speaks_to_its_own_cluster_by_its_service_account(account: Path) -> None:
    account.mkdir()
    (account / "token").write_text("canary-token")
    (account / "namespace").write_text("trainyard-gate")
    chosen = read_kubeconfig("in-cluster").get()
    assert chosen is not None
    assert chosen.user is not None
    assert chosen.cluster.server == "https://172.20.0.1:443"
    assert chosen.cluster.certificate_auth == f"{account}/ca.crt"
    assert (chosen.namespace, chosen.user.token) == ("trainyard-gate", "canary-token")


def test_a_pod_without_a_token_is_told_what_it_lacks(account: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_kubeconfig("in-cluster")
    assert str(caught.value) == (
        f"kubeconfig 'in-cluster': the pod has no token of a service account in {account} "
        "(ConfigError); set automountServiceAccountToken, and serviceAccountName"
    )


def test_outside_a_pod_there_is_no_cluster_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(UsageError) as caught:
        read_kubeconfig("in-cluster")
    assert str(caught.value) == (
        "kubeconfig 'in-cluster' is for a pod, and this is none: KUBERNETES_SERVICE_HOST is not "
        "set; give a kubeconfig file, or - for standard input"
    )
