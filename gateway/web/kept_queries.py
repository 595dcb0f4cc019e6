"""What reads ask for, by the text of their parameters: asked again, it is the same object.

Rules: what is kept is bounded, in number and in bytes of text. Errors are not kept.
"""

from functools import lru_cache

import msgspec

from gateway.rows.query import Query
from gateway.web.parameters import parse_keys, parse_no_cache, parse_query
from gateway.web.query_string import decoded

KEPT_TEXTS = 512
LONGEST_KEPT_TEXT = 2048
"""In bytes: lists and rows keep 1 MiB of text each at most; a longer one is parsed each time."""


class ListAsked(msgspec.Struct, frozen=True):
    """What a list request asks for, and whether of Google itself."""

    query: Query
    no_cache: bool


class RowAsked(msgspec.Struct, frozen=True):
    """Which fields of a row are asked for, None for all, and whether of Google itself."""

    keys: tuple[str, ...] | None
    no_cache: bool


def list_asked(text: bytes, *, max_limit: int) -> ListAsked:
    """What the sifted parameters of a list say, on a plan with this maximum for `limit`."""
    parse = _kept_list if len(text) <= LONGEST_KEPT_TEXT else _parse_list
    return parse(text, max_limit)


def row_asked(text: bytes) -> RowAsked:
    """What the sifted parameters of a read of one row say."""
    parse = _kept_row if len(text) <= LONGEST_KEPT_TEXT else _parse_row
    return parse(text)


def _parse_list(text: bytes, max_limit: int) -> ListAsked:
    parameters = decoded(text)
    query = parse_query(parameters, max_limit=max_limit)
    return ListAsked(query, parse_no_cache(parameters))


def _parse_row(text: bytes) -> RowAsked:
    parameters = decoded(text)
    return RowAsked(parse_keys(parameters), parse_no_cache(parameters))


_kept_list = lru_cache(KEPT_TEXTS)(_parse_list)
_kept_row = lru_cache(KEPT_TEXTS)(_parse_row)
