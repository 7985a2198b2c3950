import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.config.cli import config
from scripts.config.schema import schema
from scripts.config.stack_file import load
from scripts.errors import UsageError
from tests.support.stacks import ROOT, STACKS


def check(*arguments: str) -> tuple[str, str]:
    """Run ``yard config check``; return its output and the message it ended with."""
    done = CliRunner().invoke(config, ["check", *arguments])
    if done.exception is None:
        return done.output, ""
    assert isinstance(done.exception, UsageError)
    return done.output, str(done.exception)


@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_of_the_repository_passes(stack: str) -> None:
    file = ROOT / f"Pulumi.{stack}.yaml"
    gap = (
        "  pools.0.capacity: not checked, whether the reservation is in use1-az4 and holds 1024 "
        "p5.48xlarge\n"
    )
    gaps = gap if stack == "prod" else ""
    assert check(str(file)) == (f"{file}: nothing to fix\n{gaps}", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "config: {trainyard:site: {owner: 1}}\nconfg: 1\n",
            (
                "confg: is not a part of a stack file; known are config, encryptedkey, "
                "encryptionsalt, environment, secretsprovider"
            ),
        ),
        ("", "(whole file): has no trainyard:site under config; write the site's settings there"),
        (
            "config: 3",
            "(whole file): has no trainyard:site under config; write the site's settings there",
        ),
        (
            "config:\n  trainyard:site:\n    owner: a\n    owner: b\n",
            (
                "(whole file): is not YAML at line 4, column 5: the key owner stands twice; mend "
                "that line first"
            ),
        ),
        (
            "config: [",
            (
                "(whole file): is not YAML at line 1, column 10: expected the node content, but "
                "found '<stream end>'; mend that line first"
            ),
        ),
        (
            "config: {trainyard:site: {secure: AAABAK}}",
            (
                "(whole file): holds a secret; settings hold none, so keep its value in Secrets "
                "Manager"
            ),
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_told_where(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "Pulumi.it.yaml"
    file.write_text(text)
    _, message = check(str(file))
    assert f"  {problem}" in message.splitlines()


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    _, message = check(str(tmp_path / "Pulumi.gone.yaml"))
    assert message.splitlines() == [
        "Pulumi.gone.yaml: 1 to fix, nothing was changed",
        "  (whole file): cannot be read (No such file or directory); give the path of a stack file",
    ]


def test_json_names_the_problems_by_their_path(tmp_path: Path) -> None:
    text = (ROOT / "Pulumi.local.yaml").read_text().replace("owner: platform", "owner: 5")
    file = tmp_path / "Pulumi.local.yaml"
    file.write_text(text)
    output, message = check(str(file), "--json")
    assert json.loads(output) == [
        {
            "file": str(file),
            "problems": [{"path": "owner", "text": "is the number 5; write a text in quotes"}],
            "unchecked": [],
        }
    ]
    assert message


def test_what_was_not_checked_is_said_aloud(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.local.yaml"
    text = (
        (ROOT / "Pulumi.local.yaml").read_text().replace("region: us-east-1", "region: eu-west-1")
    )
    file.write_text(text)
    output, _ = check(str(file))
    assert output.splitlines()[1].strip() == (
        "pools.0.zone: not checked, the catalog does not know where p5.48xlarge is sold in "
        "eu-west-1; `yard catalog verify` asks EC2"
    )


def test_the_committed_schema_is_the_one_of_the_models() -> None:
    committed = json.loads((ROOT / "schema/site.schema.json").read_text())
    assert committed == schema(), "run: yard config schema > schema/site.schema.json"


def test_every_setting_has_a_description() -> None:
    definitions = schema()["$defs"] | {
        "site": schema()["properties"]["config"]["properties"]["trainyard:site"]
    }
    silent = [
        f"{section}.{key}"
        for section, model in definitions.items()
        for key, setting in model.get("properties", {}).items()
        if "description" not in setting and "$ref" not in setting
    ]
    assert silent == []


def test_settings_that_replace_what_is_there_say_so() -> None:
    pool = schema()["$defs"]["PoolConfig"]["properties"]
    assert pool["zone"]["x-change"] == "replaces what is there"
    assert "x-change" not in pool["waves"]


def test_a_stack_file_is_loaded_as_settings() -> None:
    assert load(ROOT / "Pulumi.prod.yaml").pools[0].nodes == 1024
