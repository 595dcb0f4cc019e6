"""LRU cache of parsed queries by raw query string.

Rules: what is kept is bounded, in number and in bytes of text. Errors are not kept.
"""

from functools import lru_cache
from typing import Final

import msgspec

from gateway.query.query import Query
from gateway.table.view import Selection
from gateway.web.parameters import Leniency, asking_of, parse_keys, parse_no_cache, parse_query
from gateway.web.query_string import decoded

KEPT_TEXTS = 512
LONGEST_KEPT_TEXT = 2048
"""In bytes: lists and rows keep 1 MiB of text each at most; a longer one is parsed each time."""


PLAIN: Final = Leniency()


class ListAsked(msgspec.Struct, frozen=True):
    """What a list request asks for, and whether of Google itself."""

    query: Query
    no_cache: bool
    readings: tuple[str, ...] = ()
    """The second readings that it took to understand it."""


class RowAsked(msgspec.Struct, frozen=True):
    """Which fields of a row are asked for, None for all, and whether of Google itself."""

    keys: Selection | None
    no_cache: bool
    readings: tuple[str, ...] = ()


def list_asked(text: bytes, max_limit: int, again: Leniency = PLAIN) -> ListAsked:
    """What the sifted parameters of a list say, on a plan with this maximum for `limit`.

    The values of those in `again` are decoded once more.
    """
    parse = _kept_list if len(text) <= LONGEST_KEPT_TEXT else _parse_list
    return parse(text, max_limit, again)


def row_asked(text: bytes, again: Leniency = PLAIN) -> RowAsked:
    """What the sifted parameters of a read of one row say."""
    parse = _kept_row if len(text) <= LONGEST_KEPT_TEXT else _parse_row
    return parse(text, again)


def _parse_list(text: bytes, max_limit: int, again: Leniency) -> ListAsked:
    asking = asking_of(decoded(text), again)
    query = parse_query(asking, max_limit=max_limit)
    return ListAsked(query, parse_no_cache(asking.parameters), tuple(asking.readings))


def _parse_row(text: bytes, again: Leniency) -> RowAsked:
    asking = asking_of(decoded(text), again)
    keys = parse_keys(asking)
    return RowAsked(keys, parse_no_cache(asking.parameters), tuple(asking.readings))


_kept_list = lru_cache(KEPT_TEXTS)(_parse_list)
_kept_row = lru_cache(KEPT_TEXTS)(_parse_row)
