import pytest

from components.catalog import instance_types
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict
from tests.node.captures import (
    AGAIN,
    ISOLATE,
    P5,
    REBOOT,
    RESET,
    Change,
    capture,
    fields,
    judged,
    line,
    once,
    section,
    shown,
)

MISSING = "its tool is not in the image of the check"
LOST = "[  913.2] NVRM: Xid (PCI:0000:53:00): {}, pid='<unknown>', name=<unknown>, {}"


@pytest.mark.parametrize(
    "kind",
    [
        name
        for name, kind in instance_types().items()
        if kind.accelerator and kind.accelerator.vendor == "nvidia"
    ],
)
def test_a_good_node_of_every_type_passes_with_its_facts(kind: str) -> None:
    judgement = judged(capture(kind), kind)
    assert shown(judgement) == []
    assert judgement.verdict is Verdict.PASS
    assert judgement.not_checked[-2:] == ("dcgm", "clock")
    assert {
        "machine": kind,
        "kernel": "6.12.46-66.121.amzn2023.x86_64",
        "efa_driver": "3.0.0g",
        "efa_installer": "1.50.0",
        "libfabric": "2.4.0amzn1.0",
        "driver": "580.95.05",
        "vbios": "96.00.89.00.01",
        "power_limit": "700.00 W",
        "max_clock": "1980 MHz",
        "numa_balancing": "0",
    }.items() <= judgement.facts.items()
    accelerator = instance_types()[kind].accelerator
    assert accelerator is not None
    assert len({gpu["uuid"] for gpu in judgement.gpus}) == accelerator.count


GPU = "GPU 00000000:53:00.0"
FABRIC = (
    "it must be Completed / Success (nvidia-fabricmanager; CUDA fails with error 802 until then)"
)
DAMAGED = "the capture is cut off or damaged: its last line does not count what is there"
HANDLE = "Unable to determine the device handle for GPU0: 0000:53:00.0: Unknown Error"


