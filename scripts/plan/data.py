"""Plans as JSON for programs."""

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from scripts.plan.paper import Answer

if TYPE_CHECKING:
    from scripts.plan.stack import StackPlan

__all__ = ["paper_data", "stack_data"]

Data = dict[str, Any]


def stack_data(plan: "StackPlan") -> Data:
    """Return the address plan of a stack."""
    return {
        "file": plan.file,
        "fits": not plan.problems,
        "problems": list(plan.problems),
        "headroom_percent": plan.headroom,
        "parts": [
            {
                "zone": line.zone,
                "purpose": line.purpose,
                "blocks": list(line.blocks),
                "unit": line.unit,
                "size": line.size,
                "demand": line.demand,
                "needed": line.needed,
                "use_percent": line.use,
            }
            for line in plan.lines
        ],
        "quotas": [
            {"what": use.quota.what, "taken": use.taken, "most": use.most} for use in plan.quotas
        ],
    }


def paper_data(answer: Answer) -> Data:
    """Return a plan on paper, with every cluster of it."""
    paper, wish = answer.paper, answer.paper.wish
    return {
        "fits": not answer.problem,
        "problem": answer.problem,
        "accelerators": wish.accelerators,
        "type": wish.kind.name,
        "nodes": wish.nodes,
        "limits": [
            {"what": limit.what, "nodes": limit.nodes, "because": limit.why}
            for limit in paper.limits
        ],
        "binding": paper.binding.what,
        "clusters": [
            {
                "nodes": nodes,
                "management_cidr": str(blocks.management) if blocks else None,
                "compute_cidrs": list(map(str, blocks.compute)) if blocks else [],
            }
            for nodes, blocks in zip_longest(paper.sizes, answer.blocks)
        ],
        "needed": {
            "addresses": paper.needed.addresses,
            "prefixes": paper.needed.prefixes,
            "address_units": paper.units,
        },
        "fewer_clusters_with": dict(answer.helps),
    }
