"""The `Sheets` Protocol: the gateway's interface to Google Sheets.

`gateway.google.calls` implements `Sheets` with the real API or the emulator. Its calls pass through
`gateway.google.pipeline`. The tests have a fake. Ranges are texts in A1 notation, made by
`gateway.table.a1`. A fence (`Fence`) is developer metadata that proves a write.

Every method can raise
    SpreadsheetNotFound, SpreadsheetNotShared, UnsupportedDocument    problem of the spreadsheet
    UpstreamRefusal                                                   400 INVALID_ARGUMENT
    QuotaSpent, UpstreamAuth, UpstreamError, UpstreamUnreachable      problem of Google or network
    InvalidSpreadsheetId, CircuitOpen                                 nothing was sent

Reads can also raise UpstreamTimeout and SheetTooLarge. Writes can also raise WriteTooLarge and
WriteOutcomeUnknown. After any other error of a write nothing was applied (`Sheets.apply` names an
exception), because Google applies a request completely or not at all.
"""

import math
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from typing import NamedTuple, Protocol, Self

import msgspec

from gateway.errors import UpstreamRefusal
from gateway.table.a1 import GridArea
from gateway.table.column_types import NumberFormat, SeenCell

Value = str | int | float | bool | None
"""Cell value. In a write, "" and None both make the cell blank."""

Column = tuple[Value, ...]
"""Cells of one column from the first row of the range, without trailing blank cells."""


class Render(StrEnum):
    """Value rendering: displayed text, or typed values with dates as serial numbers."""

    DISPLAYED = "FORMATTED_VALUE"
    TYPED = "UNFORMATTED_VALUE"


class Detail(Enum):
    """Amount of data that a read requests for each cell. Each level includes those before it."""

    TEXTS = auto()
    """Displayed texts, and which cells have a formula."""
    VALUES = auto()
    """Typed values, and which cells show the result of a formula."""
    FORMS = auto()
    """Number formats and data validation."""


@dataclass(frozen=True, kw_only=True)
class Values:
    """Cells of a range by row, without trailing blank cells and rows.

    `range` is the range in A1 notation, as Google's answer names it.
    """

    range: str
    cells: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """Cells of a worksheet by column, either all as displayed texts or all as typed values.

    `range` is the range in A1 notation, as Google's answer names it. `digest` is a hash of Google's
    answer, so equal digests mean equal cells. `byte_count` is the approximate memory in bytes.
    """

    range: str
    columns: tuple[Column, ...]
    digest: bytes
    byte_count: int
    encoded: tuple[object, ...] = field(default=(), repr=False, compare=False)
    """References that keep the encoded columns in memory, so that later reads share them."""


class SheetArea(NamedTuple):
    """All cells from `first_row` down to the end of the grid, in the worksheet with this ID.

    Unlike a title, the ID of a worksheet never changes.
    """

    sheet_id: int
    first_row: int = 1


class KnownRange(NamedTuple):
    """Range to read in A1 notation, and the digest of the caller's earlier result, or None.

    If the range still has this digest, the result of the read is None.
    """

    range: str
    known: bytes | None


@dataclass(frozen=True, kw_only=True)
class WorksheetProperties:
    """Worksheet in Google's list (`spreadsheets.get`). `rows` and `columns` are the grid size."""

    sheet_id: int
    title: str
    rows: int
    columns: int


MAX_FENCE_ID = 2**31 - 1
"""Maximum ID of a fence, because Google's metadata IDs are signed integers of 32 bits."""

MAX_METADATA_CHARACTERS = 30_000
"""Google's limit of characters in a spreadsheet's developer metadata, keys and values together."""

_MADE_AT = re.compile(r"([0-9a-f]{8})\.")


@dataclass(frozen=True, kw_only=True)
class Fence:
    """Developer metadata that a write creates in its spreadsheet, as proof of the write.

    `id` is 1 to `MAX_FENCE_ID`, unique in the spreadsheet. `key` is the metadata key, equal for all
    fences of a gateway. `token` is the metadata value, unique to the write. A token can begin with
    the time at which the fence was made. All fences of one key have the same length, so that a new
    fence fits into the metadata limit in place of an old one.
    """

    id: int
    key: str
    token: str

    @classmethod
    def random(cls, key: str, at: float | None = None) -> Self:
        """Make a fence with a random ID and token.

        `at` is the time at the start of the token, in seconds since the epoch, or None for a token
        without a time.
        """
        number = 1 + secrets.randbelow(MAX_FENCE_ID)
        token = secrets.token_urlsafe(12) if at is None else timed(at, secrets.token_urlsafe(5))
        return cls(id=number, key=key, token=token)

    @property
    def made_at(self) -> float | None:
        """Time in the token, in seconds since the epoch, or None for a token without a time."""
        found = _MADE_AT.match(self.token)
        return None if found is None else float(int(found[1], 16))


