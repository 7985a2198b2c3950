"""Which bad nodes are replaced: the rules as a table, and the order as it is given."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from lightkube import ApiError

from scripts.blacklist.blacklist import Blacklist, judgement
from scripts.blacklist.entry import Entry, Gpu
from scripts.blacklist.policy import Cause
from scripts.blacklist.store import BlacklistStore
from scripts.errors import UnknownError
from scripts.gate.ports import Condition, NodeState
from scripts.gate.replace import Case, Replaced, Replacing, guests, may_replace
from scripts.gate.sent_back import SentBack, SentBackStore
from scripts.gate.verdict import NodeVerdict, WaveVerdict
from scripts.node.finding import NodeFinding
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict
from tests.gate.fake import IMAGE, P5
from tests.records.fake import MemoryShelf

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
RUN = "20261201-080000-ab12"

GOOD = NodeJudgement(Verdict.PASS, Severity.PASS, (), gpus=({"serial": "1651923000001"},))


def failed(check: str, severity: Severity, serial: str = "1651923000002") -> NodeJudgement:
    """Judge a node bad by one check."""
    finding = NodeFinding(check, severity, "it is broken")
    return NodeJudgement(Verdict.FAIL, severity, (finding,), gpus=({"serial": serial},))


LOST = failed("gpus", Severity.ISOLATE)
RESET = failed("ecc", Severity.RESET, "1651923000003")
NO_PLUGIN = failed("devices", Severity.RESET, "1651923000004")


def listed(node: str, serial: str = "1651923000002") -> Entry:
    return Entry(
        schema=1,
        cause=Cause.LINK,
        reason="its link is slow",
        instance_id=f"i-{node}",
        gpus=(Gpu(serial=serial),),
        by="yard gate",
        at=NOW,
    )


LISTED = replace(judgement(listed("somewhere-else")), gpus=LOST.gpus)
"""What the gate says of hardware that the blacklist knows from another instance."""

LISTED_INSTANCE = judgement(listed("a"))
"""What it says of an instance that is listed itself: it is not tested, so no GPU is known."""


def state(name: str, **facts: Any) -> NodeState:  # noqa: ANN401 - any fact of a node
    known = NodeState(
        name=name,
        instance_type=P5,
        provider_id=f"aws:///us-east-1a/i-{name}",
        wave="1",
        ready=True,
        passed=False,
        devices={},
    )
    return replace(known, **facts)


def wave(verdicts: Mapping[str, Verdict], asked: int = 10) -> WaveVerdict:
    return WaveVerdict(
        run=RUN,
        pool="train",
        wave="1",
        instance_type=P5,
        image=IMAGE,
        asked=asked,
        started=NOW,
        nodes=[
            NodeVerdict(
                name=name, provider_id=state(name).provider_id, verdict=each, reason="it is broken"
            )
            for name, each in verdicts.items()
        ],
    )


def sent(
    instance: str,
    serial: str = "1651923099999",
    *,
    days: float = 1,
    wave: str = "1",
    run: str = "earlier",
) -> SentBack:
    return SentBack(
        schema=1,
        instance_id=instance,
        gpus=(Gpu(serial=serial),),
        node="node",
        pool="train",
        wave=wave,
        run=run,
        reason="it is broken",
        at=NOW - timedelta(days=days),
    )


def case(checks: Mapping[str, NodeJudgement], asked: int = 10, **more: Any) -> Case:  # noqa: ANN401 - any part
    """Make a wave in which the nodes of these checks are bad, and one is good."""
    verdicts = {**dict.fromkeys(checks, Verdict.FAIL), "good": Verdict.PASS}
    found = Case(
        verdict=wave(verdicts, asked),
        checks={**checks, "good": GOOD},
        members=[state(name) for name in verdicts],
        now=NOW,
        most=2,
    )
    return replace(found, **more)


AGENT = "AcceleratedHardwareReady"


def reporting(kind: str, status: str, reason: str) -> dict[str, Any]:
    said = {"Ready": Condition("True", "KubeletReady"), kind: Condition(status, reason)}
    return {"members": [state("a", conditions=said), state("good")]}


CHOSEN: list[tuple[str, Case]] = [
    ("a lost GPU", case({"a": LOST})),
    ("a slow fabric: its own check passed", case({"a": GOOD})),
    ("hardware that the blacklist knows", case({"a": LISTED})),
    ("an instance that the blacklist knows", case({"a": LISTED_INSTANCE})),
    ("hardware that came back once", case({"a": LOST}, past=[sent("i-x", "1651923000002")])),
    ("what another wave used of its budget", case({"a": LOST}, past=[sent("i-x", wave="2")] * 2)),
    ("what was used before the budget's span", case({"a": LOST}, past=[sent("i-x", days=8)] * 2)),
    (
        "an order that was given and perhaps not heard",
        case({"a": LOST}, most=1, past=[sent("i-a", "1651923000002", run=RUN)]),
    ),
    ("another node's pods", case({"a": LOST}, guests={"good": ["team/job-0"]})),
    ("an agent that is content", case({"a": LOST}, **reporting(AGENT, "True", "Fine"))),
    ("an agent that says nothing", case({"a": LOST}, **reporting(AGENT, "Unknown", "Silent"))),
    (
        "a report on which EKS does nothing",
        case({"a": LOST}, **reporting(AGENT, "False", "DCGMError")),
    ),
    (
        "a report where EKS repairs nothing",
        case({"a": LOST}, repaired=False, **reporting(AGENT, "False", "NvidiaXID79Error")),
    ),
    ("a condition of somebody else", case({"a": LOST}, **reporting("Custom", "False", "Why"))),
]


@pytest.mark.parametrize("given", [pytest.param(given, id=name) for name, given in CHOSEN])
def test_a_node_whose_hardware_is_bad_is_replaced(given: Case) -> None:
    choice = may_replace(given)
    assert (choice.nodes, choice.left) == (("a",), {})


AGAIN = (
    "the same hardware was sent back 2 times and has come again: give the instance back to AWS "
    "support, or use another reservation"
)

LEFT: list[tuple[Case, str]] = [
    (case({"a": NO_PLUGIN}), "no hardware failed, and what did would fail on another instance too"),
    (
        case({"a": LOST}, problem="every pair failed"),
        "the wave failed as a whole, which no other instance would change",
    ),
    (
        case({"a": LOST}, guests={"a": ["team/job-0", "other/job-1"]}),
        "pods run on it that its end would end: other/job-1, team/job-0",
    ),
    (
        case({"a": LOST}, **reporting(AGENT, "False", "NvidiaXID79Error")),
        "EKS repairs it: AcceleratedHardwareReady is False (NvidiaXID79Error)",
    ),
    (
        case({"a": LOST}, **reporting(AGENT, "False", "NotYetInTheCatalog")),
        "EKS repairs it: AcceleratedHardwareReady is False (NotYetInTheCatalog)",
    ),
    (
        case(
            {"a": failed("agent", Severity.ISOLATE)},
            **reporting(AGENT, "False", "NvidiaXID79Error"),
        ),
        "EKS repairs it: AcceleratedHardwareReady is False (NvidiaXID79Error)",
    ),
    (
        case({"a": LOST}, **reporting("KernelReady", "False", "SoftLockup")),
        "EKS repairs it: KernelReady is False (SoftLockup)",
    ),
    (
        case({"a": LOST}, **reporting("Ready", "Unknown", "NodeStatusUnknown")),
        "EKS repairs it: Ready is Unknown (NodeStatusUnknown)",
    ),
    (
        case({"a": LOST}, past=[sent("i-x", "1651923000002"), sent("i-y", "1651923000002")]),
        AGAIN,
    ),
    (
        case(
            {"a": LISTED_INSTANCE},
            listed=Blacklist([listed("a")]),
            past=[sent("i-x", "1651923000002", days=90), sent("i-y", "1651923000002", days=80)],
        ),
        AGAIN,
    ),
    (
        case({"a": LOST}, past=[sent("i-x"), sent("i-y")]),
        "2 nodes of the wave may be replaced in 7 days",
    ),
    (
        case({"a": LOST}, most=5, past=[sent("i-x", run=RUN), sent("i-y", run=RUN)]),
        "one run over 10 nodes replaces 2 nodes at most",
    ),
    (case({"a": LOST}, members=[state("good")]), "its instance is gone already"),
    (case({"a": NO_PLUGIN}, members=[]), "its instance is gone already"),
    (
        case({"a": LOST}, members=[state("a", provider_id="aws:///us-east-1a/i-new")]),
        "its instance is gone already",
    ),
]


@pytest.mark.parametrize(("given", "why"), LEFT, ids=[why for _, why in LEFT])
def test_a_bad_node_stays_where_replacing_it_would_not_be_right(given: Case, why: str) -> None:
    choice = may_replace(given)
    assert (choice.nodes, choice.left) == ((), {"a": why})


def test_a_node_that_is_no_instance_stays() -> None:
    given = case({"a": LOST})
    strange = "kind://docker/a"
    given.verdict.nodes[0] = replace(given.verdict.nodes[0], provider_id=strange)
    given = replace(given, members=[state("a", provider_id=strange)])
    assert may_replace(given).left == {"a": f"its provider id {strange} names no EC2 instance"}


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.PASS])
def test_nobody_is_replaced_who_is_not_bad(verdict: Verdict) -> None:
    given = replace(case({"a": LOST}), verdict=wave({"a": verdict}))
    assert may_replace(given).nodes == ()
    assert may_replace(given).left == {}


def test_without_a_budget_nothing_is_said_either() -> None:
    choice = may_replace(case({"a": LOST}, most=0))
    assert (choice.nodes, choice.left) == ((), {})


@pytest.mark.parametrize(
    ("asked", "most", "chosen"),
    [(20, 3, ("b", "c", "d")), (20, 1, ("b",)), (10, 9, ("b", "c")), (4, 9, ("b",))],
)
def test_the_gravest_go_first_within_the_budget_and_what_a_run_may(
    asked: int, most: int, chosen: tuple[str, ...]
) -> None:
    bad = {"a": GOOD, "b": LOST, "c": RESET, "d": RESET}
    assert may_replace(case(bad, asked, most=most)).nodes == (*chosen,)


def test_what_this_gate_sent_back_counts_for_its_run_and_is_not_asked_for_again() -> None:
    given = case({"a": LOST, "b": LOST}, most=9, ours={"i-x", "i-b"})
    given = replace(given, past=[sent("i-x", days=0), sent("i-b", days=0)])
    most = "one run over 10 nodes replaces 2 nodes at most"
    assert (may_replace(given).nodes, may_replace(given).left) == ((), {"a": most})


def pod(name: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any part of a pod
    meta = {"name": name, "namespace": "team", **more.pop("metadata", {})}
    return {"metadata": meta, "spec": {"nodeName": "a"}, "status": {"phase": "Running"}, **more}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (pod("job-0"), {"a": ["team/job-0"]}),
        (pod("job-0", status={"phase": "Pending"}), {"a": ["team/job-0"]}),
        (pod("job-0", status={"phase": "Succeeded"}), {}),
        (pod("job-0", spec={}), {}),
        (pod("plugin", metadata={"ownerReferences": [{"kind": "DaemonSet"}]}), {}),
        (pod("set-0", metadata={"ownerReferences": [{"kind": "Job"}]}), {"a": ["team/set-0"]}),
        (pod("check", metadata={"labels": {"app.kubernetes.io/name": "trainyard-gate"}}), {}),
        (pod("proxy", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}), {}),
    ],
    ids=["running", "starting", "ended", "nowhere", "DaemonSet", "Job", "the gate's", "mirror"],
)
def test_pods_that_a_node_takes_with_it_are_found(
    given: dict[str, Any], found: dict[str, list[str]]
) -> None:
    assert guests([given]) == found


@dataclass
class FakeReplacer:
    """Ends every instance, but of those nodes that it is told not to."""

    refuses: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    unheard: frozenset[str] = frozenset()

    def replace(self, nodes: Sequence[NodeState]) -> Replaced:
        self.asked += [node.name for node in nodes]
        done = {node.name: node.provider_id for node in nodes if node.name not in self.refuses}
        return Replaced(done, self.refuses, self.unheard)

    def trouble(self) -> str:
        return ""


def no_pods(_names: Collection[str]) -> Mapping[str, Sequence[str]]:
    return {}


def run(
    replacer: FakeReplacer,
    shelf: MemoryShelf,
    given: Case,
    lines: list[str],
    pods: Callable[[Collection[str]], Mapping[str, Sequence[str]]] = no_pods,
) -> Replaced:
    store = SentBackStore(shelf)
    replacing = Replacing(
        replacer,
        store,
        lines.append,
        most=given.most,
        blacklist=BlacklistStore(MemoryShelf()),
    )
    return replacing.run(
        given.verdict, given.checks, given.members, problem=given.problem, pods=pods, now=NOW
    )


def test_what_is_replaced_is_told_and_remembered() -> None:
    replacer, shelf, lines = FakeReplacer(), MemoryShelf(), list[str]()
    replaced = run(replacer, shelf, case({"a": LOST, "b": NO_PLUGIN}), lines)
    assert replaced.ordered == {"a": "aws:///us-east-1a/i-a"}
    assert list(replaced.left) == ["b"]
    assert lines == [
        "b is not replaced: no hardware failed, and what did would fail on another instance too",
        "replacing a",
    ]
    [kept] = SentBackStore(shelf).read()
    assert (kept.instance_id, kept.node, kept.run, kept.at) == ("i-a", "a", RUN, NOW)
    assert kept.keys == {"serial 1651923000002"}


def test_a_gate_that_tests_its_new_nodes_does_not_ask_for_the_old_ones_again() -> None:
    replacer, lines, given = FakeReplacer(), list[str](), case({"a": LOST})
    replacing = Replacing(replacer, SentBackStore(MemoryShelf()), lines.append, most=9)
    for members in (given.members, ()):
        replacing.run(given.verdict, given.checks, members, problem="", pods=no_pods, now=NOW)
    assert (replacer.asked, lines) == (["a"], ["replacing a"])


def test_the_budget_holds_from_run_to_run() -> None:
    replacer, shelf, lines = FakeReplacer(), MemoryShelf(), list[str]()
    run(replacer, shelf, case({"a": LOST}, most=1), lines)
    again = run(replacer, shelf, case({"b": LOST}, most=1), lines)
    assert replacer.asked == ["a"]
    assert again.left == {"b": "1 node of the wave may be replaced in 7 days"}


def test_what_aws_refuses_stays_and_is_no_part_of_the_budget() -> None:
    refused = {"a": "AWS refused it: ScalingActivityInProgress"}
    shelf, lines = MemoryShelf(), list[str]()
    replaced = run(FakeReplacer(refused), shelf, case({"a": LOST}), lines)
    assert replaced == Replaced({}, refused)
    assert lines == ["a is not replaced: AWS refused it: ScalingActivityInProgress"]
    assert SentBackStore(shelf).read() == ()


def test_an_order_that_may_have_been_heard_stays_part_of_the_budget() -> None:
    shelf, lines = MemoryShelf(), list[str]()
    silent = FakeReplacer({"a": "AWS could not be asked"}, unheard=frozenset({"a"}))
    run(silent, shelf, case({"a": LOST}, most=1), lines)
    then = run(FakeReplacer(), shelf, case({"b": LOST}, most=1), lines)
    assert then.left == {"b": "1 node of the wave may be replaced in 7 days"}


def test_a_killed_gate_gives_its_order_again_and_counts_it_once() -> None:
    shelf, lines = MemoryShelf(), list[str]()

    class Killed(FakeReplacer):
        def replace(self, nodes: Sequence[NodeState]) -> Replaced:
            raise KeyboardInterrupt(str(nodes))

    given = case({"a": LOST}, most=1)
    with pytest.raises(KeyboardInterrupt):
        run(Killed(), shelf, given, lines)
    replacer = FakeReplacer()
    assert run(replacer, shelf, given, lines).ordered == {"a": "aws:///us-east-1a/i-a"}
    assert len(SentBackStore(shelf).read()) == 1


def test_where_nothing_is_bad_nothing_is_read() -> None:
    def never(_names: Collection[str]) -> Mapping[str, Sequence[str]]:
        raise AssertionError("pods were listed")

    replaced = run(FakeReplacer(), MemoryShelf(), case({}), [], never)
    assert replaced == Replaced()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            UnknownError("list Pods: the Kubernetes API does not answer"),
            "list Pods: the Kubernetes API does not answer",
        ),
        (
            ApiError(response=httpx2.Response(403, json={"message": "no", "code": 403})),
            "no",
        ),
    ],
    ids=["silent", "forbidden"],
)
def test_what_cannot_be_read_replaces_nothing_and_is_told(error: Exception, said: str) -> None:
    def unread(_names: Collection[str]) -> Mapping[str, Sequence[str]]:
        raise error

    replacer, lines = FakeReplacer(), list[str]()
    replaced = run(replacer, MemoryShelf(), case({"a": LOST}), lines, unread)
    assert lines == [f"nothing is replaced: {said}"]
    assert replaced == Replaced(left={"a": f"it could not be decided: {said}"})
    assert replacer.asked == []


def test_a_document_that_somebody_spoilt_is_named() -> None:
    shelf = MemoryShelf()
    shelf.add("i-a", "{}")
    with pytest.raises(UnknownError) as caught:
        SentBackStore(shelf).read()
    assert str(caught.value) == (
        "what is kept of the replaced instance i-a cannot be read (instance_id: Field required); "
        "restore or delete ConfigMap replaced-i-a"
    )


def test_what_was_sent_back_long_ago_is_forgotten() -> None:
    shelf = MemoryShelf()
    store = SentBackStore(shelf)
    for each in (sent("i-old", days=366), sent("i-new", days=364)):
        store.add(each)
    run(FakeReplacer(), shelf, case({"a": NO_PLUGIN}), [])
    assert [each.instance_id for each in store.read()] == ["i-new"]
