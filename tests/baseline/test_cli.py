import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lightkube import Client

from scripts.baseline import cli
from scripts.baseline.store import SHELF, BaselineStore
from scripts.errors import UsageError
from scripts.records import kubeconfig
from scripts.verdicts import Verdict
from tests.baseline.fake import MemoryBucket
from tests.baseline.make import SETTING, days, run, stack, three
from tests.records.api import KUBECONFIG, ConfigMapApi

WHAT = "all_reduce float sum -1 on 14 nodes x 8 of p5.48xlarge in use1-az4 (one layer 2)"

PROMOTE = "yard baseline promote"

Run = Callable[..., Result]


@pytest.fixture
def api() -> ConfigMapApi:
    return ConfigMapApi()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> MemoryBucket:
    made = MemoryBucket()

    def opened(url: str) -> MemoryBucket:
        assert url == "s3://records/x"
        return made

    monkeypatch.setattr(cli, "open_bucket", opened)
    return made


@pytest.fixture
def invoke(api: ConfigMapApi, monkeypatch: pytest.MonkeyPatch) -> Run:
    def client(config: object, namespace: str) -> Client:
        assert (config is not None, namespace) == (True, "trainyard-gate")
        return api.client()

    monkeypatch.setattr(kubeconfig, "Client", client)
    monkeypatch.setenv("USER", "operator")

    def invoked(*words: str) -> Result:
        return CliRunner().invoke(cli.baseline, [*words, "--kubeconfig", "-"], input=KUBECONFIG)

    return invoked


@pytest.fixture
def store(api: ConfigMapApi) -> BaselineStore:
    made = BaselineStore(api.shelf(SHELF))
    for each in three():
        made.keep(SETTING, each)
    return made


def test_an_empty_index_says_so(invoke: Run) -> None:
    assert invoke("list").output == "nothing was measured yet: a gate keeps each of its runs here\n"
    assert json.loads(invoke("list", "--json").output) == []


@pytest.mark.usefixtures("store")
def test_settings_are_listed_with_their_runs_and_baselines(invoke: Run) -> None:
    lines = invoke("list").output.splitlines()
    assert lines[0].split() == ["ID", "Setting", "NCCL", "Driver", "Runs", "Latest", "Baseline"]
    assert lines[1].split()[0] == SETTING.id
    assert lines[1].split()[-1] == "none"
    invoke("promote", SETTING.id, "--reason", "good")
    assert ", 362 GB/s at 16 GiB" in invoke("list").output.splitlines()[1]
    [brief] = json.loads(invoke("list", "--json").output)
    assert (brief["runs"], brief["latest"], brief["gaps"]) == (3, "r3.r0.r3xxxx", [])
    assert brief["baseline"]["by"] == "operator"
    assert json.loads(invoke("list", "--json", "--type", "p4d.24xlarge").output) == []


@pytest.mark.usefixtures("store")
def test_a_promotion_is_told_and_shown_with_who_and_why(invoke: Run) -> None:
    assert "no baseline was promoted" in invoke("show", SETTING.id[:6]).output
    result = invoke("promote", SETTING.id[:6], "--reason", "first good wave", "--by", "me")
    told = result.output.splitlines()
    assert told[0] == "promoted"
    assert told[1].endswith(", 362 GB/s at 16 GiB, by me: first good wave")
    assert told[2] == "  rests on r1.r0.r1xxxx, r2.r0.r2xxxx, r3.r0.r3xxxx"
    shown = invoke("show", SETTING.id).output.splitlines()
    assert shown[0] == f"{SETTING.id}: {WHAT}"
    assert shown[1] == "flags: iterations=20 warmup=5"
    assert shown[2].startswith("stack: image sha256:0000")
    assert shown[3] == "run r1.r0.r1xxxx 2026-12-01 08:00 pass (sha256:r1xxxxxxxxxx)"
    assert shown[-2:] == told[1:]
    assert json.loads(invoke("show", SETTING.id, "--json").output)["promotions"][0]["by"] == "me"


