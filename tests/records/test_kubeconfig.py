from pathlib import Path

import pytest

from scripts.errors import UsageError
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
