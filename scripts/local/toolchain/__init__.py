"""The programs of the embedded target: the machine's own where it has them, built where not.

`ensure` is the door. It takes Pulumi and its plugins from the machine, builds the rest from Go
modules into the cache (`TRAINYARD_CACHE`), and hands out `Tools`. A later call finds everything
and takes a fraction of a second; a killed one loses only the build that was running.
"""

from collections.abc import Collection, Sequence

from scripts.local.toolchain import assembly, building, catalog, golang, machine, progress
from scripts.local.toolchain.building import Order, Workshop
from scripts.local.toolchain.catalog import Folder
from scripts.local.toolchain.events import Event, Plan, Report
from scripts.local.toolchain.places import Places
from scripts.local.toolchain.tools import Origin, Program, Tools

__all__ = ["Event", "Origin", "Places", "Program", "Report", "Tools", "ensure"]


def ensure(
    report: Report | None = None,
    *,
    places: Places | None = None,
    stand_ins: Collection[str] = (),
) -> Tools:
    """Return all programs of the embedded target, built first where they are missing.

    Parameters
    ----------
    report
        Is told the plan and each step; by default they are shown on stderr.
    places
        Folders and environment; by default the process's own.
    stand_ins
        Plugins ("aws", "command") for which the stand-in is taken although the machine has one.

    Raises
    ------
    UsageError
        Go or its modules cannot be had; the message says what was seen and the way out.
    FailedError
        Go had the modules and yet a build failed.
    """
    if report is None:
        with progress.console() as shown:
            return ensure(shown, places=places, stand_ins=stand_ins)
    places = places or Places.of_this_machine()
    folders = catalog.load(places.source)
    found = _of_machine(places, stand_ins)
    _build_missing(places, folders, found, report)
    return assembly.assemble(places, folders, found)


def _of_machine(places: Places, stand_ins: Collection[str]) -> dict[str, Program]:
    """Return what the machine has, by program."""
    plugins = (machine.find_plugin(places, name, stand_ins) for name in machine.PLUGINS)
    found = [machine.find_pulumi(places), *plugins]
    return {program.name: program for program in found if program}


def _build_missing(
    places: Places, folders: Sequence[Folder], found: Collection[str], report: Report
) -> None:
    orders: list[Order] = []
    for folder in folders:
        wanted = [build for build in folder.builds if build.name not in found]
        missing = [build for build in wanted if not building.is_built(places, folder, build)]
        if missing:
            orders.append((folder, missing))
    if not orders:
        return
    tasks = [building.task_of(folder, build) for folder, missing in orders for build in missing]
    have = sum(len(folder.builds) for folder in folders) - len(tasks)
    report(Plan(tuple(tasks), have, places.logs, places.root, places.cpus))
    needed = max((folder.go for folder, _ in orders), key=golang.numbers)
    go = golang.find(places, needed, [task.name for task in tasks])
    Workshop(places, go, report).build(orders)
