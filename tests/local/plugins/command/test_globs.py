from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scripts.local.plugins.command import globs

if TYPE_CHECKING:
    from pathlib import Path


# What github.com/gobwas/glob v0.2.3 answers.
@pytest.mark.parametrize(
    ("pattern", "matched", "missed"),
    [
        ("*", ["a", "a.txt"], ["a/b"]),
        ("**", ["a", "a/b/c"], []),
        ("*.txt", ["a.txt"], ["a.js", "a/a.txt"]),
        ("a/*", ["a/b"], ["a", "a/b/c"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("**/b", ["a/b"], ["b", "ab"]),
        ("src/**.js", ["src/index.js", "src/x/secret.js"], ["index.js"]),
        ("**secret.*", ["secret.js", "src/x/secret.js"], ["src/secret"]),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("[ab]*", ["a", "bx"], ["cx"]),
        ("[!ab]*", ["cx", "-"], ["ax", "bx"]),
        ("[a-c]x", ["ax", "cx"], ["dx"]),
        ("[^a]b", ["ab", "^b"], ["xb"]),
        ("[a&&b]", ["a", "&"], ["c"]),
        ("{a,b}.txt", ["a.txt", "b.txt"], ["c.txt"]),
        ("a{b,c/*}d", ["abd", "ac/xd"], ["ac/x/yd"]),
        ("{a,{b,c}}x", ["ax", "bx", "cx"], ["dx"]),
        ("{,a}b", ["b", "ab"], ["xb"]),
        ("a,b", ["a,b"], ["a"]),
        ("a}", ["a}"], ["a"]),
        (r"\*", ["*"], ["a"]),
    ],
)
def test_a_pattern_matches_what_pulumi_command_matches(
    pattern: str, matched: list[str], missed: list[str]
) -> None:
    rule = globs.compile_pattern(pattern)
    assert [path for path in matched if not rule.fullmatch(path)] == []
    assert [path for path in missed if rule.fullmatch(path)] == []


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a[b", "the pattern 'a[b' cannot be read from '[b' on"),
        ("a[]", "the pattern 'a[]' cannot be read from '[]' on"),
        ("a\\", "the pattern 'a\\\\' cannot be read from '\\\\' on"),
        ("a{b", "the pattern 'a{b' lacks a closing brace"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_quoted(pattern: str, message: str) -> None:
    with pytest.raises(globs.GlobError) as caught:
        globs.compile_pattern(pattern)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (
            ["assets/**", "src/**.js", "!**secret.*"],
            ["assets/logos/logo.svg", "src/index.js"],
        ),
        (["!**secret.*", "src/**.js"], ["src/index.js", "src/secret.js"]),
        (["**", "!src/**", "src/secret.js"], ["assets/logos/logo.svg", "src/secret.js"]),
        ([], []),
    ],
)
def test_rules_apply_in_order_and_files_alone_are_found(
    tmp_path: Path, patterns: list[str], found: list[str]
) -> None:
    for name in ("assets/logos/logo.svg", "src/index.js", "src/secret.js"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "src" / "folder.js").symlink_to(tmp_path / "assets")
    assert globs.find(str(tmp_path), patterns) == found


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        globs.find(str(tmp_path / "no"), ["**"])
