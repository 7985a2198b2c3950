"""A gate's report as one page that needs nothing else: no script, no network, no other file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from components.catalog.floors import floor
from scripts.gate.stages import Measurement, Stage
from scripts.gate.sweep import PLAIN
from scripts.gate.verdict import NodeVerdict, WaveVerdict
from scripts.pictures.evidence import evidence
from scripts.pictures.gate import pair_map
from scripts.pictures.html import Html, document, tag
from scripts.pictures.reached import Shape, reached
from scripts.text import clock, words
from scripts.verdicts import Verdict

__all__ = ["page", "save"]

STYLE: Final = Path(__file__).with_name("report.css")

STAGE_WORDS: Final[Mapping[str, str]] = {
    Stage.ALONE: "each node alone",
    Stage.PAIRS: "pairs",
    Stage.SWEEP: "sweep",
    Stage.SEARCH: "search",
}

MOST_SHAPES: Final = 24
"""Bars of one picture; a search over a thousand nodes has runs of more sizes than that."""

MOST_ROUNDS: Final = 200

MOST_FINDINGS: Final = 8
"""Of one node: a GPU that is lost is found by a dozen checks."""

MOST_WARNINGS: Final = 40

MOST_NAMES: Final = 48
"""Nodes that are named where their box is open; the names of more are one step further."""

MOST_OPEN: Final = 4
"""Boxes that show what they hold at once; of more, each begins as one line."""

Places = Mapping[str, tuple[str, ...]]


def save(verdict: WaveVerdict, places: Places, folder: Path) -> list[Path]:
    """Write the page, and the picture of the pairs where some were measured, into ``folder``.

    Parameters
    ----------
    verdict
        What the page tells.
    places
        Of each node, the network nodes above it from the widest on; empty where none are known.
    folder
        Where the JSON report stands; it is made if it is not there.

    Returns
    -------
    list[Path]
        What was written, the page first.
    """
    name = f"gate-{verdict.pool}-{verdict.wave}"
    pictures = pair_map(verdict, places)
    files = {folder / f"{name}.html": page(verdict, places)}
    old = folder / f"{name}-pairs.svg"
    if pictures is None:
        old.unlink(missing_ok=True)  # else it would be taken for a picture of this run
    else:
        files[old] = pictures
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return list(files)


def page(verdict: WaveVerdict, places: Places | None = None) -> str:
    """Return the page."""
    title = f"Gate of pool {verdict.pool} wave {verdict.wave}: {verdict.verdict}"
    return document(
        title,
        _style(),
        _head(verdict),
        _tiles(verdict),
        _warnings(verdict),
        _nodes(verdict, Verdict.FAIL, "Bad nodes"),
        _nodes(verdict, Verdict.UNKNOWN, "Held nodes"),
        _replaced(verdict),
        _stages(verdict),
        _bars(verdict),
        _baselines(verdict),
        _pairs(verdict, places),
        tag(
            "p",
            "Every finding, each with the lines of the log that prove it, is beside this page in "
            f"gate-{verdict.pool}-{verdict.wave}.json.",
            class_="soft",
        ),
    )


@cache
def _style() -> str:
    return STYLE.read_text(encoding="utf-8")


def _head(verdict: WaveVerdict) -> Html:
    ended = verdict.ended
    times = f"{verdict.started:%Y-%m-%d %H:%M:%S} UTC"
    if ended:
        spent = clock((ended - verdict.started).total_seconds())
        times += f" to {ended:%Y-%m-%d %H:%M:%S} UTC, {spent}"
    facts = {
        "run": verdict.run,
        "time": times,
        "nodes": f"{verdict.asked:,} of {verdict.instance_type}",
        "image": verdict.image,
    }
    word = str(verdict.verdict)
    said = [tag("p", verdict.message)]
    if verdict.next_step:
        said.append(tag("p", tag("b", "Next: "), verdict.next_step))
    return tag(
        "header",
        tag(
            "h1",
            tag("span", word, class_=f"badge {word}"),
            f"pool {verdict.pool} wave {verdict.wave}",
        ),
        tag("dl", *(part for name, text in facts.items() for part in _fact(name, text))),
        tag("div", *said, class_=f"said {word}"),
    )


def _fact(name: str, text: str) -> tuple[Html, Html]:
    return tag("dt", name), tag("dd", text)


def _tiles(verdict: WaveVerdict) -> Html:
    counts = Counter(node.verdict for node in verdict.nodes)
    effort = verdict.effort
    absent = verdict.asked - len(verdict.nodes)
    shown = [
        ("open", counts[Verdict.PASS], "pass" if counts[Verdict.PASS] else ""),
        ("bad", counts[Verdict.FAIL], "fail" if counts[Verdict.FAIL] else ""),
        ("held, not known", counts[Verdict.UNKNOWN], "unknown" if counts[Verdict.UNKNOWN] else ""),
        *([("never came", absent, "unknown")] if absent > 0 else []),
        *([("replaced", len(verdict.replaced), "")] if verdict.replaced else []),
        ("rounds of pairs", effort.pair_rounds, ""),
        ("sweeps", effort.sweeps, ""),
        ("rounds of search", effort.search_rounds, ""),
    ]
    return tag(
        "div",
        *(
            tag("div", tag("b", f"{count:,}", class_=style), name, class_="tile")
            for name, count, style in shown
        ),
        class_="tiles",
    )


def _warnings(verdict: WaveVerdict) -> Html:
    if not verdict.warnings:
        return Html()
    told = [tag("li", each) for each in verdict.warnings[:MOST_WARNINGS]]
    left = len(verdict.warnings) - MOST_WARNINGS
    rest = [tag("li", words(left, "more warning"))] if left > 0 else []
    return tag("section", tag("h2", "Warnings"), tag("ul", *told, *rest))


def _replaced(verdict: WaveVerdict) -> Html:
    if not verdict.replaced:
        return Html()
    told = [
        tag("li", tag("b", each.name), f" ({each.provider_id}, run {each.run}): {each.reason}")
        for each in verdict.replaced
    ]
    return tag("section", tag("h2", "Replaced"), tag("ul", *told))


def _baselines(verdict: WaveVerdict) -> Html:
    """Tell how the wave stands to what equal runs reached before."""
    if not verdict.baselines:
        return Html()
    rows = [
        tag(
            "tr",
            tag("td", f"{each['collective']} on {words(each['nodes'], 'node')}"),
            tag("td", each["verdict"], class_=each["verdict"]),
            tag("td", each["summary"]),
            tag("td", each["setting"]),
        )
        for each in verdict.baselines
    ]
    heads = ("run", "verdict", "against its baseline", "setting")
    top = tag("tr", *(tag("th", each) for each in heads))
    table = tag("table", tag("thead", top), tag("tbody", *rows))
    return tag("section", tag("h2", "Baselines"), tag("div", table, class_="wide"))


def _nodes(verdict: WaveVerdict, kind: Verdict, title: str) -> Html:
    """Tell the nodes of one verdict; who shares a reason shares a box."""
    sharing: dict[str, list[NodeVerdict]] = {}
    for node in verdict.nodes:
        if node.verdict is kind:
            sharing.setdefault(node.reason, []).append(node)
    if not sharing:
        return Html()
    shown = evidence(verdict.measured)
    opened = len(sharing) <= MOST_OPEN
    boxes = [_box(why, nodes, kind, shown, opened=opened) for why, nodes in sharing.items()]
    return tag("section", tag("h2", title), *boxes)


def _box(
    reason: str,
    nodes: Sequence[NodeVerdict],
    kind: Verdict,
    shown: Mapping[str, Sequence[str]],
    *,
    opened: bool,
) -> Html:
    head, *others = nodes
    name = head.name if not others else words(len(nodes), "node")
    inside = [tag("p", reason)]
    if others:
        named = tag("p", ", ".join(node.name for node in nodes), class_="soft")
        inside.append(named if len(nodes) <= MOST_NAMES else _more("all of their names", named))
    else:
        inside.append(tag("p", head.provider_id, class_="soft"))
        proofs = [*_check(head), *shown.get(head.name, ())]
        inside.append(tag("ul", *(tag("li", each) for each in proofs)))
    return tag(
        "details",
        tag("summary", tag("b", name, class_=str(kind)), tag("span", reason)),
        *inside,
        class_="node",
        open="open" if opened else "",
    )


def _check(node: NodeVerdict) -> list[str]:
    """Return what the check of a node found against it."""
    against = [
        found
        for found in (node.check or {}).get("findings", ())
        if found["verdict"] != Verdict.PASS.value
    ]
    told = [f"check {each['rule']}: {each['message']}{_where(each)}" for each in against]
    left = len(told) - MOST_FINDINGS
    return told[:MOST_FINDINGS] + ([words(left, "more finding")] if left > 0 else [])


def _where(found: Mapping[str, Any]) -> str:
    lines = ", ".join(map(str, found.get("lines", ())))
    return f" (line {lines})" if lines else ""


def _stages(verdict: WaveVerdict) -> Html:
    stages: dict[str, list[Measurement]] = {}
    rounds: dict[tuple[str, str], list[Measurement]] = {}
    for each in verdict.measured:
        stages.setdefault(each.stage, []).append(each)
        rounds.setdefault((each.stage, each.round), []).append(each)
    table = [
        _row(STAGE_WORDS[stage], len({each.round for each in runs}), runs)
        for stage, runs in stages.items()
    ]
    if verdict.node_tests:
        checks = Counter((node.check or {}).get("verdict") for node in verdict.nodes)
        counts = (f"{checks[str(each)]:,}" for each in Verdict)
        table.insert(
            0, _cells("checks of each node by itself", "", f"{verdict.node_tests:,}", *counts, "")
        )
    if not table:
        return Html()
    each_round = [
        _row(f"{label}: {STAGE_WORDS[stage]}, {runs[0].collective}", _sizes(runs), runs)
        for (stage, label), runs in list(rounds.items())[:MOST_ROUNDS]
    ]
    heads = ("runs", "passed", "failed", "unknown", "lowest GB/s")
    return tag(
        "section",
        tag("h2", "What ran"),
        _table(("stage", "rounds", *heads), table),
        _more("every round", _table(("round", "nodes of a run", *heads), each_round)),
    )


def _row(name: str, rounds: int | str, runs: Sequence[Measurement]) -> Html:
    verdicts = Counter(each.judgement.verdict for each in runs)
    numbers = [each.judgement.lowest_busbw for each in runs]
    known = [number for number in numbers if number is not None]
    counts = (f"{verdicts[each]:,}" for each in Verdict)
    lowest = f"{min(known):g}" if known else ""
    return _cells(name, str(rounds), f"{len(runs):,}", *counts, lowest)


def _sizes(runs: Iterable[Measurement]) -> str:
    sizes = sorted({len(each.nodes) for each in runs})
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"


def _cells(name: str, *numbers: str) -> Html:
    return tag("tr", tag("td", name), *(tag("td", each, class_="number") for each in numbers))


def _table(heads: Sequence[str], rows: Sequence[Html]) -> Html:
    first, *others = heads
    top = tag("tr", tag("th", first), *(tag("th", each, class_="number") for each in others))
    return tag("div", tag("table", tag("thead", top), tag("tbody", *rows)), class_="wide")


def _more(summary: str, inside: Html) -> Html:
    return tag("details", tag("summary", summary), inside)


def _bars(verdict: WaveVerdict) -> Html:
    runs: dict[tuple[int, str, int], list[float | None]] = {}
    order = list(Stage)
    for each in verdict.measured:
        key = order.index(each.stage), each.collective, len(each.nodes)
        runs.setdefault(key, []).append(each.judgement.lowest_busbw)
    shapes = [
        Shape(
            f"{STAGE_WORDS[order[stage]]}, {collective} on {words(nodes, 'node')}"
            if order[stage] is not Stage.ALONE
            else f"{STAGE_WORDS[Stage.ALONE]}, {collective}",
            values,
            _floor(verdict, collective, nodes),
        )
        for (stage, collective, nodes), values in runs.items()
    ]
    if not shapes:
        return Html()
    picture = reached(f"run {verdict.run}", shapes[:MOST_SHAPES])
    left = len(shapes) - MOST_SHAPES
    note = [tag("p", f"{words(left, 'more shape')} not shown", class_="soft")] if left > 0 else []
    return tag("section", Html(picture), *note, aria_label="Bandwidth")


def _floor(verdict: WaveVerdict, collective: str, nodes: int) -> float | None:
    """Return the floor by which runs of this shape were judged."""
    given = next((each for each in verdict.floors.values() if each.confidence == "given"), None)
    if given is not None and collective == PLAIN:
        return given.busbw
    known = floor(verdict.instance_type, nodes, collective)
    return known.busbw if known else None


def _pairs(verdict: WaveVerdict, places: Places | None) -> Html:
    picture = pair_map(verdict, places)
    return tag("section", Html(picture), aria_label="Pairs") if picture else Html()
