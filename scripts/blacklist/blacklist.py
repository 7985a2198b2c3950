"""The blacklist as it stands: who is on it. Pure, over entries that were read."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from scripts.blacklist.entry import Entry, Gpu
from scripts.blacklist.policy import Policy
from scripts.node.finding import NodeFinding
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict

__all__ = ["CHECK", "Blacklist", "judgement"]

CHECK = "blacklist"
"""The check that a listed node fails; as ``other`` in the policy it makes no new entry."""


class Blacklist:
    """Entries, and the question whether hardware is among them."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: (entry.at, entry.id)))
        self._by_key: dict[str, list[Entry]] = {}
        for entry in self.entries:
            for key in {*entry.keys, _instance(entry.instance_id)} - {""}:
                self._by_key.setdefault(key, []).append(entry)

    def about(self, gpus: Iterable[Gpu], instance_id: str = "") -> tuple[Entry, ...]:
        """Return every entry about this hardware, also those that are over, oldest first."""
        keys = {key for gpu in gpus for key in gpu.keys} | {_instance(instance_id)}
        found = {entry.id: entry for key in keys for entry in self._by_key.get(key, ())}
        return tuple(sorted(found.values(), key=lambda entry: (entry.at, entry.id)))

    def listed(self, gpus: Iterable[Gpu], instance_id: str, now: datetime) -> Entry | None:
        """Return the entry that keeps this hardware out at ``now``, or None.

        Of several, the one that holds longest.
        """
        standing = [entry for entry in self.about(gpus, instance_id) if entry.holds(now)]
        return max(standing, key=_end, default=None)

    def standing(self, now: datetime) -> tuple[Entry, ...]:
        """Return the entries that hold at ``now``, oldest first."""
        return tuple(entry for entry in self.entries if entry.holds(now))

    def with_term(self, entry: Entry, policy: Policy) -> Entry:
        """Return ``entry`` with the end that the policy gives it, by what came before."""
        since = entry.at - timedelta(days=policy.repeats.within_days)
        earlier = sum(
            before.cleared is None and since <= before.at <= entry.at
            for before in self.about(entry.gpus, entry.instance_id)
            if before.id != entry.id
        )
        until = policy.until(entry.cause, entry.at, earlier)
        return entry.model_copy(update={"until": until, "repeats": earlier})


def judgement(entry: Entry) -> NodeJudgement:
    """Return what the gate's static stage says of a node whose hardware is listed."""
    finding = NodeFinding(
        CHECK,
        Severity.ISOLATE,
        f"{entry}; once it is mended: yard blacklist clear {entry.id} --reason …",
    )
    return NodeJudgement(Verdict.FAIL, Severity.ISOLATE, (finding,))


def _instance(instance_id: str) -> str:
    return f"instance {instance_id}" if instance_id else ""


def _end(entry: Entry) -> tuple[bool, datetime]:
    return entry.until is None, entry.until or entry.at
