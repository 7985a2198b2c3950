"""A small training over several processes: proves data, gradient sync, checkpoints and resuming.

It stands alone, so that it runs in any image with PyTorch: on GPUs over NCCL, on CPUs over gloo.
Every rank is started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun does; with
--local-ranks it starts the ranks of one node by itself, and NODE_RANK and NODES say which node.

    torchrun --nproc-per-node 2 small_train.py --data /fsx/small --checkpoints /fsx/ckpt --steps 60
    NODE_RANK=0 NODES=2 MASTER_ADDR=… MASTER_PORT=… small_train.py --local-ranks 8 --make-data …

What it holds to, each line of its report:

- data: every shard is read from the shared file system and has the digest in its manifest;
- gradients: after every step all ranks hold the same parameters, bit for bit;
- loss: the mean of the last steps is well below that of the first;
- checkpoint: written aside, then moved, with a digest; one without its marker is never used;
- resume: on CPUs a run that was killed ends with the very parameters of one that was not. On GPUs
  the order of additions may differ between runs, so there nothing of the kind is claimed.

Rank 0 writes its report as JSON to a file, or with "--report -" as a line of its log.

Exit codes: 0 pass, 1 fail, 2 bad use, 3 unknown (torch or the other ranks cannot be had).
"""

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

FEATURES = 32
HIDDEN = 64
SHARDS = 8
ROWS = 256
"""Rows of a shard. Every row is FEATURES inputs and one target, each a little-endian float32."""

ROW = struct.Struct(f"<{FEATURES + 1}f")
MARKER = "complete.json"
KEPT = 2
"""Checkpoints that stay: the newest, and the one before it."""

FALLS_TO = 0.5
"""The loss at the end is at most this part of the loss at the start."""

WINDOW = 5
"""Steps at each end over which the loss is averaged."""

RATE = 0.05

POLL_SECONDS = 0.5

EXIT = {"pass": 0, "fail": 1, "unknown": 3}


def main(arguments: list[str] | None = None) -> int:
    """Run one rank, or those of a node, and return the exit code."""
    options = _options(arguments)
    if options.local_ranks:
        return run_node(options)
    if options.make_data:
        make_data(options.data, options.seed)
        return 0
    return run_rank(options)


def run_node(options: argparse.Namespace) -> int:
    """Start the ranks of this node, and end them all as soon as one has failed.

    A rank that has lost another one waits for it in vain; whoever restarts the training needs to
    know at once. Node 0 makes the data first, if it is asked to.
    """
    node, count = int(os.environ["NODE_RANK"]), options.local_ranks
    if node == 0 and options.make_data:
        make_data(options.data, options.seed)
    if not _known(os.environ["MASTER_ADDR"], options.timeout):
        report = {"verdict": "unknown", "message": f"no node 0 within {options.timeout} s"}
        return _end(options, report)
    # PyTorch is not loaded yet, so that a fork is safe.
    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=_rank, args=(options, node, local)) for local in range(count)]
    for rank in ranks:
        rank.start()
    while (codes := [rank.exitcode for rank in ranks]) and None in codes and not any(codes):
        time.sleep(POLL_SECONDS)
    for rank in ranks:
        if any(codes):
            rank.kill()
        rank.join()
    failed = [code for code in codes if code]
    # A process that was killed has its signal, negative; a shell would say 128 and more.
    return next((code if code > 0 else 128 - code for code in failed), 0)


def _rank(options: argparse.Namespace, node: int, local: int) -> None:
    """Be one rank of a node."""
    count = options.local_ranks
    os.environ |= {
        "RANK": str(node * count + local),
        "LOCAL_RANK": str(local),
        "WORLD_SIZE": str(int(os.environ["NODES"]) * count),
    }
    sys.exit(run_rank(options))


def _known(host: str, seconds: float) -> bool:
    """Wait until the cluster's DNS knows node 0, whose pod may come later than ours."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(socket.gaierror):
            socket.getaddrinfo(host, None)
            return True
        time.sleep(POLL_SECONDS)
    return False


def run_rank(options: argparse.Namespace) -> int:
    """Run one rank to its end."""
    try:
        torch: Any = importlib.import_module("torch")
        distributed: Any = importlib.import_module("torch.distributed")
    except ImportError as error:
        return _end(options, {"verdict": "unknown", "message": f"PyTorch cannot be had: {error}"})
    device = _device(torch)
    backend = "nccl" if device.type == "cuda" else "gloo"
    try:
        distributed.init_process_group(backend, timeout=timedelta(seconds=options.timeout))
    except (RuntimeError, ValueError) as error:
        return _end(options, {"verdict": "unknown", "message": f"the ranks never met: {error}"})
    try:
        report = Training(torch, distributed, device, options).run()
    except ProblemError as problem:
        report = {"verdict": "fail", "message": str(problem)}
    except RuntimeError as error:
        report = {"verdict": "unknown", "message": f"stopped by {backend}: {error}"}
    rank = distributed.get_rank()
    if report["verdict"] == "pass":
        distributed.barrier()
        distributed.destroy_process_group()
    if rank == 0:
        if options.tidy and report["verdict"] == "pass":
            shutil.rmtree(options.tidy, ignore_errors=True)
        return _end(options, report)
    if report["verdict"] != "pass":
        _say(f"rank {rank}: {report['verdict']}: {report['message']}")
    return EXIT[report["verdict"]]


class ProblemError(Exception):
    """What was to be proved does not hold."""


def make_data(folder: Path, seed: int) -> None:
    """Write the shards of a fixed rule with noise, and the manifest that holds their digests."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = _numbers(seed)
    weights = [next(numbers) for _ in range(FEATURES)]
    manifest = {}
    for shard in range(SHARDS):
        rows = bytearray()
        for _ in range(ROWS):
            inputs = [next(numbers) for _ in range(FEATURES)]
            target = sum(w * x for w, x in zip(weights, inputs, strict=True)) + 0.01 * next(numbers)
            rows += ROW.pack(*inputs, target)
        path = folder / f"shard-{shard}.bin"
        path.write_bytes(rows)
        manifest[path.name] = hashlib.sha256(rows).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({"seed": seed, "shards": manifest}, indent=1))


