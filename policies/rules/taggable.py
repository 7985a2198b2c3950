"""Which kinds of AWS resource take tags: ``taggable.txt``, made from the installed SDK.

Make it anew with ``cd policies && python -c 'import rules.taggable as t; t.refresh()'``. The SDK's
text is read instead of imported, which would take half a minute for its 2,000 classes.
"""

import re
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

_TOKEN = re.compile(r'^@pulumi\.type_token\("([^"]+)"\)$', re.MULTILINE)
LIST = Path(__file__).with_suffix(".txt")


@cache
def taggable() -> frozenset[str]:
    """Kinds of AWS resource that take tags."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def render() -> str:
    """List the kinds whose class has ``tags_all``, under a line that says where from."""
    package = distribution("pulumi_aws")
    tokens: set[str] = set()
    for file in package.files or ():
        if file.suffix != ".py" or file.name.startswith("_"):
            continue
        source = Path(str(package.locate_file(file))).read_text(encoding="utf-8")
        if "def tags_all(" in source:
            tokens.update(_TOKEN.findall(source))
    heading = f"# Kinds with tagsAll in pulumi-aws {package.version}; made by taggable.py."
    return "\n".join([heading, *sorted(tokens), ""])


def refresh() -> None:
    """Write the list anew."""
    LIST.write_text(render(), encoding="utf-8")
