"""Judges the transport: EFA through Libfabric, every NIC, GPUDirect RDMA on every node.

A fallback to sockets fails at once, whatever the bandwidth: exit code and table look healthy.
"""

from collections.abc import Iterator

from scripts.nccl.expectation import Expectation
from scripts.nccl.record import Log
from scripts.nccl.transport import Sighting
from scripts.text import names, words
from scripts.verdicts import Finding, Verdict

__all__ = ["NO_NVLS", "findings"]

LIBFABRIC = "Libfabric"
EFA = "efa"

NO_NVLS = (
    "NVLS (NVLink SHARP) is not available, which costs a quarter of the bandwidth inside a node: "
    "look at the fabric manager and NCCL_NVLS_ENABLE before the hardware"
)
SHOW_INFO = "run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET on every rank"
GIVE_BOTH = "JSON output holds none: judge the log of the same run, and give this file as --results"


def findings(log: Log, expected: Expectation) -> Iterator[Finding]:
    """Judge what the log shows of the network; a type without EFA has nothing to show."""
    if log.transport.no_nvls and expected.nvls:
        yield _found(Verdict.PASS, NO_NVLS, "", log.transport.no_nvls)
    if expected.nics == 0:
        return
    faults = list(_faults(log, expected))
    yield from faults
    if not any(fault.verdict is Verdict.FAIL for fault in faults) and expected.nodes > 1:
        yield from _missing(log, expected)


def _faults(log: Log, expected: Expectation) -> Iterator[Finding]:
    seen = log.transport
    others = Sighting()
    for sightings, good in ((seen.networks, LIBFABRIC), (seen.providers, EFA)):
        for name, sighting in sightings.items():
            if name != good:
                others.lines += sighting.lines
                others.hosts |= sighting.hosts
    others.lines += seen.sockets.lines
    others.hosts |= seen.sockets.hosts
    if others:
        strange = {*seen.networks, *(["Socket"] if seen.sockets else [])} - {LIBFABRIC}
        what = strange or set(seen.providers) - {EFA}
        why = " (the EFA plugin did not load)" if seen.no_plugin else ""
        yield _found(
            Verdict.FAIL,
            f"transport is not EFA: NCCL used {names(what)} on {names(others.hosts)}{why}",
            "put the aws-ofi-nccl plugin of the image on LD_LIBRARY_PATH and give the pod its EFA "
            "devices",
            others,
        )
    elif seen.no_plugin:
        yield _found(
            Verdict.FAIL,
            f"the EFA plugin did not load on {names(seen.no_plugin.hosts)}",
            "put the aws-ofi-nccl plugin of the image on LD_LIBRARY_PATH",
            seen.no_plugin,
        )
    yield from _nics(log, expected)
    if expected.gdrdma and expected.nodes > 1 and not others:
        yield from _no_gpudirect(log)


def _nics(log: Log, expected: Expectation) -> Iterator[Finding]:
    for count, sighting in sorted(log.transport.nics.items()):
        if count != expected.nics:
            yield _found(
                Verdict.FAIL,
                f"{names(sighting.hosts)} found {words(count, 'NIC')}; {expected.instance_type} "
                f"has {expected.nics}",
                "look at the EFA devices of these nodes and at what their pod asked for",
                sighting,
            )


def _no_gpudirect(log: Log) -> Iterator[Finding]:
    seen = log.transport
    for sighting, what in (
        (seen.without_gdrdma, "channels go through Libfabric without GPUDirect RDMA"),
        (seen.no_gdr, "NCCL turned GPUDirect RDMA off"),
    ):
        if sighting:
            yield _found(
                Verdict.FAIL,
                f"{what} on {names(sighting.hosts)}",
                "check the EFA driver (modinfo efa) and FI_EFA_USE_DEVICE_RDMA",
                sighting,
            )


def _missing(log: Log, expected: Expectation) -> Iterator[Finding]:
    seen = log.transport
    hosts = set(log.devices.host_of.values())
    if not seen.messages:
        yield _found(
            Verdict.UNKNOWN,
            "no message of NCCL is in the log: EFA is not proved",
            GIVE_BOTH if log.from_json else SHOW_INFO,
        )
        return
    if EFA not in seen.providers or not seen.nics:
        yield _found(
            Verdict.UNKNOWN, "no line says that the provider is efa with how many NICs", SHOW_INFO
        )
    if expected.gdrdma and (silent := hosts - seen.gdrdma.hosts):
        yield _found(
            Verdict.UNKNOWN, f"no line proves GPUDirect RDMA on {names(silent)}", SHOW_INFO
        )
    elif not expected.gdrdma and LIBFABRIC not in seen.networks:
        yield _found(Verdict.UNKNOWN, "no line says that NCCL uses Libfabric", SHOW_INFO)


def _found(
    verdict: Verdict, message: str, next_step: str, sighting: Sighting | None = None
) -> Finding:
    lines = tuple(sorted(set(sighting.lines))) if sighting else ()
    return Finding("transport", verdict, message, next_step, lines)
