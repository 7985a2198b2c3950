"""Every further check of a node: what is good, what is a fault, and what says nothing."""

import pytest

from components.catalog import instance_type
from scripts.node.judge import CHECKS, judge
from scripts.verdicts import Verdict
from tests.node.captures import (
    AGAIN,
    ISOLATE,
    P5,
    REBOOT,
    RESET,
    WATCH,
    Change,
    capture,
    judged,
    line,
    lines_of,
    once,
    read,
    section,
    shown,
    without,
)

PCI = "device=0x2330 class=0x030200 id={} numa=0"
DUE = "CUDA fails with error 802 until it is active"
CHRONY = ("System time     : {} seconds slow of NTP time", "Leap status     : {}")


def swapped(name: str, at: int, new: str) -> Change:
    """Replace one line of a section."""
    lines = lines_of(name)
    return section(name, *lines[:at], new, *lines[at + 1 :])


def counted(name: str, value: int) -> Change:
    path = f"rdmap16s0/ports/1/hw_counters/{name}"
    return once(f"{path} 0\n", f"{path} {value}\n")


FAULTS: list[tuple[Change, str, str, str]] = [
    # On the bus.
    (
        swapped("pci", 3, f"0000:86:00.0 {PCI.format('ffffffff')}"),
        "pci",
        "device 0000:86:00.0 has fallen off the bus: it answers ff to all",
        ISOLATE,
    ),
    (
        section("pci", *lines_of("pci")[:7]),
        "pci",
        "7 GPUs are on the PCI bus; there must be 8",
        ISOLATE,
    ),
    (section("pci", "garbage"), "pci", "lines of the PCI bus could not be read", AGAIN),
    # Pages, settings and links of GPUs.
    (
        swapped("retired", 0, "0, No, 3, 1"),
        "retired",
        "GPU 0 retired 1 pages for double-bit errors",
        ISOLATE,
    ),
    (
        swapped("retired", 0, "0, Yes, 3, 0"),
        "retired",
        "GPU 0 has a page to retire at its next reboot",
        REBOOT,
    ),
    (
        swapped("retired", 0, "0, No, 61, 0"),
        "retired",
        "GPU 0 retired 61 pages for single-bit errors",
        WATCH,
    ),
    (
        swapped("settings", 2, "2, Disabled, Disabled, 700.00 W, 1980 MHz, 32"),
        "settings",
        "persistence mode of GPU 2 is off: the driver unloads when idle",
        WATCH,
    ),
    (
        swapped("settings", 2, "2, [N/A], Disabled, 700.00 W, 1980 MHz, 32"),
        "settings",
        "GPU 2 prints '[N/A]' as its persistence mode",
        AGAIN,
    ),
    (
        swapped("settings", 2, "2, Enabled, Enabled, 700.00 W, 1980 MHz, 32"),
        "settings",
        "GPU 2 is cut into instances (MIG); a rank needs all of it",
        REBOOT,
    ),
    (
        swapped("settings", 2, "2, Enabled, Disabled, 700,00 W, 1980 MHz, 32"),
        "settings",
        "settings of 7 GPUs were printed; there must be 8",
        AGAIN,
    ),
    (
        swapped("pcie", 0, "0, 8, 16, 5, 5"),
        "pcie",
        "GPU 0 is linked by 8 of 16 PCIe lanes",
        REBOOT,
    ),
    (
        swapped("pcie", 0, "0, [Unknown Error], 16, 5, 5"),
        "pcie",
        "GPU 0 prints '[Unknown Error]' as the width of its link",
        AGAIN,
    ),
    # NVLink.
    (
        once("Link 3: 26.562 GB/s", "Link 3: 26,562 GB/s"),
        "nvlink",
        "GPU 0 prints '26,562 GB/s' as the speed of a link",
        AGAIN,
    ),
    (
        once("| \t Link 17: 26.562 GB/s\n", ""),
        "nvlink",
        "GPU 0 lists 17 NVLinks; there must be 18",
        AGAIN,
    ),
    (
        once("Link 4: CRC Errors: 0", "Link 4: CRC Errors: 7"),
        "nvlink-errors",
        "GPU 0 had 7 NVLink errors so far, most on link 4 (CRC Errors)",
        WATCH,
    ),
    (
        once("Link 4: CRC Errors: 0", "Link 4: CRC Errors: N/A"),
        "nvlink-errors",
        "GPU 0 does not say how many NVLink errors it had",
        AGAIN,
    ),
    (
        once("GPU2\tNV18\tNV18\t X \tNV18", "GPU2\tNV18\tNV18\t X \tSYS"),
        "topology",
        "GPU2 reaches GPU3 by SYS; it must be NV18",
        ISOLATE,
    ),
    (
        once("GPU2\tNV18\tNV18\t X \tNV18", "GPU2\tX\tX\t X \tNV17"),
        "topology",
        "GPU2 reaches GPU0 and 2 more by X; it must be NV18",
        ISOLATE,
    ),
    (
        once("GPU2\tNV18\tNV18\t X \tNV18", "GPU2\tNV18\tNV18\tNV18\tNV18"),
        "topology",
        "the row of GPU2 could not be read",
        AGAIN,
    ),
    (
        section("topology", *lines_of("topology")[:-1]),
        "topology",
        "the matrix has 7 GPUs; there must be 8",
        AGAIN,
    ),
    # EFA.
    (
        section("provider", "fi_getinfo: -61 (No data available)", end="rc=61"),
        "provider",
        "libfabric offers no provider efa; NCCL would use sockets",
        REBOOT,
    ),
    (
        section("provider", *lines_of("provider")[: 31 * 12]),
        "provider",
        "libfabric offers 31 EFA devices; there must be 32",
        REBOOT,
    ),
    (
        section("provider", "fi_info: error while loading", end="rc=126"),
        "provider",
        "fi_info ended with exit code 126: fi_info: error while loading",
        AGAIN,
    ),
    (
        counted("rx_drops", 101),
        "efa-counters",
        "rx_drops of rdmap16s0 is 101 since boot; 100 are no accident",
        WATCH,
    ),
    (
        once("hw_counters/rx_drops 0", "hw_counters/rx_drops N/A"),
        "efa-counters",
        "a counter of EFA could not be read",
        AGAIN,
    ),
    (section("efa-counters"), "efa-counters", "no counter of EFA was printed", AGAIN),
    (section("mtu", "eth0 1500 up -"), "mtu", "the MTU of eth0 is 1500; 9001 is possible", WATCH),
    (
        section("mtu", "ens32 1500 up ena"),
        "mtu",
        "the MTU of ens32 is 1500; 9001 is possible",
        WATCH,
    ),
    (section("mtu", "lo 65536 unknown -"), "mtu", "no interface of the node was listed", AGAIN),
    (
        once("| ib_uverbs\n", ""),
        "modules",
        "kernel modules are not loaded: ib_uverbs",
        REBOOT,
    ),
    (
        section("modules", "nvidia", "nvidia_uvm", "efa", "ib_core", "ib_uverbs"),
        "modules",
        "there is no /dev/infiniband/uverbs device to open",
        REBOOT,
    ),
    (section("modules"), "modules", "the list of kernel modules is empty", AGAIN),
    # Memory and CPUs.
    (
        section("meminfo", "MemTotal: 1900000000 kB", "SwapTotal: 0 kB",
                "HugePages_Total: 5128", "Hugepagesize: 2048 kB"),
        "memory",
        "1811 GiB of memory; p5.48xlarge has 2048 GiB",
        ISOLATE,
    ),
    (
        once("SwapTotal:             0 kB", "SwapTotal:       4194304 kB"),
        "swap",
        "4096 MiB of swap are on; a rank must not wait",
        REBOOT,
    ),
    (
        section("numa", "node0 0-95 10", "online 0-95"),
        "numa",
        "96 CPUs are online; p5.48xlarge has 192",
        WATCH,
    ),
    (section("numa", "node0 0..95"), "numa", "the NUMA nodes could not be read", AGAIN),
    # Kernel and clock.
    (
        section("kernel", "5.10.230-223.885.amzn2.x86_64"),
        "kernel",
        "the kernel is 5.10.230-223.885.amzn2.x86_64; before 5.15 a fork breaks EFA",
        WATCH,
    ),
    (section("kernel", ""), "kernel", "uname -r printed ''", AGAIN),
    (
        once("kernel/numa_balancing 0", "kernel/numa_balancing 1"),
        "sysctl",
        "kernel.numa_balancing is on: it moves memory while a job uses it",
        WATCH,
    ),
    (
        once("clocksource tsc", "clocksource hpet"),
        "sysctl",
        "the clock source is hpet; arch_sys_counter, kvm-clock, tsc are fast",
        WATCH,
    ),
    (
        once("governor -", "governor powersave"),
        "sysctl",
        "the CPU governor is powersave; performance is best",
        WATCH,
    ),
    (section("sysctl"), "sysctl", "no setting of the kernel was printed", AGAIN),
    # Disks and mounts.
    (
        section("nvme", *lines_of("nvme")[:-1]),
        "nvme",
        "7 local disks of 26600 GB in all; p5.48xlarge has 30400 GB",
        ISOLATE,
    ),
    (section("nvme"), "nvme", "the NVMe devices could not be read", AGAIN),
    (
        once("8% /\n", "95% /\n"),
        "disks",
        "/ is 95 % full; below 95 % is good",
        REBOOT,
    ),
    (section("disks", *lines_of("disks")[:1]), "disks", "df lists no disk", AGAIN),
    (
        once("- xfs /dev/md0 rw,attr2", "- xfs /dev/md0 ro,attr2"),
        "mounts",
        "/dev/md0 (xfs) on /etc/hosts has become read-only",
        REBOOT,
    ),
    (section("mounts"), "mounts", "the list of mounts is empty", AGAIN),
    (
        section("lustre", "ost_server_uuid fsx-OST0003_UUID\tDISCONN\tDEACTIVATED"),
        "lustre",
        "the connection to fsx-OST0003 is DISCONN; it must be FULL or IDLE",
        REBOOT,
    ),
    # The machine itself.
    (
        section("imds", "200"),
        "imds",
        "the metadata service answers without a token; set http_tokens = required",
        REBOOT,
    ),
    (section("imds", "500"), "imds", "the metadata service answers '500'", AGAIN),
    (
        section("machine", "product_name: p5e.48xlarge", "board_asset_tag: i-0"),
        "machine",
        "the machine is a p5e.48xlarge; p5.48xlarge was expected",
        AGAIN,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "check", "message", "consequence"), FAULTS)
