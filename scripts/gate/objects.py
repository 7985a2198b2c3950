"""Plain API objects, and how to reach into them where any part may be missing."""

from typing import Any, cast

__all__ = ["Manifest", "items", "labels", "mapping"]

Manifest = dict[str, Any]


def mapping(of: Manifest, *path: str) -> Manifest:
    """Return the object at ``path``; an empty one where there is none."""
    here: Any = of
    for key in path:
        here = cast("Manifest", here).get(key)
        if not isinstance(here, dict):
            return {}
    return cast("Manifest", here)


def items(of: Manifest, *path: str) -> list[Manifest]:
    """Return the list of objects at ``path``; an empty one where there is none."""
    found = mapping(of, *path[:-1]).get(path[-1])
    return cast("list[Manifest]", found) if isinstance(found, list) else []


def labels(of: Manifest) -> dict[str, str]:
    """Return the labels of an object."""
    return mapping(of, "metadata", "labels")
