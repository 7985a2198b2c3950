"""Put together what the machine has, what was built and the stand-ins."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.local.toolchain import building, machine, shims
from scripts.local.toolchain.catalog import Build, Folder
from scripts.local.toolchain.places import Places
from scripts.local.toolchain.tools import Origin, Program, Tools

__all__ = ["assemble"]

LANGUAGE = "pulumi-language-python"
EXECUTOR = "pulumi-language-python-exec"
EXECUTOR_IN_SDK = f"python/cmd/{EXECUTOR}"


def assemble(places: Places, folders: Sequence[Folder], of_machine: Mapping[str, Program]) -> Tools:
    """Return the tools; everything that the machine lacks must have been built."""
    builds = {build.name: (folder, build) for folder in folders for build in folder.builds}
    kept = {name: building.kept_files(places, *pair) for name, pair in builds.items()}
    programs = dict(of_machine)
    for name, (folder, build) in builds.items():
        if name not in of_machine:
            programs.update({one.name: one for one in _built(places, folder, build)})
    made = _shims(places, programs, kept["pulumi"])
    programs.update({one.name: one for one in _from_shims(made, programs)})
    return Tools(
        programs=programs,
        shims=made,
        plugins=_plugins(places, programs),
        kueue_module=kept["kueue"],
        mpi_module=kept["mpi-operator"],
        kwok_module=kept["kwok"],
    )


def _built(places: Places, folder: Folder, build: Build) -> Iterator[Program]:
    for program in build.programs:
        path = building.program_path(places, folder, program)
        yield Program(program, folder.version(build), path, Origin.BUILT, build.about)


def _lacking(programs: Mapping[str, Program]) -> dict[str, str]:
    """Return the plugins that neither the machine has nor Go builds: file by name."""
    files = {name: f"pulumi-resource-{name}" for name in machine.PLUGINS}
    return {name: file for name, file in files.items() if file not in programs}


def _folder_of(name: str) -> str:
    """Return where the engine looks for a plugin: by the version that the SDK asks for."""
    return f"resource-{name}-v{machine.sdk_version(f'pulumi-{name}')}"


def _shims(places: Places, programs: Mapping[str, Program], sdk: Path) -> Path:
    scripts = {
        Path("plugins") / _folder_of(name) / file: f"scripts.local.plugins.{name}"
        for name, file in _lacking(programs).items()
    }
    copies: dict[Path, Path] = {}
    if programs["pulumi"].origin is Origin.BUILT:
        scripts[Path(LANGUAGE)] = "scripts.local.plugins.language"
        copies = {
            Path("pulumi"): programs["pulumi"].path,
            Path(EXECUTOR): sdk / EXECUTOR_IN_SDK,
        }
    return shims.write(places, shims.Shims(scripts, copies))


def _from_shims(made: Path, programs: Mapping[str, Program]) -> Iterator[Program]:
    for name, file in _lacking(programs).items():
        version = f"v{machine.sdk_version(f'pulumi-{name}')}"
        path = made / "plugins" / _folder_of(name) / file
        yield Program(file, version, path, Origin.STAND_IN, machine.PLUGINS[name])
    pulumi = programs["pulumi"]
    if pulumi.origin is Origin.BUILT:
        yield Program("pulumi", pulumi.version, made / "pulumi", Origin.BUILT, pulumi.about)
        about = "runs Python programs and policy packs"
        yield Program(LANGUAGE, pulumi.version, made / LANGUAGE, Origin.STAND_IN, about)


def _plugins(places: Places, programs: Mapping[str, Program]) -> dict[str, Path]:
    """Return the folders of the plugins that a Pulumi home must hold; PATH gives the others."""
    paths = {name: programs[f"pulumi-resource-{name}"].path for name in machine.PLUGINS}
    return {
        _folder_of(name): path.parent
        for name, path in paths.items()
        if places.which(path.name) != path
    }
