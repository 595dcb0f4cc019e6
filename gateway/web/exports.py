"""Exports: all matching rows as CSV, as JSON lines, or as the JSON of a list.

Rules
- An export fails before its first byte, or is complete. An error after the first byte closes the
  connection, so that the client sees a cut answer.
- In CSV, a text or field name that spreadsheet programs would read as a formula gets an apostrophe
  (`gateway.table.formulas`). JSON is the same as in lists.
- An export has no ETag, because all cells would have to be encoded before the first byte.
"""

import csv
import io
import re
import urllib.parse
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import msgspec
from msgspec.structs import replace as replaced

from gateway.access.caller import check_query
from gateway.access.rates import FRESH_PRICE
from gateway.errors import InvalidQuery
from gateway.query.query import Query
from gateway.table.formulas import guarded, has_sign
from gateway.table.header import ROW_INDEX
from gateway.table.steps import Work
from gateway.table.table import column_at
from gateway.table.typed import ERROR
from gateway.telemetry.events import RequestEvent
from gateway.web import answers, parameters
from gateway.web.admission import Admitted
from gateway.web.head import FORMATS, accepted_format, asks_for_fresh
from gateway.web.media_types import CSV_TEXT, JSON_TEXT, NDJSON_TEXT
from gateway.web.request import Request
from gateway.web.rows import Asked
from gateway.web.signature import FORMAT, FORMULAS
from gateway.worksheets.access import Target
from gateway.worksheets.exports import Cells, Export

ROWS_PER_REQUEST = 1_000
"""An export of n rows is charged as 1 + n // ROWS_PER_REQUEST requests."""
PART_BYTES = 65_536
"""Size of a part in bytes. A client must take a part within `answer_timeout_seconds`."""

RAW = "raw"
"""Value of the parameter `formulas` for CSV without apostrophes before formulas."""
_TEXTS = frozenset({str, type(None)})
_EXPOSED = "Content-Disposition"
_CONTENT_TYPES = {"csv": CSV_TEXT, "ndjson": NDJSON_TEXT, "json": JSON_TEXT}
_NOT_IN_FILE_NAMES = re.compile(r"[^ !#$&()+,\-.0-9=@A-Z\[\]^_`a-z{}~]")
_LONGEST_FILE_NAME = 100


class ExportAsked(msgspec.Struct, frozen=True):
    """Parsed parameters of an export."""

    query: Query
    """Query of the rows. Its limit is at most the plan's maximum plus one.

    If the additional row exists, the export is refused.
    """
    no_cache: bool
    format: str
    is_raw: bool
    """True for `formulas=raw`: CSV has no apostrophe before texts that look like formulas."""
    readings: tuple[str, ...] = ()


async def parse_export(request: Request, admitted: Admitted) -> Asked:
    accepted = accepted_format(request.head.lines.get(b"accept", ()))
    max_rows = admitted.caller.plan.max_export_rows
    read = _kept_export if len(admitted.asked) <= parameters.LONGEST_KEPT_TEXT else _parse_export
    parse = partial(read, admitted.asked, accepted, max_rows)
    asked = parse(parameters.PLAIN)
    uses_where, uses_order = asked.query.where is not None, bool(asked.query.order)
    uses_order = uses_order or asked.query.whole_order is not None
    check_query(admitted.caller, uses_where=uses_where, uses_order=uses_order)
    no_cache = asked.no_cache or asks_for_fresh(request.head)
    if no_cache:
        await admitted.lease.raise_to(FRESH_PRICE)
    return Asked(asked, parse, no_cache=no_cache)


def _parse_export(
    text: bytes, accepted: str, max_rows: int, again: parameters.Leniency
) -> ExportAsked:
    """Parse the parameters of an export, an encoded query string.

    `accepted` is the format that `Accept` prefers, or "". `max_rows` is the plan's maximum of
    exported rows. `again` has the parameters to decode once more.
    """
    asking = parameters.asking_of(text, again)
    named = (parameters.single_text(asking, FORMAT) or accepted).strip().lower()
    if named not in FORMATS:
        raise InvalidQuery(f"{FORMAT} must be one of {', '.join(FORMATS)}.")
    formulas = parameters.single_text(asking, FORMULAS)
    if formulas is not None and (named != "csv" or formulas.strip().lower() != RAW):
        raise InvalidQuery(
            f"{FORMULAS} can only be '{RAW}', and only with {FORMAT}=csv. Remove the parameter, "
            "unless texts that look like formulas should get no apostrophe in front."
        )
    limit = parameters.parse_count(asking, "limit")
    query = parameters.parse_query(asking, max_limit=0)
    most = max_rows + 1
    return ExportAsked(
        replaced(query, limit=most if limit is None else min(limit, most), wants_total=True),
        parameters.parse_no_cache(asking.parameters),
        named,
        formulas is not None,
        tuple(asking.readings),
    )


_kept_export = lru_cache(parameters.KEPT_TEXTS)(_parse_export)


async def run_export(request: Request, admitted: Admitted, target: Target, asked: Asked) -> Export:
    """Find the rows of an export, and charge them to the key."""
    parsed: ExportAsked = asked.parameters
    admitted.lease.begin_export()
    export = await request.state["rows"].export_rows(
        target,
        parsed.query,
        max_rows=admitted.caller.plan.max_export_rows,
        is_typed=admitted.is_typed,
        needs_classes=parsed.format == "csv" and not parsed.is_raw,
        no_cache=asked.no_cache,
        unknown=admitted.unknown,
    )
    more = 0 if request.event.method == "HEAD" else len(export.rows) // ROWS_PER_REQUEST
    if more:
        admitted.lease.owe(more)
    return export