def timed(at: float, text: str) -> str:
    """Prefix a token with a time: whole seconds since the epoch in 8 hexadecimal digits."""
    return f"{int(at):08x}.{text}"


@dataclass(frozen=True, kw_only=True)
class NativeTable:
    """Native table of a worksheet (Google's "Table"). Columns count from 0, rows from 1.

    `first_row` is the header of the table. `last_row` is the last row of the table's body, which a
    totals row can follow. `end_column` is one past the last column. `name` is "" unless
    `Sheets.read_spreadsheet` read the worksheet.
    """

    id: str
    name: str = ""
    first_row: int = 0
    first_column: int
    end_column: int
    last_row: int
    has_totals: bool = False

    @property
    def area(self) -> GridArea:
        """All cells of the table, with the header and the totals row."""
        last_row = self.last_row + self.has_totals
        return GridArea(self.first_row, last_row, self.first_column, self.end_column - 1)

    def takes(self, columns: Iterable[int]) -> bool:
        """True if all of these columns are within the table."""
        return all(self.first_column <= column < self.end_column for column in columns)


NO_TABLE = NativeTable(id="", first_column=0, end_column=0, last_row=0)


@dataclass(frozen=True, kw_only=True)
class AppendedRows:
    """Change that appends rows after the last row with data, or after the body of `table`.

    The cells of a row start at column A. None leaves a cell blank. `formats` has number formats for
    each row, by column from 0 (A), and cells without a number format get the automatic format. If
    `formats` is empty, the formats of the sheet stay. A batch has at most one `AppendedRows` for
    each native table, because two of them would write to the same rows.
    """

    rows: Sequence[Sequence[Value]]
    formats: Sequence[Mapping[int, NumberFormat]] = ()
    table: NativeTable = NO_TABLE


@dataclass(frozen=True, kw_only=True)
class WrittenCells:
    """Change that writes neighbouring cells of a row. Rows count from 1, columns from 0.

    `formats` has a new number format for each cell. If `formats` is empty, the cells keep their
    formats.
    """

    row: int
    column: int
    values: Sequence[Value]
    formats: Sequence[NumberFormat] = ()


@dataclass(frozen=True, kw_only=True)
class RemovedRows:
    """Change that removes rows, so that the rows below move up. Rows count from 1."""

    first_row: int
    last_row: int


@dataclass(frozen=True, kw_only=True)
class EmptiedRow:
    """Change that empties all cells of a row (from 1). The formats of the cells stay."""

    row: int


@dataclass(frozen=True, kw_only=True)
class InsertedRows:
    """Change that inserts blank rows above row `first_row` (from 1).

    Row `first_row` and all rows below move down. The new rows get the formats and data validation
    of the row above (`is_like_above`), or of the row that moves down.
    """

    first_row: int
    count: int
    is_like_above: bool = True


@dataclass(frozen=True, kw_only=True)
class WrittenRows:
    """Change that writes cells of neighbouring rows (from 1), from column A on.

    A None in `rows` empties the cell.
    """

    first_row: int
    rows: Sequence[Sequence[Value]]


class Copied(StrEnum):
    """Part of a cell to copy: data validation, or the formula or constant (`FORMULAS`)."""

    FORMULAS = "PASTE_FORMULA"
    RULES = "PASTE_DATA_VALIDATION"


@dataclass(frozen=True, kw_only=True)
class CopiedCells:
    """Change that copies the cells of row `row` to the rows `first_row` to `last_row` (from 1).

    `part` is the part of a cell to copy. `first` and `last` are the first and last column, from 0.
    If `last` is None, all columns from `first` on are copied.
    """

    part: Copied
    row: int
    first_row: int
    last_row: int
    first: int = 0
    last: int | None = None


Insertion = InsertedRows | WrittenRows | CopiedCells
"""Change of a write that inserts rows between other rows."""

