"""The header cache: what our last look at each worksheet showed, for a short time.

Rules: it saves a create its look, and a list the wait for one; an update never trusts it. It is
bounded; it never hides a newer look behind an older one.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

from gateway.config import CacheSettings
from gateway.rows.header import Header
from gateway.service.worksheet import WorksheetRef


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A worksheet's header and its end.

    `as_of` is the moment (seconds of a monotonic clock) since when `last_row` is known, the
    beginning of the look or the end of our append; `header_as_of` the same of the header.
    """

    header: Header
    last_row: int
    """The last row that is not blank, from 1."""
    starts_blank: bool
    """Whether column A of the last row is blank."""
    grid_rows: int
    """Rows of the grid, at least."""
    header_as_of: float
    as_of: float


class Sightings:
    def __init__(self, settings: CacheSettings, clock: Callable[[], float]) -> None:
        self._ttl_seconds = settings.header_ttl_seconds
        self._clock = clock
        self._kept: LRUCache[WorksheetRef, Sighting] = LRUCache(maxsize=settings.max_worksheets)

    def fresh(self, ref: WorksheetRef) -> Sighting | None:
        """The sighting if its header may still be trusted."""
        sighting = self._kept.get(ref)
        if sighting is None or self._clock() - sighting.header_as_of >= self._ttl_seconds:
            return None
        return sighting

    def last(self, ref: WorksheetRef) -> Sighting | None:
        """The sighting however old: a hint where to look."""
        return self._kept.get(ref)

    def keep(self, ref: WorksheetRef, sighting: Sighting) -> None:
        known = self._kept.get(ref)
        if known is None or known.as_of <= sighting.as_of:
            self._kept[ref] = sighting

    def forget(self, ref: WorksheetRef) -> None:
        self._kept.pop(ref, None)