def test_each_fault_is_named_with_what_to_do(
    change: Change, check: str, message: str, consequence: str
) -> None:
    found = shown(judged(change(capture())))
    usual = [each for each in found if " is usual" not in each]
    assert usual == [line(check, message, consequence)]


@pytest.mark.parametrize(
    "change",
    [
        section("imds", "000"),
        section("imds", "403"),
        section("mtu", "eth0 9001 up -", "cni0 1500 up -", "ens32 9001 up ena"),
        section(
            "lustre", "ost_server_uuid a-OST0000_UUID\tFULL", "mds_server_uuid a-MDT0000_UUID\tIDLE"
        ),
        section("machine", "product_name: -", "board_asset_tag: -"),
        section("retired", 'Field "retired_pages.sbe" is not a valid field to query.', end="rc=2"),
        without("retired"),
        without("machine"),
        once("relatime - sysfs sysfs ro", "relatime - ext4 /dev/dm-0 ro"),
        section("disks", *lines_of("disks"), "/dev/loop3 100 100 0 100% /snap/x", end="rc=1"),
        section("numa", *lines_of("numa"), "node2 - 10"),
    ],
)
def test_what_only_looks_odd_passes(change: Change) -> None:
    assert judged(change(capture())).verdict is Verdict.PASS


def test_every_check_is_unknown_when_its_section_is_lacking_missing_or_hangs() -> None:
    optional = {"retired", "dcgm", "fabric-manager", "clock"}
    text = capture()
    for name in {check.section for check in CHECKS} - optional:
        assert shown(judged(without(name)(text))) == [
            line(name, "the capture has no such section", AGAIN)
        ]
        for end, message in (
            ("missing", "its tool is not in the image of the check"),
            ("timeout", "it hung and was killed"),
        ):
            assert shown(judged(section(name, end=end)(text))) == [line(name, message, AGAIN)]


