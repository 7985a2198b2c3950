"""Nodes that go while Jobs run on them: nobody waits for these Jobs until their time is over.

A Job that needs a node that is gone never ends by itself, and its time limit is made for slow runs.
A kubelet that is restarted comes back within seconds; so a node counts as gone after a while only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scripts.gate.objects import Manifest, items

__all__ = ["GONE_SECONDS", "Absences", "is_ready"]

GONE_SECONDS: Final = 60.0
"""For so long a node must not be Ready; the API says so 40 s after the kubelet's last word."""

LOOK_SECONDS: Final = 15.0
"""Between two looks at all nodes."""


@dataclass(slots=True)
class Absences:
    """Watches nodes during one round.

    ``nodes`` lists Node objects, ``monotonic`` is the clock.
    """

    nodes: Callable[[], list[Manifest]]
    monotonic: Callable[[], float]
    _since: dict[str, float] = field(default_factory=dict[str, float])
    _known: set[str] = field(default_factory=set[str])
    _looked: float | None = None

    def gone(self) -> Mapping[str, float]:
        """Return the nodes that are gone, and for how many seconds nobody has seen them Ready.

        A node that was never listed is not among them.
        """
        now = self.monotonic()
        if self._looked is None or now - self._looked >= LOOK_SECONDS:
            self._look(now)
        absent = ((name, now - since) for name, since in self._since.items())
        return {name: seconds for name, seconds in absent if seconds >= GONE_SECONDS}

    def _look(self, now: float) -> None:
        found = {node["metadata"]["name"]: is_ready(node) for node in self.nodes()}
        self._looked = now
        self._known |= found.keys()
        for name in self._known:
            if found.get(name, False):
                self._since.pop(name, None)
            else:
                self._since.setdefault(name, now)


def is_ready(node: Manifest) -> bool:
    """Tell whether the API calls a Node object Ready."""
    conditions = items(node, "status", "conditions")
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
