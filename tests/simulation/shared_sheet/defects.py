"""Planted bugs: what a gateway might do wrong on a worksheet that others write to."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.google.sheets import AppendedRows, Batch, Block, Sheets, SheetView, WrittenCells

LAST_ROW = re.compile(r"!A(\d+):")


def _same(anything: Any) -> Any:
    return anything


@dataclass(frozen=True, kw_only=True)
class Defect:
    """A gateway with this bug has this application in place of its own, and this `Sheets`."""

    app: Callable[[ASGIApp], ASGIApp] = _same
    sheets: Callable[[Sheets], Sheets] = _same


def overwriting() -> Defect:
    """Rows are written into the cells below the last known row, not appended."""
    return Defect(sheets=lambda inner: cast(Sheets, _Altered(inner, batch=_written_below)))


def guessing_numbers() -> Defect:
    """New rows are taken to be just below the last known row, wherever the answer shows them."""
    return Defect(sheets=lambda inner: cast(Sheets, _Altered(inner, view=_moved_up)))


def ignoring_tags() -> Defect:
    """Updates are sent without a comparison of the tag that they demand."""
    return Defect(app=_without_conditions)


class _Altered:
    """A `Sheets` that changes batches before they are sent, and their answers."""

    def __init__(
        self,
        inner: Sheets,
        *,
        batch: Callable[[Batch], Batch] = _same,
        view: Callable[[Batch, SheetView], SheetView] = lambda _, view: view,
    ) -> None:
        self._inner = inner
        self._batch = batch
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        return self._view(batch, await self._inner.apply(spreadsheet, self._batch(batch)))


def _written_below(batch: Batch) -> Batch:
    rows = _new_rows(batch)
    first_row = _last_row(batch) + 1
    written = [
        WrittenCells(row=row, column=column, values=[value])
        for row, cells in enumerate(rows, start=first_row)
        for column, value in enumerate(cells)
        if value is not None
    ]
    return replace(batch, changes=written, encoded=()) if rows else batch


def _moved_up(batch: Batch, view: SheetView) -> SheetView:
    count, last_row = len(_new_rows(batch)), _last_row(batch)
    if not count:
        return view
    *others, block = view.blocks
    new = Block(first_row=last_row + 1, texts=block.texts[-count:], values=block.values[-count:])
    return replace(view, blocks=[*others, new])


def _new_rows(batch: Batch) -> list[Any]:
    return [
        row for change in batch.changes if isinstance(change, AppendedRows) for row in change.rows
    ]


def _last_row(batch: Batch) -> int:
    """The last row that the gateway knew, from which on the answer shows the worksheet."""
    found = LAST_ROW.search(batch.ranges[-1])
    return int(found[1]) if found else 0


def _without_conditions(app: ASGIApp) -> ASGIApp:
    async def unconditional(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [each for each in scope["headers"] if each[0] != b"if-match"]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return unconditional