def test_what_was_not_checked_is_said_and_is_no_pass_when_required() -> None:
    judgement = judged(capture())
    assert judgement.not_checked == ("fabric-manager", "dcgm", "clock")
    assert judgement.as_json()["not_checked"] == ["fabric-manager", "dcgm", "clock"]
    strict = judge(read(capture()), instance_type(P5), required=["dcgm"])
    assert shown(strict) == [line("dcgm", "the capture has no such section", AGAIN)]


def on_host(text: str) -> str:
    """Make the capture one of the node itself."""
    told = section("clock", CHRONY[0].format("0.000012"), CHRONY[1].format("Normal"))
    return told(section("fabric-manager", "active")(section("scope", "host")(text)))


def test_a_host_must_also_show_what_pods_cannot() -> None:
    assert judged(on_host(capture())).verdict is Verdict.PASS
    assert judged(on_host(capture())).not_checked == ("dcgm",)
    lacking = judged(section("scope", "host")(capture()))
    assert [found.check for found in lacking.findings] == ["fabric-manager", "clock"]
    assert lacking.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("change", "check", "message", "consequence"),
    [
        (
            section("fabric-manager", "inactive", end="rc=3"),
            "fabric-manager",
            f"nvidia-fabricmanager is inactive; {DUE}",
            RESET,
        ),
        (
            section("fabric-manager", "failed", end="rc=3"),
            "fabric-manager",
            f"nvidia-fabricmanager is failed; {DUE}",
            RESET,
        ),
        (
            section("fabric-manager", "unknown", end="rc=4"),
            "fabric-manager",
            "systemctl says 'unknown' of nvidia-fabricmanager",
            AGAIN,
        ),
        (
            section("clock", CHRONY[0].format("0.000012"), CHRONY[1].format("Not synchronised")),
            "clock",
            "the clock follows no time service: Not synchronised",
            WATCH,
        ),
        (
            section("clock", CHRONY[0].format("0.012345"), CHRONY[1].format("Normal")),
            "clock",
            "the clock is 12.3 ms off; 5 ms are allowed",
            WATCH,
        ),
        (
            section("clock", CHRONY[0].format("0,012345"), CHRONY[1].format("Normal")),
            "clock",
            "chronyc does not say how the clock is",
            AGAIN,
        ),
        (section("imds", "000"), "imds", "the metadata service answers '000'", AGAIN),
    ],
)
def test_each_fault_of_a_host_is_named(
    change: Change, check: str, message: str, consequence: str
) -> None:
    assert shown(judged(change(on_host(capture())))) == [line(check, message, consequence)]


