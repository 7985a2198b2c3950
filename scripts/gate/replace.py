"""Bad nodes are replaced: which of them may be, and the order to do it.

The rules are pure: :func:`may_replace` looks at a :class:`Case` and says of each bad node whether
it is replaced, or why not. :class:`Replacing` asks them, orders what they allow, and remembers it.
Nothing here changes a verdict: what is not replaced stays out as it was.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from lightkube import ApiError

from components.catalog import instance_type
from components.catalog.nodes import repairs
from components.catalog.replacement import replacement
from scripts.blacklist.blacklist import CHECK, Blacklist
from scripts.blacklist.entry import REASON_LENGTH, Gpu, gpus_of, instance_of
from scripts.blacklist.policy import Cause
from scripts.blacklist.sightings import sightings
from scripts.blacklist.store import BlacklistStore
from scripts.errors import UnknownError
from scripts.gate.isolate import allowance
from scripts.gate.jobs import OURS
from scripts.gate.objects import Manifest, items, labels, mapping
from scripts.gate.ports import NodeState, Progress
from scripts.gate.sent_back import SentBack, SentBackStore
from scripts.gate.verdict import NodeVerdict, WaveVerdict
from scripts.node.judge import NodeJudgement
from scripts.text import names, words
from scripts.verdicts import Verdict

__all__ = [
    "Case",
    "Choice",
    "Replaced",
    "Replacer",
    "Replacing",
    "guests",
    "may_replace",
]

NO_ACTION: Final = "NoAction"
READY: Final = "Ready"
HEALTHY, BAD = "True", "False"
ENDED: Final = frozenset({"Succeeded", "Failed"})
MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of a pod that the kubelet started by itself from a file of its node."""

Guests = Callable[[Collection[str]], Mapping[str, Sequence[str]]]
"""Gives, of nodes, the pods on each that nothing but the node's end would end."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What came of the order to replace nodes.

    ``ordered``: name -> provider id of each node whose instance ends, or has ended. ``left``: name
    -> one sentence on why that bad node stays. ``unheard``: those of ``left`` whose order may have
    been heard, though no answer came.
    """

    ordered: Mapping[str, str] = field(default_factory=dict[str, str])
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    unheard: frozenset[str] = frozenset()


class Replacer(Protocol):
    """Has instances ended and others started in their place."""

    def replace(self, nodes: Sequence[NodeState]) -> Replaced:
        """End the instances of nodes; their group starts others. An error leaves its node."""
        ...

    def trouble(self) -> str:
        """Return in one sentence why no other instance came; empty where nothing is known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """All that decides whether the bad nodes of a wave are replaced.

    Parameters
    ----------
    verdict
        What came of the wave, its measurements included.
    checks
        The judgement on each node by itself.
    members
        The nodes of the wave.
    now
        The time.
    most
        How many of the wave may be replaced within the span of a budget, over all runs.
    problem
        Why the wave failed as a whole; empty where it did not.
    guests
        Pods on each node that are neither a DaemonSet's nor the gate's.
    repaired
        Whether EKS repairs nodes of this wave by itself.
    past
        What was sent back before.
    ours
        Instances that this gate has sent back itself.
    listed
        The blacklist.
    """

    verdict: WaveVerdict
    checks: Mapping[str, NodeJudgement]
    members: Sequence[NodeState]
    now: datetime
    most: int
    problem: str = ""
    guests: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    repaired: bool = True
    past: Sequence[SentBack] = ()
    ours: Collection[str] = ()
    listed: Blacklist = field(default_factory=Blacklist)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which nodes are replaced, the gravest first, and why each other bad one is not."""

    nodes: tuple[str, ...]
    left: Mapping[str, str]


