"""Aliases: existing titles that are used in place of a requested worksheet name.

An alias is another decoding of the name: a client that encoded `A B` twice requests `A%20B`.

Rules
- If a worksheet is missing, the error has all titles of the spreadsheet. An alias is one of these
  titles, so it costs no further call to Google. The key must have access to the title. Writes wait
  in the queue of the existing title.
- An error names only worksheets that the caller is allowed to see.
- An alias is cached, because a missing worksheet costs two reads: for reads `REMEMBERED_SECONDS`,
  for writes as long as a header is fresh. Only keys with the same worksheets share entries.
"""

import time
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from cachetools import TTLCache

from gateway.errors import WorksheetNotFound
from gateway.table.quoting import quoted
from gateway.web.lenient import other_titles
from gateway.worksheets.access import Target, WorksheetId, worksheet_not_found

REMEMBERED_SECONDS = 60.0
MAX_REMEMBERED = 1000
MAX_LISTED = 10
"""Maximum number of worksheets that a message lists completely."""
MAX_NAMED = 3
MAX_COMPARED = 200
"""Maximum number of titles that are compared with the requested name."""

_LONGEST = 40
"""Maximum number of compared characters of a title."""
_MAX_WEIGHED = 8
"""Maximum number of titles in the slow comparison, after a fast comparison of all titles."""
_LIKE = 0.6
"""Minimum similarity of a suggested title, from 0.0 to 1.0, as in difflib."""
_KEPT = 64

_Place = tuple[WorksheetId, frozenset[str] | None]


class TitleAlias(NamedTuple):
    """Decoding's name, existing title, and timer's seconds when the title was found."""

    reading: str
    title: str
    seen_seconds: float


class TitleAliases:
    """Cache of title aliases. Writes use an alias for `write_seconds`, reads for a minute."""

    def __init__(
        self, *, write_seconds: float, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._timer = timer
        self._seconds = {False: REMEMBERED_SECONDS, True: write_seconds}
        self._known: TTLCache[_Place, TitleAlias] = TTLCache(
            MAX_REMEMBERED, REMEMBERED_SECONDS, timer
        )

    def find(self, target: Target, *, is_write: bool) -> TitleAlias | None:
        """Return the cached alias of the target's title, or None."""
        known = self._known.get(_place(target))
        if known is None or self._timer() - known.seen_seconds >= self._seconds[is_write]:
            return None
        return known

    def learn(self, target: Target, error: WorksheetNotFound) -> TitleAlias | None:
        """Find an alias for a missing title among the titles of the error, and cache the alias."""
        titles = target.access.visible(error.titles)
        for reading, title in other_titles(target.worksheet.title, titles):
            alias = TitleAlias(reading, title, self._timer())
            self._known[_place(target)] = alias
            return alias
        return None

    def forget(self, target: Target) -> None:
        self._known.pop(_place(target), None)


def _place(target: Target) -> _Place:
    return target.worksheet, target.access.titles


def not_found_by(target: Target, error: WorksheetNotFound) -> WorksheetNotFound:
    """Return the error with the titles that the key can see, or with similar titles of many."""
    visible = target.access.visible(error.titles)
    if len(visible) <= MAX_LISTED:
        words, names = "Worksheets:", visible
    else:
        words, names = "Similar names:", near_titles(target.worksheet.title, tuple(visible))
    hint = f" {words} {', '.join(map(quoted, names))}." if names else ""
    return worksheet_not_found(target.worksheet, error.titles, hint)


@lru_cache(_KEPT)  # many requests can ask for the same title at once
def near_titles(title: str, visible: tuple[str, ...]) -> Sequence[str]:
    """Return at most `MAX_NAMED` visible titles that are similar to the title, ignoring case."""
    matchers = {
        each: SequenceMatcher(None, _compared(each), _compared(title), autojunk=False)
        for each in visible[:MAX_COMPARED]
    }
    likely = nlargest(_MAX_WEIGHED, matchers, key=lambda each: matchers[each].quick_ratio())
    near = {each: matchers[each].ratio() for each in likely}
    return [each for each in nlargest(MAX_NAMED, near, key=near.__getitem__) if near[each] >= _LIKE]


def _compared(title: str) -> str:
    return title[:_LONGEST].casefold()[:_LONGEST]