@pytest.mark.parametrize(
    ("change", "check", "message", "consequence"),
    [
        (
            fields(("Uncorrectable Parity", "1")),
            "ecc",
            f"{GPU} had 1 uncorrectable errors since boot",
            RESET,
        ),
        (
            fields(("Uncorrectable Parity", "2"), ("Uncorrectable SEC-DED", "3"), skip=1),
            "ecc",
            f"{GPU} had 5 uncorrectable SRAM errors in its life; 4 are allowed",
            ISOLATE,
        ),
        (
            fields(("Current", "Disabled")),
            "ecc",
            f"ECC of {GPU} is Disabled; it must be Enabled",
            RESET,
        ),
        (fields(("Current", "[N/A]")), "ecc", f"{GPU} does not say whether ECC is on", AGAIN),
        (
            fields(("DRAM Uncorrectable", "N/A")),
            "ecc",
            f"{GPU} does not say how many errors it had",
            AGAIN,
        ),
        (
            fields(("SRAM Threshold Exceeded", "Yes")),
            "ecc",
            f"{GPU} exceeded its SRAM error threshold",
            ISOLATE,
        ),
        (
            once("53:00.0, No, No, 0", "53:00.0, 1, 0, 3"),
            "remapped",
            f"{GPU} has a row to remap at its next reset",
            RESET,
        ),
        (
            once("53:00.0, No, No, 0", "53:00.0, No, Yes, 0"),
            "remapped",
            f"{GPU} failed to remap a row",
            ISOLATE,
        ),
        (
            once("53:00.0, No, No, 0", "53:00.0, No, No, 513"),
            "remapped",
            f"{GPU} remapped 513 rows; 512 are allowed",
            ISOLATE,
        ),
        (
            once("53:00.0, No, No, 0", "53:00.0, [N/A], No, 0"),
            "remapped",
            f"{GPU} does not say what it remapped: ['[N/A]', 'No', '0']",
            AGAIN,
        ),
        (
            once("0, 0x0000000000000001", "0, 0x0000000000000048"),
            "throttle",
            "GPU 0 is throttled: hardware slowdown, hardware thermal slowdown (0x48)",
            ISOLATE,
        ),
        (
            once("0, 0x0000000000000001", "0, 0x0000000000010001"),
            "throttle",
            "GPU 0 has throttle bits of no known meaning 0x10000",
            AGAIN,
        ),
        (
            once("0, 0x0000000000000001", "0, [Not Supported]"),
            "throttle",
            "GPU 0 prints '[Not Supported]' as its throttle mask",
            AGAIN,
        ),
        (
            once("clocks_event_reasons.active", "clocks_other.active"),
            "throttle",
            "no column of clock event reasons was printed",
            AGAIN,
        ),
        (
            once("Link 3: 26.562 GB/s", "Link 3: <inactive>"),
            "nvlink",
            "GPU 0 has 17 of 18 NVLinks at 25 GB/s or more",
            RESET,
        ),
        (
            fields(("State", "In Progress")),
            "fabric",
            f"the fabric of {GPU} is In Progress / Success; {FABRIC}",
            RESET,
        ),
        (
            fields(("Status", "Insufficient Resources")),
            "fabric",
            f"the fabric of {GPU} is Completed / Insufficient Resources; {FABRIC}",
            RESET,
        ),
        (
            fields(("State", "N/A"), ("Status", "N/A")),
            "fabric",
            f"the fabric of {GPU} is N/A / N/A; {FABRIC}",
            RESET,
        ),
        (
            section("efa", "0000:10:00.0 0xefa3"),
            "efa",
            "1 EFA devices; there must be 32",
            ISOLATE,
        ),
        (
            once("| unlimited", "| 8192"),
            "memlock",
            "memlock is 8192 KiB; EFA needs unlimited or 16777216 KiB",
            REBOOT,
        ),
        (
            once("HugePages_Total:    5128", "HugePages_Total:    0"),
            "meminfo",
            "0 MiB of huge pages; one NCCL pod asks for 5120 MiB",
            REBOOT,
        ),
        (
            section("meminfo"),
            "meminfo",
            "/proc/meminfo has no lines about memory and swap",
            AGAIN,
        ),
        (
            section("meminfo", "MemTotal: 2097152000 kB", "SwapTotal: 0 kB"),
            "meminfo",
            "/proc/meminfo has no lines about huge pages",
            AGAIN,
        ),
        (section("nvlink", end="missing"), "nvlink", MISSING, AGAIN),
        (section("gpus", end="timeout"), "gpus", "it hung and was killed", AGAIN),
        (once("#@ end gpus rc=0\n", ""), "gpus", "it began and never ended", AGAIN),
        (
            section("gpus", "Failed to initialize NVML: Unknown Error", end="rc=255"),
            "gpus",
            "it ended with exit code 255: Failed to initialize NVML: Unknown Error",
            AGAIN,
        ),
        (section("gpus", HANDLE), "gpus", f"a GPU is lost: {HANDLE}", ISOLATE),
        (lambda text: text[: text.index("#@ done")], "capture", DAMAGED, AGAIN),
        (
            once("0, NVIDIA H100 80GB HBM3", "0, NVIDIA H200"),
            "gpus",
            "the GPUs are NVIDIA H200; H100 was expected",
            AGAIN,
        ),
        (
            section("kernel-log", "lines read: 1"),
            "kernel-log",
            "the kernel log is empty: it could not be read",
            AGAIN,
        ),
    ],
)
def test_each_fault_is_named_with_what_to_do(
    change: Change, check: str, message: str, consequence: str
) -> None:
    assert shown(judged(change(capture()))) == [line(check, message, consequence)]


