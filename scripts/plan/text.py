"""Plans as text for people: tables of plain columns."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from scripts.plan.paper import Answer, ClusterBlocks, Paper, waves

if TYPE_CHECKING:
    from scripts.plan.stack import StackPlan

__all__ = ["paper_text", "stack_text"]

SHOWN = 4
"""Clusters whose blocks are listed; the rest are alike, and `--json` lists all."""


def stack_text(plan: "StackPlan") -> str:
    """Say what every block of a stack must hold, and what does not fit."""
    rows = [
        [
            line.zone,
            line.purpose,
            " ".join(line.blocks),
            f"{line.size:,} {line.unit}",
            f"{line.demand:,}",
            f"{line.needed:,}",
            f"{line.use} %",
        ]
        for line in plan.lines
    ]
    heads = ["zone", "purpose", "block", "size", "demand", f"with {plan.headroom} %", "use"]
    return "\n".join(
        [
            f"{plan.file}: {'does not fit' if plan.problems else 'fits'}",
            *_table(heads, rows, right=[3, 4, 5, 6]),
            *(f"{use.quota.what}: {use.taken:,} of {use.most:,}" for use in plan.quotas),
            *(f"  {problem}" for problem in plan.problems),
        ]
    )


def paper_text(answer: Answer) -> str:
    """Say how many clusters there are, why, and which addresses they could have."""
    return "\n".join(_paper_lines(answer))


def _paper_lines(answer: Answer) -> Iterator[str]:
    paper, wish = answer.paper, answer.paper.wish
    yield f"{wish.accelerators:,} {wish.accelerator.name} on {wish.kind.name} are {_of(wish.nodes)}"
    yield ""
    yield from _table(
        ["limit", "nodes", "because"],
        [
            [
                limit.what + (" (binds)" if limit is paper.binding else ""),
                f"{limit.nodes:,}",
                limit.why,
            ]
            for limit in paper.limits
        ],
        right=[1],
    )
    yield ""
    if paper.sizes:
        yield from _clusters(paper)
    if answer.helps:
        ways = ", ".join(f"{way} ({count})" for way, count in answer.helps.items())
        yield f"fewer clusters with {ways}"
    if answer.blocks:
        yield ""
        yield from _blocks(answer.blocks)
    if answer.problem:
        yield f"does not fit: {answer.problem}"


def _clusters(paper: Paper) -> Iterator[str]:
    wish, sizes = paper.wish, paper.sizes
    nodes = _of(sizes[-1]) if sizes[-1] == sizes[0] else f"{sizes[-1]:,} or {_of(sizes[0])}"
    yield f"{_count(len(sizes), 'cluster')} of {nodes}, each a stack with a VPC of its own"
    groups = waves(-(-sizes[0] // wish.zones), wish.most("nodes_per_group"))
    zones = "" if wish.zones == 1 else f" in each of {wish.zones} zones"
    yield f"  {_count(len(groups), 'node group')}{zones}: {', '.join(map(str, groups))} nodes"
    yield (
        f"  {paper.needed.addresses:,} addresses and {paper.needed.prefixes:,} prefixes of a "
        f"compute subnet, with {wish.headroom} % headroom; {paper.units:,} units of its VPC"
    )


def _blocks(blocks: Sequence[ClusterBlocks]) -> Iterator[str]:
    yield from _table(
        ["cluster", "management_cidr", "compute_cidr"],
        [
            [str(number), str(each.management), _networks(each.compute)]
            for number, each in enumerate(blocks[:SHOWN], start=1)
        ],
        right=[0],
    )
    if len(blocks) > SHOWN:
        last = blocks[-1]
        yield f"... up to {len(blocks)} with {last.management} and {_networks(last.compute)}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    """Align ``rows`` under ``heads``; columns in ``right`` hold numbers."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if number in right else text.ljust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]


def _of(nodes: int) -> str:
    return _count(nodes, "node")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number:,} {what}s"


def _networks(networks: Sequence[IPv4Network]) -> str:
    return " ".join(map(str, networks))