def exported(request: Request, target: Target, asked: Asked, export: Export) -> answers.Answer:
    """Return the answer to an export. Its body is encoded while the client receives it."""
    event, freshness, parsed = request.event, export.freshness, asked.parameters
    event.cache = "stale" if freshness.reason else "hit" if freshness.is_hit else "miss"
    headers = {
        "Cache-Control": answers.CACHING,
        "Content-Type": _CONTENT_TYPES[parsed.format],
        "X-Total-Count": str(export.total),
        # `Frame` adds a line with the headers of all answers; only exports have a file name.
        "Access-Control-Expose-Headers": _EXPOSED,
    }
    if parsed.format == "csv":
        headers["Content-Disposition"] = disposition(target.worksheet.title, ".csv")
        names = export.selected.values()
        head = csv_lines([(ROW_INDEX, *(names if parsed.is_raw else map(guarded, names)))])
        lines = Lines(block=partial(_csv_block, is_raw=parsed.is_raw), begin=head)
    else:
        encoders = answers.TYPED_ENCODERS if export.is_typed else answers.ENCODERS
        encoder = encoders[request.state["api"].empty_cell]
        lines = Lines(block=partial(_json_block, encoder=encoder, is_list=False))
        if parsed.format == "json":
            has_next = b"true" if export.has_next else b"false"
            lines = Lines(
                block=partial(_json_block, encoder=encoder, is_list=True),
                begin=b'{"results":[',
                between=b",",
                end=b'],"hasNextPage":%b}' % has_next,
            )
    about_age = answers.freshness_lines(freshness, no_cache=asked.no_cache)
    all_lines = [*answers.header_lines(headers), *about_age, answers.VARY]
    return answers.Answer(200, all_lines, made_body(export, lines, event), may_be_compressed=True)


async def made_body(export: Export, lines: "Lines", event: RequestEvent) -> AsyncGenerator[bytes]:
    """Yield the encoded body in parts. Counts its rows in the event of the request."""
    event.rows = 0
    ahead = lines.begin
    async for count, block in export.blocks(lines.block):
        event.rows += count
        block = ahead + block
        for start in range(0, len(block), PART_BYTES):
            yield block[start : start + PART_BYTES]
        ahead = lines.between
    if lines.end or not event.rows:
        yield (b"" if event.rows else ahead) + lines.end


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Encoding of an export: a function that encodes some rows, and the bytes around them."""

    block: Callable[[Export, Sequence[int], Cells], Work[bytes]]
    begin: bytes = b""
    between: bytes = b""
    end: bytes = b""


def _csv_block(export: Export, rows: Sequence[int], cells: Cells, *, is_raw: bool) -> Work[bytes]:
    """Encode the rows with these numbers as CSV (RFC 4180) in UTF-8.

    Texts that look like formulas get an apostrophe in front, unless `is_raw`.
    """
    columns: list[Sequence[object]] = []
    for column, shown in cells.items():
        yield 2 * len(rows)
        found = shown if is_raw else _guarded(export, column, rows, shown)
        columns.append(_plain(found) if export.is_typed else found)
    yield 2 * len(rows) * (1 + len(columns))
    return csv_lines(zip(rows, *columns, strict=True))


def csv_lines(lines: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    return text.getvalue().encode("utf-8", "replace")


def _guarded(
    export: Export, column: int, rows: Sequence[int], shown: Sequence[Any]
) -> Sequence[object]:
    """Return the cells `shown` of a column, with an apostrophe before texts like formulas.

    `column` is the column's number from 0, `rows` are the row numbers of the cells. A cell with a
    number, such as -5, gets no apostrophe.
    """
    kinds = {*map(type, shown)} if export.is_typed else _TEXTS
    texts = shown if kinds <= _TEXTS else [cell for cell in shown if isinstance(cell, str)]
    if not has_sign(filter(None, texts)):
        return shown
    if export.table.typed is None:
        values = shown  # the column has no formulas (`may_hold_formulas`)
    else:
        values = export.table.picker(rows)(column_at(export.table.typed, column))
    return [
        guarded(cell) if isinstance(value, str) and isinstance(cell, str) else cell
        for cell, value in zip(shown, values, strict=True)
    ]


def _plain(cells: Sequence[object]) -> Sequence[object]:
    """Convert booleans to `true` and `false`, and errors to empty cells."""
    kinds = {*map(type, cells)}
    if bool not in kinds and msgspec.Raw not in kinds:
        return cells
    return [
        ("true" if cell else "false") if isinstance(cell, bool) else None if cell is ERROR else cell
        for cell in cells
    ]


def _json_block(
    export: Export,
    rows: Sequence[int],
    cells: Cells,
    *,
    encoder: answers.JsonEncoder,
    is_list: bool,
) -> Work[bytes]:
    """Encode some rows as JSON: elements of a list if `is_list`, otherwise one line per row."""
    yield 2 * len(rows) * (1 + len(cells))
    found = export.table.row_objects(rows, export.selected, encoder.empty, cells=cells)
    records = map(encoder.row, found)
    return b",".join(records) if is_list else b"\n".join([*records, b""])


def disposition(title: str, suffix: str) -> str:
    """Return `Content-Disposition` (RFC 6266) for a file that is named after the title."""
    name = title[:_LONGEST_FILE_NAME] + suffix
    plain = _NOT_IN_FILE_NAMES.sub("_", name)
    extended = "" if plain == name else f"; filename*=UTF-8''{urllib.parse.quote(name, safe='')}"
    return f'attachment; filename="{plain}"{extended}'