@pytest.mark.parametrize(
    ("printed", "severity"),
    [
        (LOST.format(79, "GPU has fallen off the bus."), Severity.REBOOT),
        (LOST.format(48, "DBE"), Severity.RESET),
        (LOST.format(64, "row remapper"), Severity.ISOLATE),
        (LOST.format(95, "uncontained"), Severity.RESET),
        (LOST.format(94, "contained"), Severity.MONITOR),
        (LOST.format(31, "MMU fault"), Severity.MONITOR),
        (LOST.format(45, "preemptive removal"), Severity.MONITOR),
        (LOST.format(999, "new"), Severity.MONITOR),
        (LOST.format(154, "Node Reboot Required"), Severity.REBOOT),
        (LOST.format(154, "GPU Reset Required"), Severity.RESET),
        (LOST.format(154, "None"), Severity.MONITOR),
        ("NVRM: Xid (0000:53:00): 79, GPU has fallen off the bus.", Severity.REBOOT),
        ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 3", Severity.MONITOR),
        ("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 3", Severity.ISOLATE),
        ("usb 1-1: Xid is not a driver's line: 79", Severity.PASS),
    ],
)
def test_driver_errors_follow_the_policy(printed: str, severity: Severity) -> None:
    text = section("kernel-log", "boot", printed, "lines read: 900")(capture())
    assert judged(text).severity is severity


def test_an_error_code_can_mean_more_on_one_accelerator() -> None:
    text = section("kernel-log", LOST.format(95, "uncontained"), "lines read: 900")
    assert judged(text(capture("p4d.24xlarge")), "p4d.24xlarge").severity is Severity.REBOOT


def test_a_finding_names_the_line_where_its_section_begins() -> None:
    [found] = judged(section("gpus", end="timeout")(capture())).findings
    assert found.finding().lines == (2,)


def test_a_finding_names_the_line_that_proves_it() -> None:
    text = once("53:00.0, No, No, 0", "53:00.0, No, Yes, 0")(capture())
    [found] = judged(text).findings
    assert text.splitlines()[found.line - 1] == "| 00000000:53:00.0, No, Yes, 0"


def test_errors_before_the_last_boot_are_history() -> None:
    lines = [LOST.format(79, "has fallen off the bus"), "-- Boot 7f3a --", "NVRM: loading"]
    assert judged(section("kernel-log", *lines)(capture())).verdict is Verdict.PASS
    again = [*lines, LOST.format(79, "has fallen off the bus")]
    assert judged(section("kernel-log", *again)(capture())).verdict is Verdict.FAIL


def test_a_journal_without_entries_was_read() -> None:
    assert judged(section("kernel-log", "-- No entries --")(capture())).verdict is Verdict.PASS


def test_the_old_name_of_the_throttle_column_gives_the_same_result() -> None:
    text = once(
        "| index, clocks_event_reasons.active",
        '| Field "clocks_event_reasons.active" is not a valid field to query.\n'
        "| index, clocks_throttle_reasons.active",
    )
    assert judged(text(capture())).verdict is Verdict.PASS


def test_a_fabric_state_of_na_is_healthy_on_a100() -> None:
    assert "State                             : N/A" in capture("p4d.24xlarge")
    assert judged(capture("p4d.24xlarge"), "p4d.24xlarge").verdict is Verdict.PASS


def test_a_lost_gpu_is_isolated() -> None:
    judgement = judged(capture(P5, "gpu"))
    assert (judgement.verdict, judgement.severity) == (Verdict.FAIL, Severity.ISOLATE)


@pytest.mark.parametrize(
    "text", ["", "hello\n", "\x00\xff" * 50, "#@ begin gpus\n#@ done\n", "#@ end x rc=0\n"]
)
def test_what_is_no_capture_is_unknown(text: str) -> None:
    judgement = judged(text)
    assert shown(judgement) == [
        f"unknown capture: this is no capture of node_check.sh, format 1{AGAIN}"
    ]


def test_a_capture_cut_anywhere_never_passes() -> None:
    lines = capture().splitlines()
    for end in range(0, len(lines) - 1, 7):
        assert judged("\n".join(lines[:end])).verdict is not Verdict.PASS
