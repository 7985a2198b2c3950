from pathlib import Path

import pytest

from scripts.deploy.targets import choose

NO_CREDENTIALS: dict[str, str] = {}
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE"}

EMBEDDED_FOR_WANT = (
    "stack prod runs on the embedded target: this shell has no AWS credentials "
    "(a simulated AWS API, nothing in the cloud is read or changed)"
)


@pytest.mark.parametrize(
    ("stack", "wanted", "environment", "expected"),
    [
        (
            "local",
            "aws",
            KEYS,
            ("embedded", "stack local always runs on the embedded target of this machine"),
        ),
        ("prod", "embedded", KEYS, ("embedded", "stack prod runs on embedded, as asked")),
        ("prod", "aws", NO_CREDENTIALS, ("aws", "stack prod runs on aws, as asked")),
        ("prod", "auto", NO_CREDENTIALS, ("embedded", EMBEDDED_FOR_WANT)),
        (
            "prod",
            "auto",
            KEYS,
            ("aws", "stack prod runs on AWS with the credentials of this shell"),
        ),
    ],
)
def test_a_stack_runs_where_its_name_the_flag_and_the_credentials_say(
    tmp_path: Path,
    stack: str,
    wanted: str,
    environment: dict[str, str],
    expected: tuple[str, str],
) -> None:
    assert choose(stack, wanted, environment, tmp_path) == expected


def test_an_aws_profile_file_counts_as_credentials(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").touch()
    assert choose("dev", "auto", NO_CREDENTIALS, tmp_path)[0] == "aws"
