"""What simulated nodes print when they train: recorded from real processes, on CPUs over gloo.

``recorded/small_train.txt`` holds the lines that ``scripts/jobs/small_train.py`` printed in two
times two processes with PyTorch 1.13. Loss and parameters are as they were; ranks, device, backend
and what NCCL says of the network are put in as GPU nodes would have them, and no GPU stands behind
any of it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from components.catalog import instance_type
from scripts.local.recordings import SimulatedNode, accelerator, text

__all__ = ["train_log"]

SAYS = "small_train: "
REPORT = f"{SAYS}report: "


def train_log(nodes: Sequence[SimulatedNode], attempt: str, args: Sequence[str]) -> str:
    """Return what the pod of index 0 prints in an attempt ("whole", "killed" or "resumed").

    ``args`` are those that ``scripts/gate/train.py`` gives the container. A node that is ``dead``
    takes the report with it; one that is on ``socket`` shows it in NCCL's lines.
    """
    instance = instance_type(nodes[0].instance_type)
    faults = frozenset(fault for node in nodes for fault in node.faults)
    host = nodes[0].name
    name = "nccl_sockets.txt" if "socket" in faults else "nccl_info.txt"
    lines = list(text(name, {"host": host, "nics": instance.efa_interfaces}))
    if "dead" in faults:
        return "\n".join([*lines, ""])
    count = accelerator(instance).count
    options = dict(zip(args[1::2], args[2::2], strict=True))
    if attempt == "killed":
        lines += [f"{SAYS}killed after step {options['--die-at']} as asked"] * count
        return "\n".join([*lines, ""])
    report, _ = text("small_train.txt", {})
    told: dict[str, Any] = json.loads(report.removeprefix(REPORT))
    told |= _as_on_gpus(told, ranks=len(nodes) * count)
    if attempt == "resumed":
        every = int(options["--every"])
        told["resumed_from"] = int(options["--die-at"]) // every * every
    return "\n".join(
        [*lines, f"{REPORT}{json.dumps(told)}", f"{SAYS}{told['verdict']}: {told['message']}", ""]
    )


def _as_on_gpus(told: Mapping[str, Any], *, ranks: int) -> dict[str, Any]:
    loss = told["loss"]
    return {
        "message": f"loss fell from {loss['first']:.4f} to {loss['last']:.4f} over {ranks} ranks",
        "ranks": ranks,
        "device": "cuda",
        "backend": "nccl",
        # On GPUs the script makes no such claim.
        "bit_exact": False,
    }