def _numbers(seed: int) -> Iterator[float]:
    """Yield numbers from -1 to 1 that are the same everywhere, whatever the library's version."""
    state = seed or 1
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 40) / 2**23 - 1


class Training:
    """One rank of the training."""

    def __init__(self, torch: Any, distributed: Any, device: Any, options: Any) -> None:  # noqa: ANN401 - PyTorch is not here when this is checked
        self._torch, self._distributed, self._device = torch, distributed, device
        self._options = options
        self._rank, self._ranks = distributed.get_rank(), distributed.get_world_size()
        torch.manual_seed(options.seed)
        torch.use_deterministic_algorithms(device.type == "cpu")
        torch.set_num_threads(1)
        self._model = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1)
        ).to(device)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=RATE, momentum=0.9)
        self._losses: list[float] = []
        self._read_seconds = 0.0

    def run(self) -> dict[str, Any]:
        """Train to the last step, and return the report."""
        inputs, targets = self._data()
        first = self._resume()
        started = time.monotonic()
        for step in range(first, self._options.steps):
            self._step(step, inputs, targets)
            self._same_everywhere(step)
            done = step + 1
            if done % self._options.every == 0 or done == self._options.steps:
                self._save(done)
            if self._options.die_at == done and not first:
                self._die(done)
        return self._report(first, time.monotonic() - started)

    def _data(self) -> tuple[Any, Any]:
        """Read every shard and hold it against its digest."""
        started = time.monotonic()
        folder: Path = self._options.data
        try:
            manifest = json.loads((folder / "manifest.json").read_text())["shards"]
            raw = {name: (folder / name).read_bytes() for name in sorted(manifest)}
        except (OSError, ValueError, KeyError) as error:
            raise ProblemError(f"data: {folder} cannot be read: {error}") from None
        for name, content in raw.items():
            if hashlib.sha256(content).hexdigest() != manifest[name]:
                raise ProblemError(f"data: {folder / name} is not what its manifest says")
        rows = [list(row) for content in raw.values() for row in ROW.iter_unpack(content)]
        table = self._torch.tensor(rows, device=self._device)
        self._read_seconds = time.monotonic() - started
        return table[:, :FEATURES], table[:, FEATURES:]

    def _step(self, step: int, inputs: Any, targets: Any) -> None:  # noqa: ANN401 - tensors
        """Learn from this rank's rows of the step. Which they are depends on the step alone."""
        size = self._options.batch
        start = (step * self._ranks + self._rank) * size
        chosen = [(start + offset) % len(inputs) for offset in range(size)]
        loss = self._torch.nn.functional.mse_loss(self._model(inputs[chosen]), targets[chosen])
        self._optimizer.zero_grad()
        loss.backward()
        for parameter in self._model.parameters():
            self._distributed.all_reduce(parameter.grad)
            parameter.grad /= self._ranks
        self._optimizer.step()
        shared = loss.detach().clone()
        self._distributed.all_reduce(shared)
        self._losses.append(float(shared) / self._ranks)

    def _same_everywhere(self, step: int) -> None:
        """Insist that all ranks hold the same parameters: their digests' extremes are equal."""
        number = int(self._digest()[:12], 16)
        low = self._torch.tensor([number], dtype=self._torch.int64, device=self._device)
        high = low.clone()
        self._distributed.all_reduce(low, op=self._distributed.ReduceOp.MIN)
        self._distributed.all_reduce(high, op=self._distributed.ReduceOp.MAX)
        if int(low) != int(high):
            raise ProblemError(
                f"gradients: after step {step + 1} the ranks hold different parameters"
            )

    def _digest(self) -> str:
        found = hashlib.sha256()
        for parameter in self._model.parameters():
            values = parameter.detach().cpu().reshape(-1).tolist()
            found.update(struct.pack(f"<{len(values)}f", *values))
        return found.hexdigest()

    def _save(self, done: int) -> None:
        """Write a checkpoint aside and move it: a reader sees all of it, or none."""
        if self._rank == 0:
            folder: Path = self._options.checkpoints
            final, aside = folder / f"step-{done:06d}", folder / f".step-{done:06d}.{os.getpid()}"
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            state = {
                "model": self._model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "random": self._torch.get_rng_state(),
                "losses": self._losses,
            }
            self._torch.save(state, aside / "state.pt")
            digest = hashlib.sha256((aside / "state.pt").read_bytes()).hexdigest()
            marker = {"step": done, "sha256": digest, "ranks": self._ranks}
            (aside / MARKER).write_text(json.dumps(marker))
            shutil.rmtree(final, ignore_errors=True)
            aside.rename(final)
            for old in sorted(folder.glob("step-*"))[:-KEPT]:
                shutil.rmtree(old)
        self._distributed.barrier()

    def _resume(self) -> int:
        """Load the newest checkpoint that is whole, and return its step; 0 when there is none."""
        for folder in sorted(self._options.checkpoints.glob("step-*"), reverse=True):
            try:
                marker = json.loads((folder / MARKER).read_text())
                content = (folder / "state.pt").read_bytes()
            except (OSError, ValueError):
                continue
            if hashlib.sha256(content).hexdigest() != marker["sha256"]:
                continue
            if marker["ranks"] != self._ranks:
                raise ProblemError(
                    f"resume: {folder} was written by {marker['ranks']} ranks and these are "
                    f"{self._ranks}; use as many, or another folder"
                )
            state = self._torch.load(folder / "state.pt", map_location=self._device)
            self._model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self._torch.set_rng_state(state["random"].cpu())
            self._losses = state["losses"]
            return int(marker["step"])
        return 0

    def _die(self, done: int) -> None:
        """End as a node that loses power does; ranks that are spared go on, and lose it."""
        self._distributed.barrier()
        if self._rank >= self._options.die_ranks:
            return
        _say(f"killed after step {done} as asked")
        os.kill(os.getpid(), signal.SIGKILL)

    def _report(self, first: int, seconds: float) -> dict[str, Any]:
        start = sum(self._losses[:WINDOW]) / WINDOW
        end = sum(self._losses[-WINDOW:]) / WINDOW
        if not end <= FALLS_TO * start:
            raise ProblemError(
                f"loss: it went from {start:.4f} to {end:.4f} in {len(self._losses)} steps; it "
                f"must fall to {FALLS_TO:g} of the start"
            )
        steps = self._options.steps - first
        return {
            "verdict": "pass",
            "message": f"loss fell from {start:.4f} to {end:.4f} over {self._ranks} ranks",
            "ranks": self._ranks,
            "device": self._device.type,
            "backend": self._distributed.get_backend(),
            "torch": self._torch.__version__,
            "resumed_from": first,
            "loss": {"first": start, "last": end},
            "read_seconds": round(self._read_seconds, 3),
            "steps_per_second": round(steps / seconds, 2) if steps else None,
            "parameters": self._digest(),
            "bit_exact": self._device.type == "cpu",
        }


