"""One gate at a time over a wave: who works on it says so, again and again, until it ends.

So it is with small trainings, one at a time on a pool.

Two gates over the same nodes would take the GPUs from each other and both be wrong. A gate that is
killed falls silent; the next one waits until it has been silent for longer than a living one would,
by its own clock, and then takes over. A gate that was only cut off from the API finds out at its
next word that the wave is another's, and stops; before it marks a node it makes sure that its last
word is not old.
"""

import json
import os
import socket
import threading
from dataclasses import dataclass
from typing import Any, Final, Self

from lightkube import Client

from scripts.errors import UnknownError, YardError
from scripts.gate.api import Api
from scripts.gate.patience import Patience
from scripts.gate.ports import Progress
from scripts.gate.request import Clock
from scripts.records.config_maps import ConfigMapShelf
from scripts.records.shelf import Document, Shelf

__all__ = ["SHELF", "Holder", "Lease", "leases"]

SHELF: Final = "lease"

SILENT_SECONDS: Final = 45.0
"""A holder that has not spoken for so long is dead: several times what lies between two words."""

SPEAK_SECONDS: Final = 10.0

STALE_SECONDS: Final = 25.0
"""A last word older than this is not relied on: who waits counts from when it heard it."""

LOOK_SECONDS: Final = 3.0

WORD_SECONDS: Final = 20.0
"""How long one word waits for the API; the next one comes in any case."""


def leases(client: Client, namespace: str, kind: str = SHELF) -> ConfigMapShelf:
    """Return where leases of a kind are kept in a cluster."""
    return ConfigMapShelf(Api(client, namespace, Patience(WORD_SECONDS)), namespace, kind)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who works on a wave: a run, and the process behind it."""

    run: str
    host: str
    process: int

    @classmethod
    def here(cls, run: str) -> "Holder":
        """Return this process as the holder."""
        return cls(run, socket.gethostname(), os.getpid())

    def __str__(self) -> str:
        return f"run {self.run} (process {self.process} on {self.host})"


class Lease:
    """The right to judge a wave. Used as a context: taken at its beginning, given back at its end.

    Parameters
    ----------
    shelf
        Where leases are kept.
    place
        :attr:`scripts.gate.request.Request.place` of the wave.
    holder
        Who takes it.
    of
        What it is the lease of, in words; the wave at ``place`` unless told.
    kind
        The kind of ``shelf``, by which a person finds the lease.
    """

    def __init__(
        self,
        shelf: Shelf,
        place: str,
        holder: Holder,
        progress: Progress,
        clock: Clock,
        *,
        of: str = "",
        kind: str = SHELF,
    ) -> None:
        self._shelf = shelf
        self._place = place
        self._of = of or f"wave {place}"
        self._kept_as = f"ConfigMap {kind}-{place}"
        self._holder = holder
        self._progress = progress
        self._clock = clock
        self._words = 0
        self._spoken = 0.0
        self._speaks = threading.Lock()
        self._lost: str = ""
        self._ends = threading.Event()
        self._speaker = threading.Thread(target=self._speak, name="lease", daemon=True)

    def __enter__(self) -> Self:
        """Take it, and keep saying so from a thread of its own.

        Raises
        ------
        UnknownError
            If somebody else holds it and is alive.
        """
        self._take()
        self._speaker.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back, unless it is another's by now; one that cannot be given back expires."""
        self._ends.set()
        self._speaker.join()
        if self._lost:
            return
        try:
            found = self._shelf.read(self._place)
            if found and self._holds(found) == self._holder:
                self._shelf.remove(self._place)
        except UnknownError as error:
            self._progress(f"the lease of {self._of} is left to expire: {error}")

    def check(self) -> None:
        """Go on only as the holder; where the last word is old, that is asked.

        Raises
        ------
        UnknownError
            If somebody else has taken over, or the API does not tell.
        """
        if not self._lost and self._clock.monotonic() - self._spoken >= STALE_SECONDS:
            self.renew()
        if self._lost:
            raise UnknownError(self._lost)

    def _take(self) -> None:
        seen, since = "", self._clock.monotonic()
        while True:
            found = self._shelf.read(self._place)
            now = self._spoken = self._clock.monotonic()
            if found is None:
                if self._shelf.add(self._place, self._text()):
                    return
                if now - since >= SILENT_SECONDS:
                    raise UnknownError(
                        f"the lease of {self._of} can neither be taken nor read; delete "
                        f"{self._kept_as} if nobody works on it"
                    )
            elif not seen:
                self._progress(
                    f"{self._holds(found)} was the last on {self._of}; waiting "
                    f"{SILENT_SECONDS:g} s to see whether it still works"
                )
                seen, since = found.text, now
            elif found.text != seen:
                raise UnknownError(
                    f"{self._holds(found)} works on {self._of}; let it end, or stop it and run "
                    "this again"
                )
            elif now - since >= SILENT_SECONDS and self._shelf.replace(found, self._text()):
                return
            self._clock.sleep(LOOK_SECONDS)

    def _speak(self) -> None:
        while not self._ends.wait(SPEAK_SECONDS) and not self._lost:
            try:
                self.renew()
            except YardError:
                # The next word tells, or ``check``, where the gate itself can be stopped.
                continue

    def renew(self) -> None:
        """Say that this gate is alive; note it when the wave is another's.

        Raises
        ------
        UnknownError
            If the API does not answer.
        """
        with self._speaks:
            now = self._clock.monotonic()
            found = self._shelf.read(self._place)
            if found is not None and self._holds(found) == self._holder:
                self._words += 1
                if self._shelf.replace(found, self._text()):
                    self._spoken = now
                    return
                found = self._shelf.read(self._place)
            if found is None or self._holds(found) != self._holder:
                other = str(self._holds(found)) if found else "nobody any more"
                self._lost = f"{self._of} is held by {other}, so this run stops without a verdict"

    def _text(self) -> str:
        holder = self._holder
        words = {"run": holder.run, "host": holder.host, "process": holder.process}
        # The count makes each word another text: that is what a watcher looks at, no clock.
        return json.dumps({**words, "words": self._words})

    def _holds(self, document: Document) -> Holder:
        try:
            told: dict[str, Any] = json.loads(document.text)
            return Holder(str(told["run"]), str(told["host"]), int(told["process"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UnknownError(
                f"the lease of {self._of} is not readable; delete {self._kept_as} if nobody works "
                "on it"
            ) from error