def test_a_slower_baseline_is_refused_and_what_was_forced_is_shown(
    invoke: Run, store: BaselineStore
) -> None:
    invoke("promote", SETTING.id, "--reason", "first")
    words: list[str] = []
    for n in range(3):
        slow = run(f"s{n}", scale=0.97 + n / 1000, at=days(n + 1))
        store.keep(SETTING, slow)
        words += ["--run", slow.id]
    refused = invoke("promote", SETTING.id, "--reason", "why not", *words)
    assert isinstance(refused.exception, UsageError)
    assert str(refused.exception).startswith(
        f"no baseline for {WHAT}: it is slower than the baseline of "
    )
    forced = invoke("promote", SETTING.id, "--reason", "two switches less", "--force", *words)
    assert forced.exit_code == 0
    assert "  overruled: it is slower than the baseline of " in forced.output
    assert "  overruled: " in invoke("show", SETTING.id).output


@pytest.mark.parametrize(
    ("scales", "named", "code", "start"),
    [
        ([1.0], 0, 0, "pass: x0.r0.x0xxxx: as fast as its baseline"),
        ([0.8], 0, 3, "unknown: x0.r0.x0xxxx: 257.6 GB/s at 1 GiB, 20.0% below 322; "),
        ([0.8, 0.8], 2, 1, "fail: x0.r0.x0xxxx and x1.r0.x1xxxx: 257.6 GB/s at 1 GiB"),
        ([0.8, 1.0], 2, 0, "pass: x0.r0.x0xxxx and x1.r0.x1xxxx: 257.6 GB/s"),
    ],
)
def test_a_run_is_compared_and_the_verdict_is_the_exit_code(
    invoke: Run, store: BaselineStore, scales: list[float], named: int, code: int, start: str
) -> None:
    invoke("promote", SETTING.id, "--reason", "first")
    words: list[str] = []
    for n, scale in enumerate(scales):
        made = run(f"x{n}", scale=scale, at=days(n + 1))
        store.keep(SETTING, made)
        words += ["--run", made.id]
    result = invoke("compare", SETTING.id, *words[: 2 * named])
    assert (result.exit_code, result.output[: len(start)]) == (code, start)
    report = json.loads(invoke("compare", SETTING.id, *words[: 2 * named], "--json").output)
    assert report["verdict"] in start
    assert report["runs"] == [f"x{n}.r0.x{n}xxxx" for n in range(max(named, 1))]


@pytest.mark.parametrize(
    ("verdicts", "scales", "code", "compared"),
    [
        ([Verdict.PASS, Verdict.PASS], [0.8, 0.8], 1, ["g.w2.gxxxxx", "g.r1.gxxxxx"]),
        ([Verdict.FAIL, Verdict.PASS], [0.5, 1.0], 0, ["g.r1.gxxxxx"]),
        ([Verdict.FAIL, Verdict.FAIL], [0.5, 0.5], 1, ["g.r1.gxxxxx"]),
    ],
)
def test_without_a_run_it_is_what_the_latest_gate_passed_by_and_its_rerun(
    invoke: Run,
    store: BaselineStore,
    verdicts: list[Verdict],
    scales: list[float],
    code: int,
    compared: list[str],
) -> None:
    invoke("promote", SETTING.id, "--reason", "first")
    for n, (label, verdict, scale) in enumerate(zip(("w2", "r1"), verdicts, scales, strict=True)):
        made = run("g", scale=scale, verdict=verdict, at=days(1 + n / 1000))
        store.keep(SETTING, made.model_copy(update={"label": label}))
    result = invoke("compare", SETTING.id, "--json")
    assert (result.exit_code, json.loads(result.output)["runs"]) == (code, compared)


