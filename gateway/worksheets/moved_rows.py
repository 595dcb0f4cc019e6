"""Evidence in the answer to a write that it changed another record than the planned one.

Rules
- A look and its write are two calls, and people may sort, insert or delete rows between them. The
  answer to the write shows the rows at the time of the write.
- Only constant cells are evidence: results of formulas may follow from the write. A cell that is
  blank now counts if its row has no formula, or if the row was found by this cell. Otherwise it is
  hidden: the row may not be the record, such as a filled-down row with only an unticked checkbox.
- People also edit cells of a record. So a row is another record if a cell by which it was found
  changed or, if no such cell is known, if half of the cells changed. With `If-Match` no cell may
  have changed.
- Cells by which a row was found, and all cells of a typed `If-Match`, are compared by value, too;
  other cells by their displays.
- The answer cannot show a removed row. It shows the rows above and below: the removed row was
  another one if two of them are others, if most of their cells changed, or if the planned row is
  among them; not if they show that one row was inserted or deleted further down. Rows that were
  blank show neither.
- So two rows that people deleted below give the error, too: one of them may have been the planned
  row. If all rows but one were blank, an edit of its only cell gives the error, because it looks
  like a sort. A false error is preferred to silence.
- After a lost answer the rows are read again. Removed rows have no evidence then.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import isclose
from typing import NamedTuple, TypeVar

from gateway.errors import RowsMoved
from gateway.google.sheets import Block
from gateway.table.cells import ERRORS
from gateway.table.header import Header
from gateway.table.record import row_record, text_at
from gateway.table.steps import Work
from gateway.worksheets.batch import AROUND, REQUEST_STEPS, Edge, Seen, Span
from gateway.worksheets.planning import Planned, RowChange

C = TypeVar("C")


class _Compared(NamedTuple):
    """Columns of a row's constant cells: unchanged ones and changed ones.

    `hidden` are columns of cells that are blank now, in a row with formulas.
    """

    same: Collection[int]
    changed: Collection[int]
    hidden: Collection[int] = ()

    @property
    def is_it(self) -> bool:
        """True if the row holds the same record, unchanged."""
        return bool(self.same) and not (self.changed or self.hidden)


class _Passed(NamedTuple):
    """Evidence on removed rows: `is_another` if others were removed; `met` is that record."""

    is_as_planned: bool = False
    is_another: bool = True
    met: Sequence[str] | None = None


def met_others(
    writes: Sequence[Planned],
    header: Header,
    seen: Seen,
    edges: Iterable[tuple[Edge, Block]],
    *,
    has_header: bool,
) -> Work[tuple[Mapping[int, RowsMoved], bool]]:
    """The errors of conditional writes to other records, by index; True if no row had changed.

    `seen` has the changed rows in the answer, `edges` the rows beside removed ones. `has_header`:
    the header is the same as in the look, so that it names the cells of the answer, too.
    """
    errors: dict[int, RowsMoved] = {}
    is_as_planned = True
    gone: dict[int, tuple[Planned, Sequence[str]]] = {}
    for write in writes:
        for row, texts in write.removed.items():
            gone[row] = write, texts
        for change in write.changes:
            yield REQUEST_STEPS + len(change.displayed)
            if not change.placement.cells:  # it is emptied
                gone[change.row] = write, change.displayed
                continue
            spans = seen.get(change, ())
            values = write.values.get(change.row, {})
            if write.has_condition and change.row in write.typed:
                values = dict(enumerate(write.typed[change.row]))
            found = _compared_change(change, spans, write.compared, values)
            is_as_planned &= not found.changed
            if write.is_conditional and _is_other(write, found):
                met: Sequence[str] | None = None
                if has_header:
                    shown = [(each.first, each.texts) for each in spans]
                    met = shown_row(change.displayed, shown, "")
                errors.setdefault(
                    write.index, _error(write, header, change.row, change.displayed, met)
                )
    for edge, block in edges:
        above = header.row + 1 - block.first_row
        if above > 0:  # the header is no evidence
            block = replace(
                block,
                first_row=header.row + 1,
                texts=block.texts[above:],
                values=block.values[above:],
                computed=block.computed[above:],
            )
        rows = {row: gone[row][1] for row in range(edge.first, edge.last + 1)}
        yield REQUEST_STEPS + 16 * AROUND * max(map(len, rows.values()))
        passed = _passed(edge, block, rows)
        is_as_planned &= passed.is_as_planned
        for row in rows if passed.is_another else ():
            write, texts = gone[row]
            if write.is_conditional:
                met = passed.met if has_header else None
                errors.setdefault(write.index, _error(write, header, row, texts, met))
    return errors, is_as_planned


def _is_other(write: Planned, found: _Compared) -> bool:
    """True if the row of a conditional write held another record than it was planned for."""
    if write.has_condition:
        return bool(found.changed)
    if not write.compared.isdisjoint((*found.same, *found.changed)):
        return not write.compared.isdisjoint(found.changed)
    return len(found.changed) >= max(1, len(found.same))


def _passed(edge: Edge, block: Block, rows: Mapping[int, Sequence[str]]) -> _Passed:
    """Evidence that other records than `rows` were removed or emptied.

    If the planned record is now above, a row further up was deleted at the same time, and the row
    below the record was removed; below likewise. This is known if the next rows on both sides are
    in their expected places.
    """

    def is_at(texts: Sequence[str], row: int) -> bool:
        return _compared_row(texts, block, row).is_it

    above, below = ([*side[:2], *[()] * (2 - len(side))] for side in (edge.above, edge.below))
    is_single = len(rows) == 1
    is_above, is_below = is_at(above[0], edge.row), is_at(below[0], edge.row_below)
    meant = [*rows.values()]
    if not is_above and any(is_at(texts, edge.row) for texts in meant[:AROUND]):
        is_up = is_at(above[0], edge.row - 1) and is_at(below[1], edge.row_below)
        return _Passed(met=below[0] if is_single and is_up else None)
    if not is_below and any(is_at(texts, edge.row_below) for texts in meant[-AROUND:]):
        is_down = is_at(above[1], edge.row) and is_at(below[0], edge.row_below + 1)
        return _Passed(met=above[0] if is_single and is_down else None)
    beside = [*zip(edge.above, count(edge.row, -1)), *zip(edge.below, count(edge.row_below))]
    if _stayed(edge, block):
        return _Passed(is_as_planned=True, is_another=False)
    found = [_compared_row(texts, block, row) for texts, row in beside if any(texts)]
    others = [each for each in found if len(each.changed) >= max(1, len(each.same))]
    same, changed = sum(len(each.same) for each in found), sum(len(each.changed) for each in found)
    is_another = len(others) > 1 or changed > same
    if not is_another and any(meant[0]) and not any(meant[0] == texts for texts, _ in beside):
        # The answer shows one row more on both sides.
        places = [edge.row - len(edge.above), edge.row_below + len(edge.below)]
        is_another = any(is_at(meant[0], row) for row in [*places, *(row for _, row in beside)])
    return _Passed(is_as_planned=not found and not is_another, is_another=is_another)


def _stayed(edge: Edge, block: Block) -> bool:
    """True if the rows above and below are unchanged, apart from one inserted or deleted row.

    A row that is not blank has to show this; below an inserted or deleted row, another one.
    """
    above = _standing(block, edge.above, count(edge.row, -1))
    if above is None:
        return False
    below, row = edge.below, edge.row_below
    standing = _standing(block, below, count(row))
    if standing is not None and above + standing:
        return True
    for at in range(len(below)):
        if _standing(block, below[:at], count(row)) is not None and (
            _standing(block, below[at:], count(row + at + 1))
            or _standing(block, below[at + 1 :], count(row + at))
        ):
            return True
    return False


def _standing(block: Block, rows: Sequence[Sequence[str]], numbers: Iterable[int]) -> int | None:
    """Number of filled rows, if the rows at these numbers are all unchanged; otherwise None."""
    found = [_compared_row(texts, block, row) for texts, row in zip(rows, numbers, strict=False)]
    return None if any(each.changed for each in found) else sum(each.is_it for each in found)


def _compared_row(before: Sequence[str], block: Block, row: int) -> _Compared:
    """Compare a row of a block with its earlier texts; empty if the block lacks the row."""
    at = row - block.first_row
    if at < 0:
        return _Compared((), ())
    texts = block.texts[at] if at < len(block.texts) else ()
    computed = block.computed[at] if at < len(block.computed) else ()
    cells = [(column, text_at(texts, column)) for column in range(max(len(before), len(texts)))]
    return _compared(before, cells, computed)


def _compared_change(
    change: RowChange, spans: Sequence[Span], keys: Collection[int], values: Mapping[int, object]
) -> _Compared:
    """Compare unwritten cells of a changed row with the cells in the answer.

    Cells in `values` are also compared by value.
    """
    same, changed, written = list[int](), list[int](), change.values
    for span in spans:
        cells = (
            (column, text)
            for column, text in enumerate(span.texts, span.first)
            if column not in written
        )
        found = _compared(change.displayed, cells, span.computed, keys)
        changed += found.changed
        for at in found.same:
            text, now = span.texts[at - span.first], span.values[at - span.first]
            was = values.get(at, now)
            is_same = was == now or text in ERRORS  # some explain an error
            if isinstance(was, int | float) and isinstance(now, int | float):
                # How many digits Google prints may depend on the call.
                is_same = isclose(was, now, rel_tol=1e-13)
            (same if is_same else changed).append(at)
    return _Compared(same, changed)


def _compared(
    before: Sequence[str],
    cells: Iterable[tuple[int, str]],
    computed: Collection[int],
    keys: Collection[int] = (),
) -> _Compared:
    """Compare constant cells with their earlier texts; `keys` are the cells that found the row."""
    same, changed, hidden = list[int](), list[int](), list[int]()
    for at, text in cells:
        was = text_at(before, at)
        if at in computed or not (text or was):
            continue
        if text or not computed or at in keys:
            (same if text == was else changed).append(at)
        else:
            hidden.append(at)
    return _Compared(same, changed, hidden)


def shown_row(before: Sequence[C], shown: Sequence[tuple[int, Sequence[C]]], blank: C) -> list[C]:
    """Texts or values of a row after the write; cells that the answer does not show are as before.

    `shown` are the runs of cells in the answer, each with its first column.
    """
    row = [*before]
    for first, cells in shown:
        row += [blank] * (first - len(row))
        row[first : first + len(cells)] = cells
    return row


def _error(
    write: Planned, header: Header, row: int, texts: Sequence[str], met: Sequence[str] | None
) -> RowsMoved:
    """The error with both records as the caller sees them."""
    columns = header.seen_with(write.write.access.columns).select(None)
    return RowsMoved(
        f"The write was applied at row {row}, but another record stood there: people moved or "
        "changed rows in the moment between the gateway's look and its write. 'expected' is the "
        "record that it looked at, 'met' the other one, if it is known. Look at the worksheet, and "
        "do not send the write again.",
        row=row,
        expected=row_record(row, columns, texts),
        met=None if met is None else row_record(row, columns, met),
    )
