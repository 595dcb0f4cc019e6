"""values.batchGetByDataFilter, batchUpdateByDataFilter and batchClearByDataFilter.

Rules:
- A filter can match any number of ranges. A filter without a match is not an error (assumed).
- Written values must fit into each matched range, also into a single cell (Google's documentation).
- A write is applied to all ranges of all filters, or to none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.grid.box import Box
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.protocol.message import Message
from sheets_emulator.protocol.rendering import Rendering
from sheets_emulator.refusal import Refusal, prefixed
from sheets_emulator.reply import Json, Reply
from sheets_emulator.resources.data_filter import DataFilter, read_filter
from sheets_emulator.resources.places import Place, require_readable, require_unprotected
from sheets_emulator.values.entries import Entries
from sheets_emulator.values.ranges import Plan, planned_at, value_range, write_all


@dataclass(frozen=True, kw_only=True)
class Match:
    """A range, and the filters of the request that match it."""

    place: Place
    filters: list[Json] = field(default_factory=list)


def batch_get_by_filter(
    results: Results,
    filters: Sequence[DataFilter],
    *,
    account: str,
    dimension: str,
    rendering: Rendering,
) -> Reply:
    """Return the values of all matched ranges.

    A range that several filters match is returned once.
    """
    matches = _matches(results.workbook, filters, account)
    require_readable([match.place.box for match in matches])
    found = [
        {
            "valueRange": value_range(
                results, match.place.sheet, match.place.box, dimension, rendering
            ),
            "dataFilters": match.filters,
        }
        for match in matches
    ]
    reply: Reply = {"spreadsheetId": results.workbook.spreadsheet_id}
    return {**reply, "valueRanges": found} if found else reply


def batch_update_by_filter(
    workbook: Workbook,
    writes: Sequence[tuple[Message, Entries]],
    *,
    account: str,
    rendering: Rendering | None,
) -> Reply:
    """Write values to all ranges that their DataFilter matches."""
    plans: list[Plan] = []
    filters: list[Json] = []
    for index, (message, entries) in enumerate(writes):
        try:
            found = list(_planned(workbook, message, entries, account))
        except Refusal as refusal:
            raise prefixed(f"Invalid data[{index}]: ", refusal) from refusal
        plans += found
        filters += [message.fields] * len(found)
    totals, responses = write_all(workbook, plans, rendering)
    shown = [
        {**_without_id(response), "dataFilter": given}
        for response, given in zip(responses, filters, strict=True)
    ]
    return {**totals, **({"responses": shown} if shown else {})}


def batch_clear_by_filter(
    workbook: Workbook, filters: Sequence[DataFilter], *, account: str
) -> Reply:
    """Clear the values of all matched ranges."""
    places = [match.place for match in _matches(workbook, filters, account)]
    for place in places:
        require_unprotected(place.sheet, place.box, account)
    for place in places:
        place.sheet.clear(place.box)
    reply: Reply = {"spreadsheetId": workbook.spreadsheet_id}
    return {**reply, "clearedRanges": [place.text for place in places]} if places else reply


def _planned(
    workbook: Workbook, message: Message, entries: Entries, account: str
) -> Iterator[Plan]:
    for place in read_filter(workbook, message).places(workbook, account):
        yield planned_at(place, entries, account)


def _matches(workbook: Workbook, filters: Sequence[DataFilter], account: str) -> list[Match]:
    """Return the distinct matched ranges in the order of the filters."""
    found: dict[tuple[int, Box], Match] = {}
    for wanted in filters:
        for place in wanted.places(workbook, account):
            key = (place.sheet.sheet_id, place.box)
            found.setdefault(key, Match(place=place)).filters.append(wanted.fields)
    return list(found.values())


def _without_id(response: Reply) -> Reply:
    return {name: member for name, member in response.items() if name != "spreadsheetId"}
