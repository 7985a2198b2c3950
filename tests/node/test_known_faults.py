"""Faults that checks of nodes had in public, each as a whole kind."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.node.finding import absent
from scripts.node.profiles import Severity, policy
from scripts.verdicts import Verdict
from tests.node.captures import (
    AGAIN,
    ISOLATE,
    RESET,
    Change,
    capture,
    fields,
    judged,
    line,
    lines_of,
    once,
    section,
    shown,
)

# nvidia_gpu_exporter#123, telegraf#19455, dcgm-exporter#261: throttle columns changed their name.

NAMES = ("clocks_event_reasons", "clocks_throttle_reasons")
REASONS = list(policy().throttle.columns)


def masks(start: str, mask: str) -> Change:
    rows = [f"{gpu}, {mask if gpu == 3 else '0x0000000000000001'}" for gpu in range(8)]
    return section("throttle", f"index, {start}.active", *rows)


def columns(start: str, *active: str, word: str = "Active") -> Change:
    head = ", ".join(["index", *(f"{start}.{name}" for name in REASONS)])
    rows = [
        ", ".join(
            [str(gpu), *(word if gpu == 3 and name in active else "Not Active" for name in REASONS)]
        )
        for gpu in range(8)
    ]
    return section("throttle", head, *rows)


@pytest.mark.parametrize("start", NAMES)
@pytest.mark.parametrize(
    ("mask", "reasons", "verdict"),
    [
        ("0x0000000000000000", (), Verdict.PASS),
        ("0x0000000000000001", ("gpu_idle",), Verdict.PASS),
        ("0x0000000000000002", ("applications_clocks_setting",), Verdict.PASS),
        ("0x0000000000000004", ("sw_power_cap",), Verdict.PASS),
        ("0x0000000000000010", ("sync_boost",), Verdict.PASS),
        ("0x0000000000000005", ("gpu_idle", "sw_power_cap"), Verdict.PASS),
        ("0x0000000000000008", ("hw_slowdown",), Verdict.FAIL),
        ("0x0000000000000020", ("sw_thermal_slowdown",), Verdict.FAIL),
        ("0x0000000000000040", ("hw_thermal_slowdown",), Verdict.FAIL),
        ("0x0000000000000080", ("hw_power_brake_slowdown",), Verdict.FAIL),
        ("0x0000000000000049", ("gpu_idle", "hw_slowdown", "hw_thermal_slowdown"), Verdict.FAIL),
    ],
)
def test_both_names_and_both_forms_of_throttle_columns_mean_the_same(
    start: str, mask: str, reasons: tuple[str, ...], verdict: Verdict
) -> None:
    by_mask = judged(masks(start, mask)(capture()))
    by_column = judged(columns(start, *reasons)(capture()))
    assert by_mask.verdict is by_column.verdict is verdict
    assert shown(by_mask) == shown(by_column)


@pytest.mark.parametrize(
    "change",
    [
        section("throttle"),
        section("throttle", "index, clocks_new_reasons.active", "0, 0x1"),
        section("throttle", 'Field "clocks_event_reasons.active" is not a valid field to query.'),
        section("throttle", "index, clocks_event_reasons.a_reason_of_tomorrow", "0, Active"),
        masks(NAMES[0], "[N/A]"),
        masks(NAMES[0], "1"),
        columns(NAMES[0], "gpu_idle", word="[N/A]"),
        columns(NAMES[0], "gpu_idle", word="[Requested functionality has been deprecated]"),
    ],
)
def test_an_unknown_set_of_columns_is_never_no_throttling(change: Change) -> None:
    judgement = judged(change(capture()))
    assert judgement.verdict is Verdict.UNKNOWN
    assert {found.check for found in judgement.findings} == {"throttle"}


# gpu-operator#2781, azhpc-images#506, gpu-driver-container#908: the fabric never gets up.

BUS = "GPU 00000000:53:00.0"
MUST = "it must be Completed / Success (nvidia-fabricmanager; CUDA fails with error 802 until then)"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("Not Started", "N/A"),
        ("In Progress", "Success"),
        ("In Progress", "N/A"),
        ("Completed", "Insufficient Resources"),
        ("Completed", "N/A"),
        ("Not Supported", "N/A"),
        ("N/A", "N/A"),
    ],
)
def test_a_fabric_that_is_not_up_fails_where_the_driver_reports_it(state: str, status: str) -> None:
    plain = fields(("    State", state), ("    Status", status))(capture())
    assert shown(judged(plain)) == [
        line("fabric", f"the fabric of {BUS} is {state} / {status}; {MUST}", RESET)
    ]


@pytest.mark.parametrize("kind", ["p4d.24xlarge", "g5.48xlarge", "g6e.48xlarge"])
def test_no_fabric_is_healthy_where_there_is_none_or_the_driver_is_silent(kind: str) -> None:
    assert "State                             : N/A" in capture(kind)
    assert judged(capture(kind), kind).verdict is Verdict.PASS


def test_an_unhealthy_fabric_fails_though_it_is_up() -> None:
    health = "|         Health\n|             Summary : Unhealthy\n"
    change = once("|     Fabric\n", f"|     Fabric\n{health}")
    assert shown(judged(change(capture()))) == [
        line("fabric", f"the fabric of {BUS} is Unhealthy", RESET)
    ]


# NVSentinel#1710, #270, k8s-device-plugin#1340: errors of applications taken for hardware.

LOG = "[  913.2] NVRM: Xid (PCI:0000:53:00): {}, pid='<unknown>', name=<unknown>, text"
FORMS = [
    "NVRM: Xid (PCI:0000:53:00): {}, pid='<unknown>', name=<unknown>, text",
    "NVRM: Xid (PCI:0000:53:00): {}, pid=2310, name=python, text",
    "NVRM: Xid (PCI:0000:53:00.0): {}, text",
    "NVRM: Xid (0000:53:00): {}, text",
    "NVRM: GPU at PCI:0000:53:00: GPU-7f3a\nNVRM: Xid (PCI:0000:53:00): {}, text",
    "[  913.207764] NVRM: Xid (PCI:0000:53:00): {}, text",
    "[Tue Dec  1 08:00:01 2026] NVRM: Xid (PCI:0000:53:00): {}, text",
    "2026-12-01T08:00:01+0000 ip-10-0-4-11 kernel: NVRM: Xid (PCI:0000:53:00): {}, text",
]


def logged(*printed: str) -> Change:
    lines = [each for text in printed for each in text.splitlines()]
    return section("kernel-log", *lines, "lines read: 900")


@pytest.mark.parametrize("code", [13, 31, 43, 45, 68])
def test_errors_of_applications_are_only_watched(code: int) -> None:
    judgement = judged(logged(*[LOG.format(code)] * 50)(capture()))
    assert (judgement.verdict, judgement.severity) == (Verdict.PASS, Severity.MONITOR)
    assert len(judgement.findings) == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("code", "severity"),
    [(79, Severity.REBOOT), (48, Severity.RESET), (95, Severity.RESET), (94, Severity.MONITOR),
     (999, Severity.MONITOR)],
)  # fmt: skip
def test_every_form_of_a_line_gives_the_same(form: str, code: int, severity: Severity) -> None:
    judgement = judged(logged(form.format(code))(capture()))
    assert judgement.severity is severity
    assert f"Xid {code}" in judgement.findings[0].message
    assert ("is in no list of ours" in judgement.findings[0].message) == (code == 999)


@given(st.integers(0, 2000))
def test_no_code_is_taken_for_good_or_without_a_word(code: int) -> None:
    judgement = judged(logged(LOG.format(code))(capture()))
    assert [found.check for found in judgement.findings] == ["kernel-log"]
    assert judgement.severity >= Severity.MONITOR


@pytest.mark.parametrize("old", [79, 48, 95, 64])
def test_what_happened_before_the_last_boot_is_history(old: int) -> None:
    boot = "-- Boot 7f3a5c0e --"
    before = section("kernel-log", LOG.format(old), boot, "NVRM: loading", "lines read: 900")
    assert judged(before(capture())).verdict is Verdict.PASS
    after = section("kernel-log", boot, LOG.format(old), "lines read: 900")
    assert judged(after(capture())).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("printed", "severity"),
    [
        ("SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 3 egress", Severity.MONITOR),
        ("SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 3 LTSSM Fault Up", Severity.ISOLATE),
        ("SXid (PCI:0000:c1:00.0): 20034, Severity 1 Engine instance 37", Severity.MONITOR),
        ("SXid (PCI:0000:c1:00.0): 23001, Non-fatal, overflow", Severity.ISOLATE),
        ("SXid (PCI:0000:c1:00.0): 22003, Severity 5 Engine", Severity.ISOLATE),
        ("SXid (PCI:0000:c1:00.0): 20009, NON-FATAL, Link 42 RX short error", Severity.MONITOR),
    ],
)
def test_errors_of_switches_follow_their_word_and_their_code(
    printed: str, severity: Severity
) -> None:
    text = logged(f"[  7.1] nvidia-nvswitch0: {printed}")
    assert judged(text(capture())).severity is severity


def test_a_narrow_link_in_the_kernel_log_is_watched() -> None:
    text = logged("pci 0000:53:00.0: 126.016 Gb/s available PCIe bandwidth, "
                  "limited by 8.0 GT/s PCIe x16 link at 0000:4e:01.0")  # fmt: skip
    assert judged(text(capture())).severity is Severity.MONITOR


# Every spelling of "no value" is unknown: never 0, never good, never a fault.

SPELLINGS = ["N/A", "[N/A]", "[Not Supported]", "Not Supported", "[Unknown Error]", "ERR!", "-",
             "Unknown", "[No data]", "<N/A>", "n/a", "", "None", "[Insufficient Permissions]",
             "Requested functionality has been deprecated", "NaN", "null", "?"]  # fmt: skip


@pytest.mark.parametrize("word", SPELLINGS)
def test_no_spelling_of_a_missing_value_is_good_or_a_fault(word: str) -> None:
    assert absent(word)
    text = capture()
    spellings = [
        fields(("Current", word or "-")),
        fields(("SRAM Uncorrectable Parity", word or "-")),
        once("53:00.0, No, No, 0", f"53:00.0, {word}, No, 0"),
        once("53:00.0, No, No, 0", f"53:00.0, No, {word}, 0"),
        once("53:00.0, No, No, 0", f"53:00.0, No, No, {word}"),
        once("0, 0x0000000000000001", f"0, {word}"),
        once("0, 16, 16, 5, 5", f"0, {word}, 16, 5, 5"),
        once("580.95.05, 96", f"{word}, 96"),
        once("0, Enabled, Disabled", f"0, {word}, Disabled"),
        section("memlock", word),
        section("kernel", word),
    ]
    for change in spellings:
        judgement = judged(change(text))
        assert judgement.verdict is Verdict.UNKNOWN, change
        assert shown(judgement)[0].endswith(AGAIN)


@pytest.mark.parametrize("word", ["0", "No", "1", "Enabled", "unlimited", "26.562 GB/s"])
def test_a_value_is_not_missing(word: str) -> None:
    assert not absent(word)


# A tool that is gone, a GPU that is gone, and a GPU that wants a reset are three things.


@pytest.mark.parametrize(
    "cry",
    [
        "Unable to determine the device handle for GPU0000:53:00.0: Unknown Error",
        "Unable to determine the device handle for GPU 0000:53:00.0: GPU is lost.  Reboot",
        "No devices were found",
    ],
)
@pytest.mark.parametrize("name", ["gpus", "ecc", "topology", "nvlink"])
def test_a_lost_gpu_is_isolated_by_whatever_command_cries(name: str, cry: str) -> None:
    judgement = judged(section(name, cry, end="rc=15")(capture()))
    assert shown(judgement) == [line(name, f"a GPU is lost: {cry}", ISOLATE)]


def test_a_gpu_that_asks_for_a_reset_gets_one() -> None:
    row = lines_of("ecc")[3]
    change = once(row, re.sub(r": .*", ": [GPU requires reset]", row))
    assert shown(judged(change(capture())))[0].startswith("fail ecc: the driver asks for a reset: ")


def test_a_lost_gpu_in_an_old_log_is_no_cry() -> None:
    text = section("kernel-log", "GPU has fallen off the bus", "-- Boot 1 --", "x", "lines read: 9")
    assert judged(text(capture())).verdict is Verdict.PASS


def test_fewer_lines_than_gpus_are_a_fault_and_lines_that_cannot_be_read_are_not() -> None:
    lines = lines_of("gpus")
    assert shown(judged(section("gpus", *lines[:7])(capture()))) == [
        line("gpus", "7 GPUs answer; there must be 8", ISOLATE)
    ]
    odd = judged(section("gpus", *lines[:7], "\x00\x01 garbage")(capture()))
    assert shown(odd) == [line("gpus", "1 lines of nvidia-smi could not be read", AGAIN)]


def test_ecc_that_will_be_off_is_off() -> None:
    assert shown(judged(fields(("Pending", "Disabled"))(capture()))) == [
        line(
            "ecc",
            f"ECC of {BUS} will be Disabled after its next reset; it must be Enabled",
            RESET,
        )
    ]


@pytest.mark.parametrize(
    ("printed", "message", "consequence"),
    [
        ("Unrepairable Memory : Yes", f"{BUS} has memory that cannot be repaired", ISOLATE),
        (
            "Channel Repair Pending : Yes",
            f"{BUS} waits for a reset: Channel Repair Pending",
            RESET,
        ),
        ("TPC Repair Pending : Yes", f"{BUS} waits for a reset: TPC Repair Pending", RESET),
    ],
)
def test_repairs_of_newer_drivers_are_read(printed: str, message: str, consequence: str) -> None:
    change = once("|     ECC Errors\n", f"|     ECC Errors\n|         {printed}\n")
    assert shown(judged(change(capture()))) == [line("ecc", message, consequence)]


def test_every_part_of_the_policy_says_where_it_is_from() -> None:
    parts = set(type(policy()).model_fields) - {"sources", "xid_of"}
    assert set(policy().sources) == parts
    for source in policy().sources.values():
        assert source.source


def test_no_code_stands_in_two_lists() -> None:
    xid = policy().xid
    lists = [xid.isolate, xid.reboot, xid.reset, xid.monitor]
    assert sum(map(len, lists)) == len(frozenset[int]().union(*lists))
    known = policy().throttle
    assert set(known.columns.values()) <= {*known.allowed, *known.isolate}
