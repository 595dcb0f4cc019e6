"""The header cache: what our last look at each worksheet showed, for a short time.

Rules: it saves a create its look, and a list the wait for one; an update never trusts it. It is
bounded; it never hides a newer look behind an older one.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

from gateway.config import CacheSettings
from gateway.rows.header import Header
from gateway.service.worksheet import WorksheetRef


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A worksheet's header and its end.

    `as_of` is the moment as of which the last row is known, the beginning of the look or the end
    of our append, as `Sightings.moment` counts; `header_as_of` is when the look at the header
    began, in seconds of the monotonic clock.
    """

    header: Header
    last_row: int
    """The last row that is not blank, from 1."""
    starts_blank: bool
    """Whether column A of the last row is blank."""
    grid_rows: int
    """Rows of the grid, at least."""
    header_as_of: float
    as_of: int


@dataclass(frozen=True, kw_only=True)
class _Forgotten:
    """The worksheet changed, or may have, at this moment."""

    as_of: int


class Sightings:
    def __init__(self, settings: CacheSettings, clock: Callable[[], float]) -> None:
        self._ttl_seconds = settings.header_ttl_seconds
        self._clock = clock
        self._moments = itertools.count()
        self._kept: LRUCache[WorksheetRef, Sighting | _Forgotten] = LRUCache(
            maxsize=settings.max_worksheets
        )

    def moment(self) -> int:
        """A number for now, larger than that of any moment before."""
        return next(self._moments)

    def fresh(self, ref: WorksheetRef) -> Sighting | None:
        """The sighting if its header may still be trusted."""
        sighting = self.last(ref)
        if sighting is None or self._clock() - sighting.header_as_of >= self._ttl_seconds:
            return None
        return sighting

    def last(self, ref: WorksheetRef) -> Sighting | None:
        """The sighting however old: a hint where to look."""
        kept = self._kept.get(ref)
        return kept if isinstance(kept, Sighting) else None

    def keep(self, ref: WorksheetRef, sighting: Sighting) -> None:
        """Remember a sighting unless something newer is known, or known to have changed."""
        known = self._kept.get(ref)
        if known is None or known.as_of < sighting.as_of:
            self._kept[ref] = sighting

    def forget(self, ref: WorksheetRef) -> None:
        """Trust nothing that was seen up to now, nor a look that has begun by now."""
        self._kept[ref] = _Forgotten(as_of=self.moment())