Change = AppendedRows | WrittenCells | RemovedRows | EmptiedRow | Insertion


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Write to one worksheet, which Google applies completely or not at all.

    Google executes the requests in this order: delete the fences with the IDs `forgotten`, create
    `fence`, make each change of `changes`. The answer has the cells of `ranges` after the write,
    with number formats and data validation if `has_forms` is True.
    """

    sheet_id: int
    fence: Fence
    changes: Sequence[Change] = ()
    encoded: Sequence[msgspec.Raw] = ()
    """The changes as JSON if the caller encoded them in advance, to save time before the write."""
    forgotten: Sequence[int] = ()
    ranges: Sequence[str] = ()
    has_forms: bool = False
    send_until: float = math.inf
    """Time, in monotonic seconds, after which the batch is not sent and `LookOutdated` is raised.

    The rows that the gateway read for the batch are too old then.
    """


@dataclass(frozen=True, kw_only=True)
class Block:
    """Cells of a range. Each attribute but `first_row` has an item for each row.

    Trailing blank cells and rows can be left out.
    """

    first_row: int
    """Row number of the first item, from 1."""
    texts: Sequence[Sequence[str]]
    """Displayed texts."""
    values: Sequence[Sequence[Value]]
    """Typed values."""
    computed: Sequence[Collection[int]] = ()
    """Columns of the cells that show the result of a formula, one collection for each row.

    Column 0 is the first column of the range. Cells that a formula of another cell fills
    (ARRAYFORMULA) are included only from `Detail.VALUES` on.
    """
    formulas: Sequence[Collection[int]] = ()
    """Columns of the cells that contain a formula, counted as in `computed`."""
    cells: Sequence[Sequence[SeenCell]] = ()
    """Cells with number formats and data validation. Read only with `Detail.FORMS`."""


@dataclass(frozen=True, kw_only=True)
class Protection:
    """Protected range that the gateway's account is not allowed to edit.

    `has_exceptions` is True if the account can edit some cells within the range.
    """

    area: GridArea
    has_exceptions: bool = False


@dataclass(frozen=True, kw_only=True)
class SheetView:
    """Properties of a worksheet, and cells of each requested range (`blocks`), from one read."""

    sheet_id: int
    title: str
    rows: int
    columns: int = 0
    frozen_rows: int = 0
    blocks: Sequence[Block]
    table: NativeTable = NO_TABLE
    """Native table whose header is the first row of the first block.

    `NO_TABLE` if no native table or several of them begin in that row.
    """
    column_types: Mapping[int, str] = field(default_factory=dict)
    """Google's ColumnType by column, from 0 (A). Read only with `Detail.FORMS`.

    The columns are in native tables that begin in the first row of the first block.
    """
    column_options: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Values of a column's dropdown, by column, for the same tables as in `column_types`.

    Empty unless `Sheets.read_spreadsheet` read the worksheet.
    """
    tables: Sequence[NativeTable] = ()
    protections: Sequence[Protection] = ()
    """Protected ranges. Empty unless `Sheets.read_spreadsheet` read the worksheet."""


@dataclass(frozen=True, kw_only=True)
class SpreadsheetView:
    """Properties of a spreadsheet, and the worksheets that were read in one call, in tab order.

    Each worksheet has one block. `locale` and `time_zone` are Google's names, such as `en_US` and
    `Europe/Berlin`.
    """

    title: str
    locale: str
    time_zone: str
    worksheets: Sequence[SheetView]


class Sheets(Protocol):
    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        """Read one range by row. Cost: 1 read."""

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        """Read a range by column, or return None if the answer has the digest `known`.

        An A1 range and a `SheetArea` give the same digest if they give the same cells and title.
        Cost: 1 read. Raises `SheetTooLarge` if the cells exceed the memory limit.
        """

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        """Read several ranges by column in one snapshot. Cost: 1 read.

        Returns a rendering (all texts or all values) for each range, or None if the range still has
        its known digest. Raises `SheetTooLarge` if one range, or the whole answer, is too large.
        """

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        """Read the displayed texts of several ranges in one snapshot, by row. Cost: 1 read.

        Returns the cells of each range, in the order of `ranges`.
        """

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        """List all worksheets with cells, in tab order, without charts. Cost: 1 read."""

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, detail: Detail = Detail.VALUES
    ) -> SheetView:
        """Read ranges of one worksheet and its properties in one snapshot. Cost: 1 read."""

    async def read_spreadsheet(self, spreadsheet: str, ranges: Sequence[str]) -> SpreadsheetView:
        """Read ranges of several worksheets in one snapshot, one range of each. Cost: 1 read.

        The answer has `Detail.FORMS`, dropdown values, native tables, protected ranges, and the
        properties of the spreadsheet.
        """

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        """Apply a batch, and return the cells of `batch.ranges` after the write. Cost: 1 write.

        Google stores typed values, and parses no text. Raises `LookOutdated`, and sends nothing,
        after `batch.send_until`. Raises `UpstreamRefusal` if Google refuses a request of the batch
        or one of `batch.ranges`. If only a range is invalid, Google might have applied the batch,
        and `refused_request` returns None.
        """

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        """Delete the fences with the IDs `forgotten`, then create `fences`, which have one key.

        Cost: 1 write.
        """

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        """Delete fences of one key. Cost: 1 write."""

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        """Return the token of the fence with this ID, or an empty list. Cost: 1 read."""

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        """Return the fences with this key, or all metadata if `key` is None. Cost: 1 read.

        The result has no metadata of worksheets, rows and columns, and no metadata that only
        another Google project can see.
        """


