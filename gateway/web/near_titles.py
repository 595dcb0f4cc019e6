"""Name the worksheets that a caller may hear of, where one does not exist."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest
from itertools import islice

from gateway.errors import WorksheetNotFound
from gateway.table.quoting import quoted
from gateway.worksheets.access import Target
from gateway.worksheets.worksheet_id import worksheet_not_found

MAX_LISTED = 10
"""Worksheets of which a message names all."""
MAX_NAMED = 3
MAX_COMPARED = 200
"""Titles that are looked at; the work on each is bounded too."""

_LONGEST = 40
"""Characters of a title that are compared."""
_MAX_WEIGHED = 8
"""Titles, those with the most characters in common, of which their order counts as well."""
_LIKE = 0.6
"""How much two titles have in common that are near, 1.0 being all; as in difflib."""
_KEPT = 64


def not_found_by(target: Target, error: WorksheetNotFound) -> WorksheetNotFound:
    """The error in words for this caller."""
    return worksheet_not_found(target.worksheet, error.titles, _hint(target, error.titles))


def _hint(target: Target, titles: Sequence[str]) -> str:
    """The titles that the caller may hear of, or if they are many those near to the one asked for.

    They need not be all that the spreadsheet has, so no more is said than that it has these.
    """
    access = target.access
    heard_of = list(islice(filter(access.may_hear_of, titles), MAX_LISTED + 1))
    if len(heard_of) <= MAX_LISTED:
        words, names = "It has", heard_of
    else:
        near = near_titles(target.worksheet.title, tuple(titles), access.titles)
        words, names = "Near names:", list(near)
    return f" {words} {', '.join(map(quoted, names))}." if names else ""


@lru_cache(_KEPT)  # many may have asked for one title at once
def near_titles(
    title: str, titles: tuple[str, ...], visible: frozenset[str] | None
) -> Sequence[str]:
    """Those of the titles most like this one, the case aside, that may be heard of; None is all.

    What may not be heard of plays no part in it.
    """
    heard_of = [each for each in titles if visible is None or each in visible]
    matchers = {each: _matcher(title, each) for each in heard_of[:MAX_COMPARED]}
    likely = nlargest(_MAX_WEIGHED, matchers, key=lambda each: matchers[each].quick_ratio())
    near = {each: matchers[each].ratio() for each in likely}
    return [each for each in nlargest(MAX_NAMED, near, key=near.__getitem__) if near[each] >= _LIKE]


def _matcher(title: str, other: str) -> SequenceMatcher[str]:
    return SequenceMatcher(None, _compared(other), _compared(title), autojunk=False)


def _compared(title: str) -> str:
    return title[:_LONGEST].casefold()[:_LONGEST]
