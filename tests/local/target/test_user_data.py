import base64

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scripts.local.target.user_data import NodeConfig, UserData, UserDataError, read


def mime(*parts: tuple[str, str]) -> str:
    """Write user data of several parts as a launch template holds it."""
    lines = ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="B"', ""]
    for kind, text in parts:
        lines += ["--B", f"Content-Type: {kind}", "", text]
    return base64.b64encode("\n".join([*lines, "--B--", ""]).encode()).decode()


def config(**spec: object) -> tuple[str, str]:
    document = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    return "application/node.eks.aws", yaml.safe_dump(document)


def kubelet(**said: object) -> tuple[str, str]:
    return config(kubelet={"config": said})


CLUSTER = ("name", "apiServerEndpoint", "certificateAuthority", "cidr")


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_user_data_says_nothing(nothing: str | None) -> None:
    assert read(nothing) == UserData()


def test_a_script_says_nothing_of_the_kubelet() -> None:
    script = ("text/x-shellscript", "#!/bin/bash\nsysctl -w vm.nr_hugepages=5128\n")
    assert read(mime(script)) == UserData(NodeConfig(), 5128)


def test_a_script_of_its_own_is_read_too() -> None:
    script = base64.b64encode(b"#!/bin/bash\nsysctl -w vm.nr_hugepages = 12\n").decode()
    assert read(script).huge_pages == 12


def test_what_stands_in_the_configuration_is_no_script() -> None:
    assert read(mime(config(note="vm.nr_hugepages=7"))).huge_pages == 0


def test_several_configurations_are_laid_over_each_other() -> None:
    cluster = {"name": "demo", "apiServerEndpoint": "https://x", "cidr": "172.20.0.0/16"}
    read_ = read(
        mime(
            config(cluster=cluster, kubelet={"config": {"maxPods": 10, "systemReserved": {}}}),
            config(cluster={"certificateAuthority": "Y2E="}),
            kubelet(maxPods=62, systemReserved={"cpu": "500m"}),
        )
    )
    assert read_.config == NodeConfig(max_pods=62, system_cpu_millis=500, not_told=())


@pytest.mark.parametrize(
    ("strategy", "local"),
    [("RAID0", True), ("RAID10", True), ("Mount", False), (None, False)],
)
def test_only_a_raid_makes_the_drives_the_node_s_storage(
    strategy: str | None, *, local: bool
) -> None:
    storage = {"strategy": strategy} if strategy else {}
    assert read(mime(config(instance={"localStorage": storage}))).config.local_storage is local


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ({"cpu": "1", "memory": "4Gi"}, (1000, 4096)),
        ({"cpu": 2, "memory": "512Mi"}, (2000, 512)),
        ({"cpu": "250m", "memory": "1073741824"}, (250, 1024)),
        ({"cpu": "0.5"}, (500, 0)),
    ],
)
def test_amounts_are_read_as_kubernetes_writes_them(
    amounts: dict[str, object], expected: tuple[int, int]
) -> None:
    found = read(mime(kubelet(systemReserved=amounts))).config
    assert (found.system_cpu_millis, found.system_memory_mib) == expected


def test_what_is_kept_for_kubernetes_is_the_image_s_rule_where_it_is_not_said() -> None:
    found = read(mime(kubelet(kubeReserved={"memory": "2Gi"}))).config
    assert (found.kube_cpu_millis, found.kube_memory_mib) == (None, 2048)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (("application/node.eks.aws", "kind: ["), None),
        (("application/node.eks.aws", "kind: 2026-13-45"), None),
        (kubelet(maxPods=True), "maxPods is True, not a whole number above zero"),
        (
            ("application/node.eks.aws", "kind: Pod"),
            "the part for nodeadm is no object of kind NodeConfig",
        ),
        (
            ("application/node.eks.aws", "text"),
            "the part for nodeadm is no object of kind NodeConfig",
        ),
        (kubelet(maxPods="many"), "maxPods is 'many', not a whole number above zero"),
        (kubelet(maxPods=0), "maxPods is 0, not a whole number above zero"),
        (kubelet(systemReserved="1"), "systemReserved is '1', not an object"),
        (kubelet(systemReserved={"cpu": "much"}), "'much' is no amount"),
        (kubelet(systemReserved={"cpu": "1Gi"}), "'1Gi' is no amount of cores"),
        (kubelet(systemReserved={"memory": "100m"}), "'100m' is no amount of memory"),
    ],
)
def test_a_configuration_that_nodeadm_could_not_use_is_a_defect(
    part: tuple[str, str], message: str | None
) -> None:
    with pytest.raises(UserDataError) as caught:
        read(mime(part))
    assert str(caught.value).startswith("NodeConfig is not YAML: ") or str(caught.value) == message


def outcome(encoded: str) -> UserData | str:
    try:
        return read(encoded)
    except UserDataError as error:
        return str(error)


@given(st.binary())
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    assert outcome(base64.b64encode(content).decode())


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text("0123456789mMGi.", max_size=6))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *("kubelet", "config", "maxPods", "systemReserved", "kubeReserved"),
                    *("cpu", "memory", "instance", "localStorage", "strategy", "cluster"),
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@given(TREES)
def test_any_configuration_is_read_or_refused(spec: object) -> None:
    document = {"kind": "NodeConfig", "spec": spec}
    assert outcome(mime(("application/node.eks.aws", yaml.safe_dump(document))))
