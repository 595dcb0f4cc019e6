"""Writes that end while reads run, so that what was read can be patched with them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gateway.worksheets.snapshot import Effect

MAX_EFFECTS = 64
"""A read is repeated if more writes and reads than this ended while it ran."""

MAX_COMPARED_CELLS = 4_000_000
"""A read is compared with the cells of all writes, once for each of them."""


class Effects:
    """The effects of writes on a worksheet; `moment` numbers the events in it."""

    def __init__(self, moment: Callable[[], int]) -> None:
        self._moment = moment
        self._began: list[int] = []
        """The moments at which the reads in flight began."""
        self._ended: list[tuple[int, Effect | None]] = []
        """The writes that ended since the first of these; None for one with unknown effect."""

    @property
    def are_kept(self) -> bool:
        """Whether a read is in flight."""
        return bool(self._began)

    @contextmanager
    def kept(self) -> Iterator[int]:
        """Keep the effects of writes that end during the block; yields the moment of its start."""
        began = self._moment()
        self._began.append(began)
        try:
            yield began
        finally:
            self._began.remove(began)
            first = min(self._began, default=self._moment())
            self._ended = [each for each in self._ended if each[0] > first]

    def note(self, effect: Effect | None) -> None:
        """Note the end of a write; None if its effect is unknown."""
        if self._began:
            self._ended.append((self._moment(), effect))

    def since(self, began: int) -> Sequence[Effect] | None:
        """The effects since a moment; None if they are not all known, or too many."""
        ended = [effect for moment, effect in self._ended if moment > began]
        known = [effect for effect in ended if effect is not None]
        if not len(known) == len(ended) <= MAX_EFFECTS:
            return None
        cells = sum(effect.cell_count for effect in known)
        return known if len(known) < 2 or cells * len(known) <= MAX_COMPARED_CELLS else None