def may_replace(case: Case) -> Choice:
    """Return which nodes of a wave may be replaced; only such whose hardware was proved bad."""
    bad = [
        node
        for node in case.verdict.nodes
        if node.verdict is Verdict.FAIL and instance_of(node.provider_id) not in case.ours
    ]
    if case.most < 1 or not bad:
        return Choice((), {})
    if case.problem:
        why = "the wave failed as a whole, which no other instance would change"
        return Choice((), {node.name: why for node in bad})
    proved = _proved(case)
    states = {node.name: node for node in case.members}
    left: dict[str, str] = {}
    chosen: list[str] = []
    before = {sent.instance_id for sent in case.past}
    room, full = _room(case)
    for node in sorted(bad, key=lambda node: (proved.get(node.name, len(Cause)), node.name)):
        why = next(_objections(case, node, states.get(node.name), proved), "")
        # An order that was given and perhaps not heard is given again; it was counted then.
        again = instance_of(node.provider_id) in before
        if why or (room < 1 and not again):
            left[node.name] = why or full
        else:
            chosen.append(node.name)
            room -= not again
    return Choice(tuple(chosen), left)


def guests(pods: Iterable[Manifest]) -> dict[str, list[str]]:
    """Return the pods on each node that are neither a DaemonSet's, the kubelet's nor the gate's."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        node = mapping(pod, "spec").get("nodeName")
        if node and not _may_go(pod):
            meta = pod["metadata"]
            found.setdefault(node, []).append(f"{meta.get('namespace', 'default')}/{meta['name']}")
    return found


class Replacing:
    """Replaces bad nodes of one wave within its budget, and remembers what it sent back."""

    def __init__(
        self,
        replacer: Replacer,
        store: SentBackStore,
        progress: Progress,
        *,
        most: int,
        repaired: bool = True,
        blacklist: BlacklistStore | None = None,
    ) -> None:
        self._replacer = replacer
        self._store = store
        self._progress = progress
        self._most = most
        self._repaired = repaired
        self._blacklist = blacklist
        self._ours: set[str] = set()

    def run(
        self,
        verdict: WaveVerdict,
        checks: Mapping[str, NodeJudgement],
        members: Sequence[NodeState],
        *,
        problem: str,
        pods: Guests,
        now: datetime,
    ) -> Replaced:
        """Replace what may be; what cannot be read or asked for replaces nothing."""
        bad = {node.name for node in verdict.nodes if node.verdict is Verdict.FAIL}
        if self._most < 1 or not bad:
            return Replaced()
        try:
            past = self._store.read()
            case = Case(
                verdict=verdict,
                checks=checks,
                members=members,
                now=now,
                most=self._most,
                problem=problem,
                guests=pods(bad),
                repaired=self._repaired,
                past=past,
                ours=self._ours,
                listed=self._blacklist.read() if self._blacklist else Blacklist(),
            )
            self._store.forget(past, now)
            replaced = self._order(case)
        except (ApiError, UnknownError) as error:
            self._progress(f"nothing is replaced: {error}")
            return Replaced(left=dict.fromkeys(sorted(bad), f"it could not be decided: {error}"))
        for name, why in replaced.left.items():
            self._progress(f"{name} is not replaced: {why}")
        if replaced.ordered:
            self._progress(f"replacing {names(list(replaced.ordered))}")
        return replaced

    def _order(self, case: Case) -> Replaced:
        choice = may_replace(case)
        chosen = {node.name: node for node in case.members if node.name in choice.nodes}
        sent = {name: _sent(case, chosen[name]) for name in choice.nodes}
        for each in sent.values():
            self._store.add(each)
        done = self._replacer.replace([chosen[name] for name in choice.nodes])
        # What may have been heard has spent its budget; the next run gives that order again.
        for name in done.left.keys() - done.unheard:
            self._store.take_back(sent[name])
        self._ours |= {sent[name].instance_id for name in done.ordered}
        return Replaced(done.ordered, {**choice.left, **done.left})


def _proved(case: Case) -> dict[str, int]:
    """Return the nodes whose hardware was proved bad, now or earlier; the gravest have 0."""
    order = list(Cause)
    seen = sightings(case.verdict, case.checks, case.now)
    found = {entry.node: order.index(entry.cause) for entry in seen}
    for name, check in case.checks.items():
        if any(each.check == CHECK and each.verdict is Verdict.FAIL for each in check.findings):
            found[name] = 0
    return found


def _objections(
    case: Case, node: NodeVerdict, state: NodeState | None, proved: Collection[str]
) -> Iterator[str]:
    """Yield what speaks against replacing a node, other than the budget."""
    if state is None or state.provider_id != node.provider_id:
        yield "its instance is gone already"
        return
    if case.repaired:
        yield from _repairs(case.verdict.instance_type, state)
    if node.name not in proved:
        yield "no hardware failed, and what did would fail on another instance too"
    instance = instance_of(node.provider_id)
    if not instance:
        yield f"its provider id {node.provider_id or '(none)'} names no EC2 instance"
    keys = {key for gpu in _gpus(case, node) for key in gpu.keys}
    times = sum(
        sent.instance_id != instance and not sent.keys.isdisjoint(keys) for sent in case.past
    )
    if times >= replacement().limits.times:
        yield (
            f"the same hardware was sent back {times} times and has come again: give the instance "
            "back to AWS support, or use another reservation"
        )
    if case.guests.get(node.name):
        yield f"pods run on it that its end would end: {names(case.guests[node.name])}"


def _repairs(kind: str, node: NodeState) -> Iterator[str]:
    """Yield what EKS repairs by itself: two that end instances at once would end one too many."""
    accelerator, known = instance_type(kind).accelerator, repairs()
    actions = known.reasons[accelerator.vendor] if accelerator else dict[str, str]()
    for name, condition in sorted(node.conditions.items()):
        ours = name in {known.condition, *replacement().repaired.conditions}
        # An agent that says nothing is no reason to repair; a kubelet that says nothing is.
        bad = condition.status == BAD or (name == READY and condition.status != HEALTHY)
        if ours and bad and actions.get(condition.reason) != NO_ACTION:
            yield f"EKS repairs it: {name} is {condition.status} ({condition.reason})"


def _room(case: Case) -> tuple[int, str]:
    """Return how many more may be replaced, and what to say to those for whom none is left."""
    verdict, limits = case.verdict, replacement().limits
    of_wave = [
        sent
        for sent in case.past
        if (sent.pool, sent.wave) == (verdict.pool, verdict.wave)
        and sent.at > case.now - limits.budget_span
    ]
    in_run = sum(sent.run == verdict.run or sent.instance_id in case.ours for sent in of_wave)
    of_run, of_budget = allowance(verdict.asked) - in_run, case.most - len(of_wave)
    if of_run < of_budget:
        most = words(allowance(verdict.asked), "node")
        return of_run, f"one run over {words(verdict.asked, 'node')} replaces {most} at most"
    return of_budget, (
        f"{words(case.most, 'node')} of the wave may be replaced in {limits.budget_days} days"
    )


def _gpus(case: Case, node: NodeVerdict) -> tuple[Gpu, ...]:
    """Return the GPUs of a node: of its check, else of what the blacklist says of its instance."""
    check = case.checks.get(node.name)
    found = gpus_of(check.gpus) if check else ()
    if found:
        return found
    entries = case.listed.about((), instance_of(node.provider_id))
    return next((entry.gpus for entry in reversed(entries) if entry.gpus), ())


def _sent(case: Case, node: NodeState) -> SentBack:
    [told] = [each for each in case.verdict.nodes if each.name == node.name]
    return SentBack(
        schema=1,
        instance_id=instance_of(node.provider_id),
        gpus=_gpus(case, told),
        node=node.name,
        pool=case.verdict.pool,
        wave=case.verdict.wave,
        run=case.verdict.run,
        reason=told.reason[:REASON_LENGTH],
        at=case.now,
    )


def _may_go(pod: Manifest) -> bool:
    if labels(pod).items() >= OURS.items():
        return True
    if mapping(pod, "status").get("phase") in ENDED or MIRROR in mapping(
        pod, "metadata", "annotations"
    ):
        return True
    owners = items(pod, "metadata", "ownerReferences")
    return any(owner.get("kind") == "DaemonSet" for owner in owners)
