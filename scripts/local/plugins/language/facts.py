"""Print what a Python is made of; run by the Python in question, so it imports nothing of ours.

``facts.py version`` prints the version, ``facts.py direct`` the packages that no other package
asks for, and ``facts.py all`` every package, both as a JSON object of names and versions.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from importlib import metadata


def packages(*, direct: bool) -> dict[str, str]:
    """Give the installed packages, or only those that no other package asks for."""
    found = {_normal(each.name): each for each in metadata.distributions()}
    asked = {
        _normal(match.group())
        for each in found.values()
        for requirement in each.requires or ()
        if (match := re.match(r"[A-Za-z0-9._-]+", requirement))
    }
    return {
        each.name: each.version
        for name, each in sorted(found.items())
        if not (direct and name in asked)
    }


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(question: str) -> None:
    """Answer one question on stdout."""
    if question == "version":
        answer = platform.python_version()
    else:
        answer = json.dumps(packages(direct=question == "direct"))
    sys.stdout.write(answer)


if __name__ == "__main__":
    main(sys.argv[1])
