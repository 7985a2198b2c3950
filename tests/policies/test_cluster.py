from typing import Any

import pytest

from rules import types
from rules.cluster import CLUSTER as RULE
from tests.policies.bags import CLUSTER
from tests.policies.support import UNKNOWN, analyze, messages

WAY_OUT = "set vpcConfig.endpointPublicAccess to false, or name the sites that need it"
PRIVATE = "vpcConfig.endpointPrivateAccess is not true; set it, nodes reach the API by it"
ANYONE = f"the API endpoint is open to every address (EKS's default); {WAY_OUT}"
SECRETS = "encryptionConfig does not name 'secrets'; add it with a KMS key"
MODE = "accessConfig.authenticationMode is not 'API'; set it, and grant by access entries"
CREATOR = (
    "accessConfig.bootstrapClusterCreatorAdminPermissions is not false, so whoever creates the "
    "cluster stays its administrator; set it at creation, a later change replaces the cluster"
)


def network(**settings: object) -> dict[str, Any]:
    return {"vpcConfig": {"endpointPrivateAccess": True, **settings}}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        (network(), [ANYONE]),
        (network(endpointPublicAccess=True), [ANYONE]),
        (network(endpointPublicAccess=UNKNOWN), [ANYONE]),
        (network(publicAccessCidrs=["52.1.2.0/24"]), []),
        (
            network(publicAccessCidrs=["0.0.0.0/1", "128.0.0.0/1", "52.1.2.0/24", UNKNOWN]),
            [
                (
                    "vpcConfig.publicAccessCidrs[0] opens the API endpoint to the public range "
                    f"0.0.0.0/1; {WAY_OUT}"
                ),
                (
                    "vpcConfig.publicAccessCidrs[1] opens the API endpoint to the public range "
                    f"128.0.0.0/1; {WAY_OUT}"
                ),
                "vpcConfig.publicAccessCidrs[3] is not known at preview; take it from settings",
            ],
        ),
        ({"vpcConfig": {}}, [PRIVATE, ANYONE]),
        ({"vpcConfig": {"endpointPublicAccess": False}}, [PRIVATE]),
        ({"vpcConfig": UNKNOWN}, [PRIVATE, ANYONE]),
        ({"encryptionConfig": None}, [SECRETS]),
        ({"encryptionConfig": [{"resources": ["secrets"]}]}, []),
        ({"encryptionConfig": {"resources": ["pods"]}}, [SECRETS]),
        ({"encryptionConfig": UNKNOWN}, [SECRETS]),
        (
            {"enabledClusterLogTypes": ["api"]},
            ["enabledClusterLogTypes lacks audit, authenticator; add them"],
        ),
        (
            {"enabledClusterLogTypes": UNKNOWN},
            ["enabledClusterLogTypes lacks api, audit, authenticator; add them"],
        ),
        ({"accessConfig": None}, [MODE, CREATOR]),
        (
            {
                "accessConfig": {
                    "authenticationMode": "API_AND_CONFIG_MAP",
                    "bootstrapClusterCreatorAdminPermissions": False,
                }
            },
            [MODE],
        ),
        ({"accessConfig": {"authenticationMode": "API"}}, [CREATOR]),
    ],
)
def test_what_a_closed_control_plane_needs(change: dict[str, Any], expected: list[str]) -> None:
    bag = {key: value for key, value in {**CLUSTER, **change}.items() if value is not None}
    violations = analyze(types.EKS_CLUSTER, bag, policies=[RULE])
    assert messages(violations) == [f"it ({types.EKS_CLUSTER}): {text}" for text in expected]
    assert {violation.level for violation in violations} <= {"MANDATORY"}


def test_the_config_map_of_old_clusters_is_refused() -> None:
    kind = types.KUBERNETES_CONFIG_MAP
    bag = {"metadata": {"name": "aws-auth", "namespace": "kube-system"}}
    assert messages(analyze(kind, bag, policies=[RULE])) == [
        (
            f"it ({kind}): the aws-auth ConfigMap grants access past the access entries; "
            "use access entries"
        )
    ]