def test_counters_are_judged_by_their_growth_since_an_earlier_capture() -> None:
    old = counted("rx_drops", 5000)(capture())
    old = once("Link 4: CRC Errors: 0", "Link 4: CRC Errors: 7")(old)
    kind = instance_type(P5)
    assert shown(judge(read(old), kind, before=read(old))) == []
    new = once("rx_drops 5000", "rx_drops 5101")(old)
    new = once("Link 4: CRC Errors: 7", "Link 4: CRC Errors: 9")(new)
    assert shown(judge(read(new), kind, before=read(old))) == [
        line(
            "nvlink-errors",
            "GPU 0 had 2 NVLink errors since the earlier capture, most on link 4 (CRC Errors)",
            WATCH,
        ),
        line(
            "efa-counters",
            "rx_drops of rdmap16s0 is 101 since the earlier capture; 100 are no accident",
            WATCH,
        ),
    ]


def test_a_mount_that_was_asked_for_must_be_there_and_connected() -> None:
    kind = instance_type(P5)
    assert shown(judge(read(capture()), kind, mounts=["/fsx"])) == [
        line("mounts", "no Lustre file system is mounted on /fsx", REBOOT),
        line("lustre", "no connection to Lustre is listed", AGAIN),
    ]
    mounted = section(
        "mounts", *lines_of("mounts"), "9 1 0:5 / /fsx rw - lustre 10.0.0.9@tcp:/abc rw,flock"
    )
    text = mounted(section("lustre", "ost_server_uuid abc-OST0000_UUID FULL")(capture()))
    assert judge(read(text), kind, mounts=["/fsx"]).verdict is Verdict.PASS
    frozen = once("/abc rw,flock", "/abc ro,flock")(text)
    assert "has become read-only" in judge(read(frozen), kind, mounts=["/fsx"]).summary


def test_only_the_sections_that_were_asked_for_are_judged() -> None:
    lines = ("#@ trainyard-node-check 1", "#@ begin memlock", "| 64", "#@ end memlock rc=0")
    text = "\n".join([*lines, "#@ done memlock=1"])
    judgement = judge(read(text), instance_type(P5), only={"memlock"})
    assert [found.check for found in judgement.findings] == ["memlock"]


def test_types_without_nvlink_switches_or_efa_are_not_asked_for_them() -> None:
    text = capture("g5.48xlarge")
    for name in ("nvlink", "nvlink-errors", "topology", "fabric"):
        text = without(name)(text)
    assert judged(text, "g5.48xlarge").verdict is Verdict.PASS
    assert "clock" in judged(text, "g5.48xlarge").not_checked
    assert "fabric-manager" not in judged(text, "g5.48xlarge").not_checked