FENCE_REQUEST = 0
"""Value of `refused_request` if Google refused the new fence of a batch.

Requests before the new fence (deletions of old fences) have negative numbers. The changes after the
new fence have positive numbers.
"""

_REFUSED = re.compile(r"Invalid requests\[(\d{1,6})\]")


def refused_request(refusal: UpstreamRefusal) -> int | None:
    """Return the number of the request that Google refused in a batch, or None if none is named.

    The new fence is request 0 (`FENCE_REQUEST`), the first change is request 1.
    """
    found = _REFUSED.search(refusal.google_message)
    return None if found is None else int(found[1]) - refusal.first_request


class Beneficiaries:
    """API keys that wait for the same call. More keys can join until the call is sent."""

    def __init__(self, key_ids: Iterable[str] = ()) -> None:
        self._key_ids = dict.fromkeys(key_ids)
        self._groups: list[Beneficiaries] = []

    def join(self, key_id: str) -> None:
        self._key_ids[key_id] = None

    def join_as(self, call_context: "CallContext") -> None:
        """Add the key of another call, and all keys that wait for that call, now or later."""
        self._key_ids[call_context.key_id] = None
        group = call_context.beneficiaries
        if group is not None and group not in self._groups:
            self._groups.append(group)

    @property
    def key_ids(self) -> dict[str, None]:
        """IDs of the keys. The mapping is an ordered set, whose values are all None."""
        found: dict[str, None] = {}
        groups = [self]
        for group in groups:  # grows meanwhile
            found |= group._key_ids
            groups += [each for each in group._groups if each not in groups]
        return found


@dataclass
class SentAt:
    """Time at which the latest call was sent, in monotonic seconds, or None before the first call.

    A call is sent after its wait for the quota, and again at each retry.
    """

    at_seconds: float | None = None
    outer: "list[SentAt]" = field(default_factory=list)
    """Other `SentAt` objects to update, of the callers that wait for the same call."""

    def record(self, at_seconds: float) -> None:
        self.at_seconds = at_seconds
        for each in self.outer:
            each.record(at_seconds)


@dataclass
class WriteTurn:
    """Quota of one write, reserved for an account. `is_left` is False after a write used it."""

    account: str
    is_left: bool = True


@dataclass(frozen=True)
class CallContext:
    """API key and priority of a call to Google, for the fair queue and the quota."""

    key_id: str = ""
    """ID of the API key, or "" for the gateway itself."""
    is_verification: bool = False
    """True for a call that checks if a write was applied, which goes before all other calls."""
    beneficiaries: Beneficiaries | None = field(default=None, compare=False)
    """All API keys that wait for the call. The first turn of any of these keys sends the call."""
    max_age_seconds: float = 0.0
    """Maximum age in seconds of cells from other processes that a read can use without a call."""
    turn: WriteTurn | None = field(default=None, compare=False)
    """Reserved quota for the first write, or None."""
    sent_at: SentAt | None = field(default=None, compare=False)
    """Object that records the time at which the call is sent, or None."""

    @property
    def key_ids(self) -> Collection[str]:
        """IDs of the keys that wait for the call now."""
        if self.beneficiaries is None:
            return (self.key_id,)
        return {self.key_id: None} | self.beneficiaries.key_ids


_current: ContextVar[CallContext] = ContextVar("call_context", default=CallContext())  # noqa: B039 - it is frozen


current_call_context = _current.get
"""Function that returns the context of Google calls in the current task.

Outside `in_call_context` the calls belong to the gateway itself, not to an API key.
"""


@contextmanager
def in_call_context(call_context: CallContext) -> Iterator[None]:
    """Set the context of Google calls in the block, and in tasks that are started in the block.

    A missing `turn` or `sent_at` is taken from the outer context.
    """
    outer = _current.get()
    if outer.turn is not call_context.turn or outer.sent_at is not call_context.sent_at:
        call_context = replace(
            call_context,
            turn=call_context.turn or outer.turn,
            sent_at=call_context.sent_at or outer.sent_at,
        )
    token = _current.set(call_context)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def recording_sent_at() -> Iterator[SentAt]:
    """Record the sending time of calls in the block, and in tasks that are started in the block."""
    call_context = _current.get()
    sent_at = SentAt(outer=[call_context.sent_at] if call_context.sent_at else [])
    with in_call_context(replace(call_context, sent_at=sent_at)):
        yield sent_at


def record_sent_at(at_seconds: float) -> None:
    sent_at = _current.get().sent_at
    if sent_at is not None:
        sent_at.record(at_seconds)
