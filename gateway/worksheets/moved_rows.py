"""Detect from Google's response that a write changed another record than the planned record.

Rules
- The gateway reads rows to plan a write, and then sends the write. People can sort, insert or
  delete rows between these two calls. Google's response shows the rows at the time of the write.
- Only constant cells are compared, because the write itself can change results of formulas. A cell
  that is blank in the response is compared if its row has no formula, or if the write found the row
  by this cell. Otherwise the cell counts as hidden: the row might not be the record, for example a
  row with only filled-down formulas and an unticked checkbox.
- People also edit cells of a record. So a row counts as another record if a cell by which the write
  found it has changed. If the response shows no such cell, at least half of the compared cells must
  have changed. With `If-Match`, one changed cell is enough.
- Cells by which a row was found are compared by typed value and by displayed text. So are all cells
  of a typed write with `If-Match`. Other cells are compared by displayed text only.
- After a delete, the response cannot show the removed row. The response shows the rows above and
  below (neighbours), which are compared with the planning read. Another row was removed if two
  neighbours are other records, if most of their cells changed, or if the planned row is a neighbour
  now. If the only difference is one row that people inserted or deleted below the planned row, the
  planned row was removed. Rows that were blank are not evidence.
- If people deleted two rows below the planned row, the result is also the error, because one of
  these rows might be the planned row. If all rows but one were blank, an edit of the only filled
  cell looks like a sort and gives the error. A false error is better than a silent wrong write.
- If the response was lost, the gateway reads the rows again. Removed rows then have no evidence.
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
    """Columns of a row's constant cells: unchanged, changed, or hidden.

    Hidden cells are blank in the response, in a row with formulas.
    """

    same: Collection[int]
    changed: Collection[int]
    hidden: Collection[int] = ()

    @property
    def is_it(self) -> bool:
        """True if the row is the planned record: compared cells exist, and all are unchanged."""
        return bool(self.same) and not (self.changed or self.hidden)


class _Passed(NamedTuple):
    """Result of comparing the rows next to removed rows with the planning read.

    `is_as_planned`: the neighbours do not contradict the plan. `is_another`: another record was
    removed. `met` has the displayed texts of that other record, or None if they are unknown.
    """

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
    """Return the errors of conditional writes that changed another record, by index of the write.

    The second value is True if no compared row had changed. `seen` has the changed rows in Google's
    response, `edges` the rows above and below removed rows. `has_header`: the response has the
    header of the planning read, so that the error can name the cells.
    """
    errors: dict[int, RowsMoved] = {}
    is_as_planned = True
    gone: dict[int, tuple[Planned, Sequence[str]]] = {}
    for write in writes:
        for row, texts in write.removed.items():
            gone[row] = write, texts
        for change in write.changes:
            yield REQUEST_STEPS + len(change.displayed)
            if not change.placement.cells:  # the write empties the row
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
        if above > 0:  # skip the header
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
    """True if the write changed another record than the planned record."""
    if write.has_condition:
        return bool(found.changed)
    if not write.compared.isdisjoint((*found.same, *found.changed)):
        return not write.compared.isdisjoint(found.changed)
    return len(found.changed) >= max(1, len(found.same))


def _passed(edge: Edge, block: Block, rows: Mapping[int, Sequence[str]]) -> _Passed:
    """Compare the neighbours of removed or emptied rows with the response.

    `rows` are the planned rows. If a planned row is now at the row number of a neighbour, the write
    removed another record. That record is known if the next rows on both sides confirm the move.
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
        # The response shows one more row on each side.
        places = [edge.row - len(edge.above), edge.row_below + len(edge.below)]
        is_another = any(is_at(meant[0], row) for row in [*places, *(row for _, row in beside)])
    return _Passed(is_as_planned=not found and not is_another, is_another=is_another)


def _stayed(edge: Edge, block: Block) -> bool:
    """True if the neighbours are unchanged, except one row inserted or deleted below.

    A filled neighbour must confirm this. After an insertion or deletion, a filled row below it must
    confirm it.
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
    """Count the filled rows, or return None if one of the rows has changed."""
    found = [_compared_row(texts, block, row) for texts, row in zip(rows, numbers, strict=False)]
    return None if any(each.changed for each in found) else sum(each.is_it for each in found)


def _compared_row(before: Sequence[str], block: Block, row: int) -> _Compared:
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
    """Compare unwritten cells of a row with the response.

    `keys` are the columns by which the write found the row. `values` are typed values by column,
    which must stay equal, too.
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
            is_same = was == now or text in ERRORS  # values of one error can differ
            if isinstance(was, int | float) and isinstance(now, int | float):
                # Google's number of digits can depend on the call.
                is_same = isclose(was, now, rel_tol=1e-13)
            (same if is_same else changed).append(at)
    return _Compared(same, changed)


def _compared(
    before: Sequence[str],
    cells: Iterable[tuple[int, str]],
    computed: Collection[int],
    keys: Collection[int] = (),
) -> _Compared:
    """Compare constant cells (column number and text) with the texts `before`.

    Cells of the columns `computed` have formulas. A cell in a column of `keys` that is blank now
    counts as changed.
    """
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
    """Return a row after the write, from the row `before` and the cells that the response shows.

    Each entry of `shown` has the number of its first column (from 0), and neighbouring cells from
    this column on. Columns in a gap after the end of `before` get `blank`.
    """
    row = [*before]
    for first, cells in shown:
        row += [blank] * (first - len(row))
        row[first : first + len(cells)] = cells
    return row


def _error(
    write: Planned, header: Header, row: int, texts: Sequence[str], met: Sequence[str] | None
) -> RowsMoved:
    columns = header.seen_with(write.write.access.columns).select(None)
    return RowsMoved(
        f"The write was applied to row {row}, but the row held another record ('met', null if "
        "unknown) than the gateway had read ('expected'), because people moved or changed rows at "
        "the same time. Check the worksheet, and do not send the write again.",
        row=row,
        expected=row_record(row, columns, texts),
        met=None if met is None else row_record(row, columns, met),
    )
