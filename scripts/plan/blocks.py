"""Free blocks of addresses: the first ones that lie apart from all that is taken."""

from bisect import bisect_right, insort
from collections.abc import Iterable
from ipaddress import IPv4Network, collapse_addresses

__all__ = ["FreeBlocks"]


class FreeBlocks:
    """Hands out blocks of one range, lowest first, so that more wishes never move earlier ones."""

    def __init__(self, within: IPv4Network, taken: Iterable[IPv4Network]) -> None:
        self._first, self._last = int(within.network_address), int(within.broadcast_address)
        # First and last address of all that is taken, in order and apart from each other.
        self._taken: list[tuple[int, int]] = sorted(
            (int(block.network_address), int(block.broadcast_address))
            for block in collapse_addresses(taken)
        )
        # What is taken stays so, and no block of a length is free before the last one found.
        self._from: dict[int, int] = {}

    def take(self, length: int) -> IPv4Network | None:
        """Return the first free block of this ``length``, or None when there is no more."""
        size = 2 ** (32 - length)
        start = self._from.get(length, _up(self._first, size))
        while start + size - 1 <= self._last:
            before = bisect_right(self._taken, (start + size - 1, self._last)) - 1
            if before < 0 or self._taken[before][1] < start:
                insort(self._taken, (start, start + size - 1))
                self._from[length] = start + size
                return IPv4Network((start, length))
            start = _up(self._taken[before][1] + 1, size)
        self._from[length] = start
        return None


def _up(address: int, size: int) -> int:
    """Return the next address at which a block of this size can start."""
    return -(-address // size) * size
