"""Store values of typed writes as numbers, booleans, dates or texts, by the type of the column.

Rules
- A plan has the values as the client sent them. An open value is a value whose stored form depends
  on the type of its column. Open values are replaced before the plan is sent, so that column types
  are read only for values that are written.
- A new cell that gets no number format in this module gets the format of new rows in `batch`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gateway.errors import Problem
from gateway.table.column_types import NumberFormat, SeenCell, SheetForms
from gateway.table.date_patterns import is_complete
from gateway.table.header import Header
from gateway.table.moments import moment_in
from gateway.table.record import WHOLE_BODY, Stored, check_has_value, not_written, pointer
from gateway.table.sent_values import OffsetSent, stored_value
from gateway.table.steps import Work
from gateway.worksheets.planning import TYPED_STEPS, Planned, RowChange
from gateway.worksheets.writes import ByKey, Written

_WALL_CLOCK = (
    "A cell holds a date and time in the time zone of the spreadsheet, without a UTC offset. "
    "Convert it to that time zone, and send it without the offset, in the form"
)
_PATTERN_STEPS = 20
"""Scheduler steps (units of work) per character of the number format of a new key."""
_INCOMPLETE = (
    "does not display all of this date or time, so no later write would find the row by it. Change "
    "the number format of the column, or name another field in on_conflict."
)


def open_spans(planned: Sequence[Planned]) -> Work[tuple[dict[int, tuple[int, int]], bool]]:
    """Find open values, whose stored form depends on the type of the column.

    Returns the first and last column of open values by number of an existing row, and True if new
    rows have open values.
    """
    spans: dict[int, tuple[int, int]] = {}
    has_new = False
    for each in planned:
        write = each.write
        if not write.has_open_values:
            continue
        for change in each.changes:
            yield TYPED_STEPS * len(change.values)
            columns = [at for at, value in change.values.items() if write.is_open(value)]
            if columns:
                spans[change.row] = min(columns), max(columns)
        for row in each.created.rows if each.created and not has_new else ():
            yield TYPED_STEPS * len(row)
            has_new = has_new or any(map(write.is_open, row))
    return spans, has_new


def with_stored_values(
    planned: Planned, forms: SheetForms, own: Mapping[int, Sequence[SeenCell]], header: Header
) -> Work[Planned]:
    """Replace open values of a write by stored values and number formats.

    An open value is a value whose stored form depends on the type of its column. `own` are the
    cells of the changed rows in the planning read, by row number. Raises InvalidBody for a date and
    time with a UTC offset, for a new row that is not a record by the header's rule, and for a key
    of a new row whose number format does not display it completely.
    """
    write = planned.write
    if not write.has_open_values:
        return planned
    view, end = header.seen_with(write.access.columns), header.end
    paths = {
        slot: write.path(number)
        for number, slot in enumerate(planned.slots)
        if not isinstance(slot, Written)
    }
    problems: dict[str, Problem] = {}

    def stored(
        row: Mapping[int, Stored], path: str, seen: Sequence[SeenCell] = ()
    ) -> tuple[dict[int, Stored], dict[int, NumberFormat]]:
        values, formats = dict(row), dict[int, NumberFormat]()
        for at, sent in row.items():
            if not write.is_open(sent):
                continue
            try:
                values[at], number_format = stored_value(
                    sent, forms.kind(at, seen), is_form=write.is_form
                )
            except OffsetSent as error:
                place = pointer(view.names[at], at=path)
                problems[place] = Problem(place, f"{_WALL_CLOCK} {error}.")
                continue
            if number_format is not None:
                formats[at] = number_format
        return values, formats

    changes: dict[RowChange, RowChange] = {}
    for change in planned.changes:
        yield TYPED_STEPS * len(change.values)
        path, seen = paths.get(change, WHOLE_BODY), own.get(change.row, ())
        values, formats = stored(change.values, path, seen)
        runs = [
            (first, [values[first + at] for at in range(len(run))]) for first, run in change.runs
        ]
        changes[change] = replace(change, runs=runs, formats=formats)
    created = planned.created
    if created is not None:
        rows: list[list[Stored]] = []
        new_formats: list[Mapping[int, NumberFormat]] = []
        has_formats = False
        by = write.selector
        key = {view.find(name) for name in by.names} if isinstance(by, ByKey) else set[int | None]()
        for number, row in enumerate(created.rows):
            yield TYPED_STEPS * len(row)
            values, formats = stored(dict(enumerate(row)), paths[number])
            for at, form in formats.items():
                if at not in key:
                    continue
                yield _PATTERN_STEPS * len(form.pattern)
                moment = moment_in(str(row[at]))
                if moment is not None and not is_complete(form.pattern, moment):
                    place = pointer(view.names[at], at=paths[number])
                    detail = f'The number format "{form.pattern}" {_INCOMPLETE}'
                    problems[place] = Problem(place, detail)
            if write.is_form and end.column is None:
                place = paths[number]
                check_has_value(values.values(), at=place, skips_false=end.skips_false)
            rows.append([*values.values()])
            new_formats.append(formats)
            has_formats = has_formats or bool(formats)
        created = replace(created, rows=rows, formats=new_formats if has_formats else ())
    if problems:
        raise not_written([*problems.values()])
    slots = [changes[slot] if isinstance(slot, RowChange) else slot for slot in planned.slots]
    return replace(planned, slots=slots, changes=[*changes.values()], created=created)
