"""The address plan of a stack file, whether or not the rest of the file can be used."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from components.address_plan import (
    FileServers,
    Needs,
    SubnetPlan,
    Use,
    address_plan,
    misfits,
)
from components.addressing import Amount
from components.settings import Section, SettingsError, parse
from components.site_config import (
    ControlPlaneConfig,
    NetworkConfig,
    PoolConfig,
    SiteConfig,
    StorageConfig,
)
from scripts.config.stack_file import KEY, load

__all__ = ["Line", "StackPlan", "plan_stack"]


class Addressed(Section):
    """The sections of a site that have to do with addresses, without the rules between others."""

    network: NetworkConfig
    control_plane: ControlPlaneConfig
    pools: tuple[PoolConfig, ...]
    storage: StorageConfig


@dataclass(frozen=True, slots=True)
class Line:
    """One part of a subnet: single addresses, or prefixes for pods."""

    zone: str
    purpose: str
    blocks: tuple[str, ...]
    unit: str
    size: int
    demand: int
    needed: int

    @property
    def use(self) -> int:
        """Percent of it that is needed, headroom counted, rounded up."""
        return -(-100 * self.needed // max(self.size, 1))


@dataclass(frozen=True, slots=True)
class StackPlan:
    """What a stack file asks of its network, and what does not fit."""

    file: str
    headroom: int
    lines: tuple[Line, ...]
    quotas: tuple[Use, ...]
    problems: tuple[str, ...]


def plan_stack(file: Path) -> StackPlan:
    """Plan the addresses of a stack file.

    Raises
    ------
    SettingsError
        If the file cannot be read, or one of the sections that the plan is made of cannot be used.
    """
    site = _addressed(file)
    needs = Needs(
        pools=site.pools,
        pods_per_node=site.control_plane.pods_per_node,
        system_nodes=site.control_plane.system_nodes,
        file_servers=FileServers(
            zone=site.storage.zone, count=site.storage.interfaces, fabric=site.storage.efa
        ),
    )
    plan = address_plan(site.network, needs)
    return StackPlan(
        file=str(file),
        headroom=site.network.headroom_percent,
        lines=tuple(line for subnet in plan.subnets for line in _lines(subnet)),
        quotas=(plan.blocks, plan.address_units),
        problems=tuple(map(str, misfits(site.network, needs))),
    )


def _addressed(file: Path) -> SiteConfig | Addressed:
    """Read what the plan is made of: addresses that do not fit make the whole file unusable."""
    try:
        return load(file)
    except SettingsError as error:
        if any(not problem.path for problem in error.problems):
            raise
        # The file is a mapping with our settings, else there would be a problem without a path.
        raw = yaml.safe_load(file.read_text())["config"][KEY]
        sections = {key: raw[key] for key in Addressed.model_fields if key in raw}
        try:
            return parse(Addressed, sections, file.name)
        except SettingsError:
            raise error from None


def _lines(subnet: SubnetPlan) -> list[Line]:
    def line(purpose: str, blocks: tuple[str, ...], unit: str) -> Line:
        def amount(of: Amount) -> int:
            return of.prefixes if unit == "prefixes" else of.addresses

        return Line(
            subnet.zone,
            purpose,
            blocks,
            unit,
            amount(subnet.room),
            amount(subnet.demand),
            amount(subnet.needed),
        )

    if subnet.parts is None:
        return [line(subnet.purpose, (str(subnet.block),), "addresses")]
    return [
        line(f"{subnet.purpose}, hosts", (str(subnet.parts.hosts),), "addresses"),
        line(f"{subnet.purpose}, pods", tuple(map(str, subnet.parts.pods)), "prefixes"),
    ]
