"""One update in progress: the cells it writes, and the row it leaves."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import Values, Writing
from gateway.table import a1
from gateway.table.header import Header
from gateway.table.patch import RowPatch
from gateway.table.record import Placement, Stored, text_at
from gateway.table.view import View
from gateway.worksheets.idempotency import Sending
from gateway.worksheets.snapshot import Effect
from gateway.worksheets.worksheet_id import WorksheetId, written_area
from gateway.worksheets.writes import Outcome, WriteIdentity, written_row

_NAMED = re.compile(r"data\[(\d+)\]")
"""Where Google's refusal of a batch says which of its parts is to blame."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Change:
    """An update whose values have found their cells; `displayed` is the row as we saw it."""

    index: int
    row: int
    identity: WriteIdentity | None
    view: View
    placement: Placement
    displayed: Sequence[str]
    runs: Sequence[tuple[int, list[Stored]]]


def sending_of(part: Change) -> Sending:
    """What is written of a row, from column A; None is a cell that is left as it is."""
    row: list[Stored] = [None] * (part.runs[-1][0] + len(part.runs[-1][1]))
    for column, values in part.runs:
        row[column : column + len(values)] = values
    return Sending(part.identity, part.row, [row])


def writings_of(worksheet: WorksheetId, part: Change) -> list[Writing]:
    return [
        Writing(
            range=a1.run_range(worksheet.title, part.row, column, column + len(values) - 1),
            rows=[values],
        )
        for column, values in part.runs
    ]


def culprit_among(parts: Sequence[Change], refusal: UpstreamRefusal) -> Change | None:
    """The part that Google's refusal names by the number of its range, or the only one."""
    named = _NAMED.search(refusal.google_message)
    owners = [part for part in parts for _ in part.runs]
    if named is None or int(named[1][:9]) >= len(owners):
        return parts[0] if len(parts) == 1 else None
    return owners[int(named[1])]


def texts_of(worksheet: WorksheetId, part: Change, answers: Sequence[Values]) -> Mapping[int, str]:
    """What the written cells display now, by column."""
    texts: dict[int, str] = {}
    for (_, values), answer in zip(part.runs, answers, strict=True):
        first = written_area(worksheet, answer.range).first_column
        shown = answer.cells[0] if answer.cells else ()
        texts |= {first + offset: text_at(shown, offset) for offset in range(len(values))}
    return texts


def result_of(part: Change, texts: Mapping[int, str]) -> Outcome:
    """The answer for a row, some of whose cells display other texts now."""
    width = max([len(part.displayed), *(column + 1 for column in texts)])
    displayed = [texts.get(column, text_at(part.displayed, column)) for column in range(width)]
    return (written_row(part.row, part.placement, part.view, displayed),)


def effect_of(header: Header, texts: Mapping[Change, Mapping[int, str]]) -> Effect:
    """What updates left in the worksheet, by what their written cells display now."""
    patches = [
        RowPatch(row=part.row, texts=shown, values=_values(part)) for part, shown in texts.items()
    ]
    return Effect(header=header, rows=patches, before={part.row: part.displayed for part in texts})


def _values(part: Change) -> Mapping[int, Stored]:
    runs = ((column + at, value) for column, run in part.runs for at, value in enumerate(run))
    return dict(runs)
