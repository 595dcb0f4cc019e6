"""SVG pictures of worksheets for the how-to on existing sheets.

PYTHONPATH=. python -m tests.docs.pictures FOLDER draws the pictures, by default in
docs/images/sheets.

Rules: cells, checkboxes, tables, frozen and protected rows come from the emulator, as the gateway
reads them. Records are the rows that a gateway with the settings of the page lists. A picture is up
to date if a new drawing has the same text.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from itertools import groupby, pairwise
from pathlib import Path

import anyio

from gateway.commands.demo import SAMPLE
from gateway.commands.doctor.account import opened_accounts
from gateway.google.calls import GoogleSheets
from gateway.google.sheets import SheetView, Value
from gateway.settings.model import GoogleSettings
from gateway.table import a1
from tests.docs.blocks import TOP
from tests.journeys.conftest import KEYS, Api, make_keys, running_emulator, running_gateways
from tests.kept_sheets import write_kept_sheets

FOLDER = TOP / "docs" / "images" / "sheets"
LAST_ROW = 1000
"""Last row of filled-down columns."""

_ROW, _NUMBER, _PAD = 26, 44, 12
"""Height of a row, width of the row numbers, and margin, in pixels."""
_CHARACTER, _NARROWEST = 7.4, 64
_LINE, _GREEN, _GREY, _INK = "#c4c7c5", "#137333", "#80868b", "#202124"
_INKS = {"records": _GREEN, "field names": "#174ea6", "created": "#b06000"}
_HATCH = (
    '<pattern id="protected" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path d="M0 0V7" stroke="#bdc1c6" stroke-width="2"/></pattern>'
)
_DROPDOWN = "ONE_OF_LIST"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Area of a worksheet for a picture: the first rows and columns. With `has_gap`, rows
    above LAST_ROW are omitted.
    """

    name: str
    spreadsheet: str
    title: str
    columns: int
    rows: int
    header_row: int = 1
    has_gap: bool = False
    created: Mapping[int, object] = field(default_factory=dict)
    """Objects to create before the picture is drawn, by row."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Content of a picture: the worksheet as read, and the rows that are records."""

    picture: Picture
    view: SheetView
    records: Sequence[int]

    @property
    def rows(self) -> Sequence[int]:
        """Row numbers in the picture; 0 is a gap."""
        first = range(1, self.picture.rows + 1)
        return [*first, 0, LAST_ROW] if self.picture.has_gap else [*first]

    def cell(self, row: int, column: int) -> tuple[str, Value, str]:
        """Return displayed text, typed value and data validation rule of a cell. Row 0 is blank."""
        [block] = self.view.blocks
        if not (0 < row <= len(block.texts) and column < len(block.texts[row - 1])):
            return "", None, ""
        form = block.cells[row - 1][column].form
        return block.texts[row - 1][column], block.values[row - 1][column], form.rule

    def label(self, row: int) -> str:
        """Return the gateway's use of a row, such as "records" or "field names"."""
        top = self.picture.header_row
        if row in self.picture.created:
            return "created"
        if 0 < row <= top:
            return "field names" if row == top else "never shown, never written"
        return "records" if row in self.records else "no records"


def svg(drawn: Drawn) -> str:
    """Return the picture as an SVG text."""
    lefts = [*_lefts(drawn)]
    labels = {*map(drawn.label, drawn.rows)}
    width = lefts[-1] + 30 + round(_CHARACTER * max(map(len, labels)))
    height = _PAD * 2 + _ROW * (len(drawn.rows) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Arial, Helvetica, sans-serif" font-size="13" role="img">',
        f"<title>{escape(drawn.picture.title)}</title>",
        *([_HATCH] if drawn.view.protections else []),
        _box(0, 0, width, height, "#fff", ""),
        *_column_letters(lefts),
    ]
    for place, row in enumerate(drawn.rows, start=1):
        lines += _row(drawn, lefts, row, _PAD + place * _ROW)
    lines += _marks(drawn, lefts)
    lines += _labels(drawn, lefts[-1])
    return "\n".join([*lines, "</svg>", ""])