@pytest.mark.usefixtures("store")
def test_what_a_comparison_found_is_said_once_with_what_to_do(invoke: Run) -> None:
    assert invoke("compare", SETTING.id).output.splitlines() == [
        f"unknown: r3.r0.r3xxxx: there is no baseline for {WHAT}",
        f"  next: promote one when three accepted runs are there: {PROMOTE} {SETTING.id}",
    ]


def test_a_changed_stack_is_said_by_the_command_too(invoke: Run, store: BaselineStore) -> None:
    invoke("promote", SETTING.id, "--reason", "first")
    newer = stack(nccl="2.31.0")
    store.keep(newer, run("n1", scale=0.5))
    result = invoke("compare", newer.id)
    assert result.exit_code == 3
    assert "(nccl 2.30.4 -> 2.31.0), so nobody is blamed" in result.output


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("command", ["compare", "show", "promote"])
def test_what_is_not_there_is_bad_use(invoke: Run, command: str) -> None:
    more = ["--reason", "x"] if command == "promote" else []
    result = invoke(command, "ffffffffffff", *more)
    assert str(result.exception) == (
        "'ffffffffffff' names no setting that was measured; yard baseline list"
    )
    if command != "show":
        result = invoke(command, SETTING.id, "--run", "r7", *more)
        assert str(result.exception) == (
            f"r7: no such run of this setting; yard baseline show {SETTING.id}"
        )


@pytest.mark.usefixtures("store")
def test_a_promotion_needs_a_reason(invoke: Run) -> None:
    assert "Missing option '--reason'" in invoke("promote", SETTING.id).output
    result = invoke("promote", SETTING.id, "--reason", " ")
    assert str(result.exception) == (
        f"no baseline for {WHAT}: --reason is empty; say why this is what to compare with"
    )


@pytest.mark.usefixtures("store")
def test_index_and_bucket_are_brought_together(invoke: Run, bucket: MemoryBucket) -> None:
    result = invoke("sync", "--bucket", "s3://records/x")
    assert (result.output, len(bucket.held)) == ("3 runs of 1 setting in both\n", 3)
    invoke("promote", SETTING.id, "--reason", "x", "--bucket", "s3://records/x")
    assert len(bucket.held) == 4


def test_pictures_of_a_setting_are_written(
    invoke: Run, store: BaselineStore, tmp_path: Path
) -> None:
    invoke("promote", SETTING.id, "--reason", "first")
    store.keep(SETTING, run("x", scale=0.8, verdict=Verdict.FAIL, at=days(3)))
    result = invoke("show", SETTING.id, "--pictures", str(tmp_path / "new"))
    names = sorted(file.name for file in (tmp_path / "new").iterdir())
    assert names == [f"baseline-{SETTING.id}-sizes.svg", f"baseline-{SETTING.id}-trend.svg"]
    assert f"picture: {tmp_path}/new/{names[0]}" in result.stderr
    curve = (tmp_path / "new" / names[0]).read_text()
    assert "run x: 257.6 GB/s at 1 GiB, 281.6 GB/s at 4 GiB, 289.6 GB/s at 16 GiB." in curve
    assert "floor: 330 GB/s from 4 GiB on." in curve
    trend = (tmp_path / "new" / names[1]).read_text()
    assert "2026-12-04 08:00 289.6 GB/s fail" in trend
    (tmp_path / "file").touch()
    result = invoke("show", SETTING.id, "--pictures", str(tmp_path / "file" / "x"))
    assert str(result.exception).startswith(f"--pictures {tmp_path}/file/x: cannot be written: ")


def test_a_setting_without_a_number_has_no_picture(invoke: Run, api: ConfigMapApi) -> None:
    BaselineStore(api.shelf(SHELF)).keep(SETTING, run("x", {}))
    result = invoke("show", SETTING.id, "--pictures", "never-made")
    assert str(result.exception) == f"there is nothing to draw of {WHAT}: no run has a number"
    assert not Path("never-made").exists()