def _device(torch: Any) -> Any:  # noqa: ANN401 - PyTorch is not here when this is checked
    if not torch.cuda.is_available():
        return torch.device("cpu")
    place = int(os.environ.get("LOCAL_RANK", "0"))
    torch.cuda.set_device(place)
    return torch.device("cuda", place)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A small training that proves a cluster.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the shards")
    parser.add_argument("--checkpoints", type=Path, help="folder on the shared disk")
    parser.add_argument("--make-data", action="store_true", help="write the shards and end")
    parser.add_argument("--steps", type=int, default=60, help="steps to train in all")
    parser.add_argument("--every", type=int, default=20, help="steps between checkpoints")
    parser.add_argument("--batch", type=int, default=32, help="rows of a rank and step")
    parser.add_argument("--seed", type=int, default=17, help="where all random numbers begin")
    parser.add_argument("--die-at", type=int, help="kill ranks after a step, unless resumed")
    parser.add_argument("--die-ranks", type=int, default=sys.maxsize, help="how many: the first")
    parser.add_argument("--local-ranks", type=int, default=0, help="start so many ranks here")
    parser.add_argument("--timeout", type=int, default=120, help="seconds to wait for other ranks")
    parser.add_argument("--tidy", type=Path, help="folder to remove once all has passed")
    parser.add_argument("--report", type=Path, help="file for the report as JSON; - for the log")
    options = parser.parse_args(arguments)
    only_data = options.make_data and not options.local_ranks
    if not only_data and options.checkpoints is None:
        parser.error("--checkpoints is missing: name a folder on the shared file system")
    if options.steps < 2 * WINDOW or min(options.every, options.batch) < 1:
        parser.error(f"--steps is at least {2 * WINDOW}, --every and --batch at least 1")
    return options


def _end(options: argparse.Namespace, report: dict[str, Any]) -> int:
    if options.report == Path("-"):
        _say(f"report: {json.dumps(report)}")
    elif options.report:
        options.report.parent.mkdir(parents=True, exist_ok=True)
        options.report.write_text(json.dumps(report, indent=1) + "\n")
    _say(f"{report['verdict']}: {report['message']}")
    return EXIT[report["verdict"]]


def _say(text: str) -> None:
    sys.stdout.write(f"small_train: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
