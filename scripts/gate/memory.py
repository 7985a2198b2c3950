"""What earlier gates know of a node's hardware: the blacklist, asked before and written after."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from scripts.blacklist.blacklist import Blacklist, judgement
from scripts.blacklist.entry import gpus_of, instance_of
from scripts.blacklist.sightings import sightings
from scripts.blacklist.store import BlacklistStore
from scripts.errors import UnknownError
from scripts.gate.ports import NodeState, Progress
from scripts.gate.verdict import WaveVerdict
from scripts.node.judge import NodeJudgement
from scripts.text import names

__all__ = ["Memory"]


class Memory:
    """The blacklist as one run sees it. Without a store, nothing is known and nothing is kept."""

    def __init__(self, store: BlacklistStore | None, progress: Progress) -> None:
        self._store = store
        self._progress = progress
        self._known = Blacklist()

    def recall(self) -> None:
        """Read the blacklist.

        Raises
        ------
        UnknownError
            If it cannot be read: whoever is on it must not slip through.
        """
        if self._store:
            self._known = self._store.read()

    def of_instances(self, nodes: Iterable[NodeState], now: datetime) -> dict[str, NodeJudgement]:
        """Return the judgement on each node whose instance is listed."""
        found: dict[str, NodeJudgement] = {}
        for node in nodes:
            entry = self._known.listed((), instance_of(node.provider_id), now)
            if entry:
                found[node.name] = judgement(entry)
        return found

    def of_gpus(self, check: NodeJudgement, now: datetime) -> NodeJudgement:
        """Return the judgement on a node whose GPUs are listed, else its ``check`` as it is."""
        entry = self._known.listed(gpus_of(check.gpus), "", now)
        return replace(judgement(entry), facts=check.facts, gpus=check.gpus) if entry else check

    def keep(
        self,
        verdict: WaveVerdict,
        checks: Mapping[str, NodeJudgement],
        now: datetime,
        *,
        digests: Mapping[str, str] | None = None,
        report: str = "",
    ) -> None:
        """Enter the hardware that was proved bad. That this fails changes no verdict.

        ``digests`` (by node, of the log in which it failed) and the path of the ``report`` are kept
        as evidence.
        """
        found = sightings(verdict, checks, now, digests=digests, report=report)
        if self._store is None or not found:
            return
        try:
            self._store.add(*found)
        except UnknownError as error:
            self._progress(f"the blacklist could not be written: {error}")
        else:
            self._progress(f"entered in the blacklist: {names([each.node for each in found])}")
