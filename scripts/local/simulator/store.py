"""Keep the simulator's state through restarts."""

import threading
from pathlib import Path

from scripts.local.simulator.records import Records

__all__ = ["Store"]


class Store:
    """TODO."""

    def __init__(self, path: Path, records: Records, lock: threading.RLock) -> None:
        self.changed = threading.Event()

    def load(self): ...
    def touch(self): self.changed.set()
    def save(self): self.changed.clear(); return 0
