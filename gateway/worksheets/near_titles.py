"""Worksheet titles similar to one that does not exist."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

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