def _lefts(drawn: Drawn) -> Iterator[int]:
    """Yield the left edge of each column, and then the right edge of the last column."""
    left, top = _PAD + _NUMBER, drawn.picture.header_row
    for column in range(drawn.picture.columns):
        yield left
        cells = [drawn.cell(row, column) for row in drawn.rows if row >= top or row == 0]
        longest = max(len(text) + 2 * (rule == _DROPDOWN) for text, _, rule in cells)
        left += max(_NARROWEST, round(_CHARACTER * longest + 26))
    yield left


def _column_letters(lefts: Sequence[int]) -> Iterator[str]:
    yield _box(_PAD, _PAD, _NUMBER, _ROW, "#f1f3f4")
    for column, (left, right) in enumerate(pairwise(lefts)):
        yield _box(left, _PAD, right - left, _ROW, "#f1f3f4")
        yield _text((left + right) // 2, _PAD, a1.column_letters(column), _GREY, "middle")


def _row(drawn: Drawn, lefts: Sequence[int], row: int, y: int) -> Iterator[str]:
    is_record, is_header = row in drawn.records, row == drawn.picture.header_row
    paper = "#e6f4ea" if is_record else "#d2e3fc" if is_header else "#f1f3f4"
    yield _box(_PAD, y, _NUMBER, _ROW, paper)
    yield _text(_PAD + _NUMBER // 2, y, str(row) if row else "⋮", _INK, "middle")
    paper = "#fef7e0" if row in drawn.picture.created else "#fff"
    is_above = 0 < row < drawn.picture.header_row
    edges = [*pairwise(lefts)]
    for left, right in [(lefts[0], lefts[-1])] if is_above else edges:
        yield _box(left, y, right - left, _ROW, paper)
    ink = _INK if is_record or is_above or is_header else _GREY
    for column, (left, right) in enumerate(edges):
        yield from _cell(drawn.cell(row, column), left, right, y, ink, is_bold=is_header)


def _cell(
    cell: tuple[str, Value, str], left: int, right: int, y: int, ink: str, *, is_bold: bool
) -> Iterator[str]:
    text, value, rule = cell
    middle = (left + right) // 2
    if isinstance(value, bool):
        yield (
            f'<rect x="{middle - 6}" y="{y + 7}" width="12" height="12" rx="2" '
            f'fill="{_GREEN if value else "#fff"}" stroke="{_GREEN if value else _GREY}"/>'
        )
        if value:
            tick = f"M{middle - 3} {y + 13}l2.5 2.5 4.5-5"
            yield f'<path d="{tick}" fill="none" stroke="#fff" stroke-width="1.8"/>'
        return
    if rule == _DROPDOWN:
        yield (
            f'<rect x="{left + 4}" y="{y + 4}" width="{right - left - 8}" height="18" rx="9" '
            'fill="#e8eaed"/>'
            f'<path d="M{right - 18} {y + 11}h8l-4 5z" fill="{_GREY}"/>'
        )
        yield _text(left + 12, y, text, ink)
    elif text:
        is_number = isinstance(value, int | float)
        x, anchor = (right - 7, "end") if is_number else (left + 7, "start")
        yield _text(x, y, text, ink, anchor, is_bold=is_bold)


def _marks(drawn: Drawn, lefts: Sequence[int]) -> Iterator[str]:
    """Yield protected cells, the line below frozen rows, and frames of native tables."""
    shown = drawn.picture.rows

    def frame(area: a1.GridArea) -> tuple[int, int, int, int]:
        last = min(area.last_column or len(lefts) - 2, len(lefts) - 2)
        left, top = lefts[area.first_column], _PAD + area.first_row * _ROW
        bottom = _PAD + (min(area.last_row or shown, shown) + 1) * _ROW
        return left, top, lefts[last + 1] - left, bottom - top

    for protection in drawn.view.protections:
        yield _box(*frame(protection.area), "url(#protected)", "", opacity=0.45)
    if frozen := drawn.view.frozen_rows:
        y = _PAD + (frozen + 1) * _ROW
        yield f'<path d="M{_PAD} {y}H{lefts[-1]}" stroke="#9aa0a6" stroke-width="3"/>'
    for table in drawn.view.tables:
        yield _box(*frame(table.area), "none", "#356854", stroke=2)


def _labels(drawn: Drawn, left: int) -> Iterator[str]:
    """Yield brackets to the right of the rows, with the gateway's use of the rows."""
    y = _PAD + _ROW
    for label, group in groupby(map(drawn.label, drawn.rows)):
        height = _ROW * len([*group])
        ink = _INKS.get(label, "#5f6368")
        bracket = f"M{left + 8} {y + 3}h6v{height - 6}h-6"
        yield f'<path d="{bracket}" fill="none" stroke="{ink}" stroke-width="1.5"/>'
        yield _text(left + 22, y + (height - _ROW) // 2, label, ink)
        y += height


def _box(
    x: int,
    y: int,
    width: int,
    height: int,
    fill: str,
    line: str = _LINE,
    *,
    opacity: float = 1,
    stroke: int = 1,
) -> str:
    edge = f' stroke="{line}" stroke-width="{stroke}"' if line else ""
    seen = f' opacity="{opacity}"' if opacity < 1 else ""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"{edge}{seen}/>'


def _text(
    x: int, y: int, text: str, ink: str, anchor: str = "start", *, is_bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if is_bold else ""
    return (
        f'<text x="{x}" y="{y + 18}" fill="{ink}" text-anchor="{anchor}"{weight}>'
        f"{escape(text, quote=False)}</text>"
    )


PICTURES = (
    Picture(
        name="title-rows", spreadsheet="demo", title="Repairs", columns=6, rows=9, header_row=3
    ),
    Picture(
        name="checkboxes",
        spreadsheet="kept",
        title="Tasks",
        columns=6,
        rows=9,
        header_row=3,
        has_gap=True,
    ),
    Picture(
        name="dropdown-defaults",
        spreadsheet="kept",
        title="Orders",
        columns=5,
        rows=5,
        has_gap=True,
    ),
    Picture(
        name="native-table", spreadsheet="kept", title="Stock", columns=4, rows=8, header_row=3
    ),
    Picture(name="totals-and-notes", spreadsheet="kept", title="Budget", columns=2, rows=8),
    Picture(
        name="created-row",
        spreadsheet="demo",
        title="Repairs",
        columns=6,
        rows=10,
        header_row=3,
        created={8: {"task": "Mow the lawn", "hours": 2}},
    ),
)
SETTINGS: Mapping[str, object] = {
    "worksheets": [
        {"spreadsheet": "demo", "title": "Repairs", "header_row": 3, "record_field": "task"},
        {"spreadsheet": "kept", "title": "Tasks", "header_row": 3},
        {"spreadsheet": "kept", "title": "Orders", "record_field": "order"},
        {"spreadsheet": "kept", "title": "Stock", "header_row": 3},
    ]
}


@contextmanager
def opened(folder: Path) -> Iterator[Api]:
    """Run a gateway with these settings on an emulator with the sample workbook and
    special sheets.
    """
    shutil.copytree(SAMPLE, folder / "seed")
    write_kept_sheets(folder / "seed", "kept", filled_rows=LAST_ROW)
    with (
        running_emulator(folder, {}) as emulator,
        running_gateways(emulator, make_keys(folder, KEYS)) as start,
    ):
        yield start(SETTINGS)


def drawn(api: Api, picture: Picture) -> Drawn:
    """Create the picture's rows, and read the worksheet and its records. The created rows
    stay until a reset.
    """
    place = {"spreadsheet": picture.spreadsheet, "key": "any"}
    for row, body in picture.created.items():
        assert api.post(picture.title, json=body, **place).json()["rowIndex"] == row
    emulator = GoogleSettings(endpoint=api.emulator.url, credentials=api.emulator.credentials)

    async def read() -> SheetView:
        async with opened_accounts({"": emulator}) as accounts:
            sheets = GoogleSheets(accounts[""].make)
            range_ = a1.row_range(picture.title, 1, LAST_ROW)
            found = await sheets.read_spreadsheet(picture.spreadsheet, [range_])
            return found.worksheets[0]

    view = anyio.run(read)
    page = api.get(f"{picture.title}?limit=100", **place).json()
    return Drawn(picture=picture, view=view, records=[row["rowIndex"] for row in page["results"]])


def main(folder: Path) -> None:
    """Draw all pictures."""
    with tempfile.TemporaryDirectory() as temporary, opened(Path(temporary)) as api:
        for picture in PICTURES:
            api.emulator.reset()
            (folder / f"{picture.name}.svg").write_text(svg(drawn(api, picture)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
