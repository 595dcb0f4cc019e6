"""Retry a request with lenient decoding if its field or worksheet does not exist.

Rules
- The plain reading comes first; only its failure to name something lets another be tried. If that
  fails as well, the error is the first one's.
- A worksheet's other name is tried if the look that found none of the plain name saw one of it,
  and if the key may hear of it. So it costs no call of its own.
- What a name was found to mean is remembered, or each such request would cost the two reads that it
  takes to learn that there is no worksheet of the plain name: for reads `REMEMBERED_SECONDS`, for
  writes as long as a look at the header counts. Keys that see other worksheets share nothing.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from cachetools import TTLCache

from gateway.errors import InvalidQuery, UnknownField, WorksheetNotFound
from gateway.telemetry.events import note_reading
from gateway.web.lenient import is_escaped, other_titles
from gateway.web.near_titles import not_found_by
from gateway.web.parameters import Leniency
from gateway.web.query_cache import PLAIN, ListAsked, RowAsked
from gateway.web.query_string import decoded
from gateway.worksheets.access import Target
from gateway.worksheets.worksheet_id import WorksheetId

REMEMBERED_SECONDS = 60.0
MAX_REMEMBERED = 1000

A = TypeVar("A", ListAsked, RowAsked)
T = TypeVar("T")

_Place = tuple[WorksheetId, frozenset[str] | None]


class TitleAlias(NamedTuple):
    """What the name of a worksheet means, by which reading, and when that was seen."""

    reading: str
    title: str
    seen_seconds: float


class TitleAliases:
    """The names of worksheets that were understood at the second reading.

    `write_seconds` is how long that is believed for writes.
    """

    def __init__(
        self, *, write_seconds: float, timer: Callable[[], float] = time.monotonic
    ) -> None:
        self._timer = timer
        self._seconds = {False: REMEMBERED_SECONDS, True: write_seconds}
        self._known: TTLCache[_Place, TitleAlias] = TTLCache(
            MAX_REMEMBERED, REMEMBERED_SECONDS, timer
        )

    def find(self, target: Target, *, is_write: bool) -> TitleAlias | None:
        """What this name was found to mean a moment ago."""
        if "%" not in target.worksheet.title and "+" not in target.worksheet.title:
            return None
        known = self._known.get(_place(target))
        if known is None or self._timer() - known.seen_seconds >= self._seconds[is_write]:
            return None
        return known

    def learn(self, target: Target, error: WorksheetNotFound) -> TitleAlias | None:
        """What the name means if there is no worksheet of it, by the look that says so."""
        for reading, title in other_titles(target.worksheet.title):
            if title in error.titles and target.access.may_hear_of(title):
                alias = TitleAlias(reading, title, self._timer())
                self._known[_place(target)] = alias
                return alias
        return None

    def forget(self, target: Target) -> None:
        self._known.pop(_place(target), None)


async def on_worksheet(
    title_aliases: TitleAliases,
    target: Target,
    act: Callable[[Target], Awaitable[T]],
    *,
    is_write: bool,
) -> T:
    """Do something with the worksheet that a name means."""
    known = title_aliases.find(target, is_write=is_write)
    if known is not None:
        try:
            return await _on(known, target, act)
        except WorksheetNotFound:
            title_aliases.forget(target)
    try:
        return await act(target)
    except WorksheetNotFound as error:
        meant = title_aliases.learn(target, error)
        if meant is None:
            raise not_found_by(target, error) from error
        first = error
    try:
        return await _on(meant, target, act)
    except WorksheetNotFound:
        title_aliases.forget(target)
        raise not_found_by(target, first) from first


async def with_fields(
    text: bytes,
    asked: A,
    parse: Callable[[Leniency], A],
    act: Callable[[A], Awaitable[T]],
) -> T:
    """Answer what is asked; values that name no field are decoded once more.

    `parse` reads the sifted parameters `text` anew, some of them decoded once more.
    """
    again, failed = PLAIN, dict[str, UnknownField]()
    while True:
        try:
            result = await act(asked)
        except UnknownField as error:
            name = error.parameter
            if name in failed or not _is_escaped(text, name):
                raise failed.get(name, error) from None
            failed[name], again = error, again.with_unknown(name, error.names)
            try:
                asked = parse(again)
            except InvalidQuery:
                raise error from None
        else:
            note_readings(asked.readings)
            return result


def note_readings(readings: Iterable[str]) -> None:
    """What it took to understand the parameters."""
    for reading in readings:
        note_reading(reading)


async def _on(alias: TitleAlias, target: Target, act: Callable[[Target], Awaitable[T]]) -> T:
    note_reading(alias.reading, worksheet=alias.title)
    return await act(replace(target, worksheet=replace(target.worksheet, title=alias.title)))


def _place(target: Target) -> _Place:
    return target.worksheet, target.access.titles


def _is_escaped(text: bytes, parameter: str) -> bool:
    return any(map(is_escaped, decoded(text).get(parameter, ())))
