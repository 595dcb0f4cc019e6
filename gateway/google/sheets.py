"""The `Sheets` Protocol: the gateway's interface to Google Sheets.

`gateway.google.calls` implements it with the real API (or the emulator), the calls pass through
`gateway.google.pipeline`, and the tests have a fake. Ranges are A1 text from `gateway.table.a1`.

Every method may raise
    SpreadsheetNotFound, SpreadsheetNotShared, UnsupportedDocument    problem of the spreadsheet
    UpstreamRefusal                                                   400 INVALID_ARGUMENT
    QuotaSpent, UpstreamAuth, UpstreamError, UpstreamUnreachable      problem of Google or network

Reads may also raise UpstreamTimeout and SheetTooLarge. Writes may also raise WriteOutcomeUnknown;
any other error of a write has `outcome="not_applied"`, because Google applies a request completely
or not at all.
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
"""A cell value. In a write, "" empties a cell, and None leaves one of a new row blank."""

Column = tuple[Value, ...]
"""The cells of one column from the first row read, without trailing blank cells."""


class Render(StrEnum):
    """Value rendering: displayed text, or typed values with dates as serial numbers."""

    DISPLAYED = "FORMATTED_VALUE"
    TYPED = "UNFORMATTED_VALUE"


class Detail(Enum):
    """Contents of the blocks of a view; each member includes those above it."""

    TEXTS = auto()
    """Displayed texts, and the columns of cells with formulas."""
    VALUES = auto()
    """Typed values, and the columns of computed cells."""
    FORMS = auto()
    """Number formats and data validation."""


@dataclass(frozen=True, kw_only=True)
class Values:
    """Cells read, by row, and the range as Google returns it.

    Trailing blank cells and trailing blank rows are left out.
    """

    range: str
    cells: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """A worksheet in one rendering: columns from the first cell, without trailing blank cells.

    `range` is the range as Google returns it. `digest` is a digest of Google's answer: equal
    digests mean equal renderings. `byte_count` estimates the memory used.
    """

    range: str
    columns: tuple[Column, ...]
    digest: bytes
    byte_count: int
    encoded: tuple[object, ...] = field(default=(), repr=False, compare=False)
    """Encoded columns; later renderings with equal columns share them while they are referenced."""


class SheetArea(NamedTuple):
    """Everything from `first_row` down to the end of the grid, in the worksheet with this id.

    An id stays with its worksheet, unlike a title.
    """

    sheet_id: int
    first_row: int = 1


class KnownRange(NamedTuple):
    """A range to read, and the digest of its known rendering."""

    range: str
    known: bytes | None


@dataclass(frozen=True, kw_only=True)
class WorksheetProperties:
    """A worksheet as listed by `spreadsheets.get`; `rows` and `columns` are the grid size."""

    sheet_id: int
    title: str
    rows: int
    columns: int


MAX_FENCE_ID = 2**31 - 1
"""Maximum id of a fence, a signed integer of 32 bits at Google."""

MAX_METADATA_CHARACTERS = 30_000
"""Google's limit for all keys and values of a spreadsheet's metadata, without its worksheets'."""

_MADE_AT = re.compile(r"([0-9a-f]{8})\.")


@dataclass(frozen=True, kw_only=True)
class Fence:
    """Developer metadata that a write leaves in its spreadsheet: proof that it was applied.

    `id` is 1 to `MAX_FENCE_ID`, unique in the spreadsheet. `key` is the same for all fences of a
    gateway, `token` the write's own; it begins with the time at which the fence was made. Fences of
    one key have the same length, so that one can take the place of another.
    """

    id: int
    key: str
    token: str

    @classmethod
    def random(cls, key: str, at: float | None = None) -> Self:
        """Make a unique fence; `at` is the time in its token, in seconds since the epoch."""
        number = 1 + secrets.randbelow(MAX_FENCE_ID)
        token = secrets.token_urlsafe(12) if at is None else timed(at, secrets.token_urlsafe(5))
        return cls(id=number, key=key, token=token)

    @property
    def made_at(self) -> float | None:
        """The time in the token; None if it has none."""
        found = _MADE_AT.match(self.token)
        return None if found is None else float(int(found[1], 16))


def timed(at: float, text: str) -> str:
    """Prefix a token with a time in whole seconds: 8 hexadecimal digits, enough until 2106."""
    return f"{int(at):08x}.{text}"


@dataclass(frozen=True, kw_only=True)
class NativeTable:
    """A native table of a worksheet: columns count from 0, rows from 1.

    Its first row is its header. `last_row` is the last row of its body, which a totals row may
    follow. Its name is known where the worksheet was read with its spreadsheet.
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
        """All of its cells, the header and the totals too."""
        last_row = self.last_row + self.has_totals
        return GridArea(self.first_row, last_row, self.first_column, self.end_column - 1)

    def takes(self, columns: Iterable[int]) -> bool:
        """True if the table has all of these columns."""
        return all(self.first_column <= column < self.end_column for column in columns)


NO_TABLE = NativeTable(id="", first_column=0, end_column=0, last_row=0)


@dataclass(frozen=True, kw_only=True)
class AppendedRows:
    """New rows after the last row with data, in the body of a native table if there is one.

    Cells start at column A; None leaves a cell blank. `formats` are number formats by column for
    each row; other cells get the automatic one. Without `formats`, cells keep the formats of their
    place. A batch has at most one such change per table, because several would write to the same
    rows.
    """

    rows: Sequence[Sequence[Value]]
    formats: Sequence[Mapping[int, NumberFormat]] = ()
    table: NativeTable = NO_TABLE


@dataclass(frozen=True, kw_only=True)
class WrittenCells:
    """Neighbouring cells of a row; rows count from 1, columns from 0.

    `formats` are new number formats, one for each cell; if empty, the cells keep their formats.
    """

    row: int
    column: int
    values: Sequence[Value]
    formats: Sequence[NumberFormat] = ()


@dataclass(frozen=True, kw_only=True)
class RemovedRows:
    """Rows to remove; those below move up. Rows count from 1."""

    first_row: int
    last_row: int


@dataclass(frozen=True, kw_only=True)
class EmptiedRow:
    """A row whose cells are all emptied; its formats stay."""

    row: int


@dataclass(frozen=True, kw_only=True)
class InsertedRows:
    """Blank rows before the row `first_row`, which moves down with all below it.

    The new rows take the formats and rules of the row above, or of the row that moves down.
    """

    first_row: int
    count: int
    is_like_above: bool = True


@dataclass(frozen=True, kw_only=True)
class WrittenRows:
    """Cells of neighbouring rows from column A; None empties a cell. Rows count from 1."""

    first_row: int
    rows: Sequence[Sequence[Value]]


class Copied(StrEnum):
    """Parts of a cell that are copied; Google copies constants as formulas, too."""

    FORMULAS = "PASTE_FORMULA"
    RULES = "PASTE_DATA_VALIDATION"


@dataclass(frozen=True, kw_only=True)
class CopiedCells:
    """A part of some columns of a row, copied to other rows; all columns if `last` is None."""

    part: Copied
    row: int
    first_row: int
    last_row: int
    first: int = 0
    last: int | None = None


Insertion = InsertedRows | WrittenRows | CopiedCells
"""Changes that insert rows between others."""

Change = AppendedRows | WrittenCells | RemovedRows | EmptiedRow | Insertion


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A write to one worksheet, which Google applies completely or not at all.

    Each change is one request after the fence's. `forgotten` are the ids of old fences with the
    same key, which are deleted first to make room. The answer shows the cells of `ranges` after the
    write, with their forms if it `has_forms`.
    """

    sheet_id: int
    fence: Fence
    changes: Sequence[Change] = ()
    encoded: Sequence[msgspec.Raw] = ()
    """The changes as JSON, if already encoded; encoding takes time in which a look ages."""
    forgotten: Sequence[int] = ()
    ranges: Sequence[str] = ()
    has_forms: bool = False
    send_until: float = math.inf
    """Monotonic seconds after which the batch is not sent: its look is too old (`LookOutdated`)."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Cells of a range, by row from `first_row`, as displayed and as typed values.

    Trailing blank cells and trailing blank rows may be left out. By row, `computed` has the columns
    of cells that show the result of a formula, known with typed values only; `formulas` has the
    columns of cells with their own formula; `cells` has forms and typed values, if requested.
    """

    first_row: int
    texts: Sequence[Sequence[str]]
    values: Sequence[Sequence[Value]]
    computed: Sequence[Collection[int]] = ()
    formulas: Sequence[Collection[int]] = ()
    cells: Sequence[Sequence[SeenCell]] = ()


@dataclass(frozen=True, kw_only=True)
class Protection:
    """Cells that our account may not edit, perhaps with exceptions."""

    area: GridArea
    has_exceptions: bool = False


@dataclass(frozen=True, kw_only=True)
class SheetView:
    """A worksheet at one moment: its properties, and a block for each requested range.

    `table` is the native table whose header is the first row of the first block; `NO_TABLE` also if
    there are several. `column_types` are Google's ColumnTypes of the columns of such tables,
    `column_options` the values of their dropdowns; both are known only with forms. Protections are
    known only if the worksheet was read with its spreadsheet.
    """

    sheet_id: int
    title: str
    rows: int
    columns: int = 0
    frozen_rows: int = 0
    blocks: Sequence[Block]
    table: NativeTable = NO_TABLE
    column_types: Mapping[int, str] = field(default_factory=dict)
    column_options: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    tables: Sequence[NativeTable] = ()
    protections: Sequence[Protection] = ()


@dataclass(frozen=True, kw_only=True)
class SpreadsheetView:
    """A spreadsheet at one moment: its properties, and worksheets in tab order, with a block each.

    `locale` and `time_zone` are Google's names, such as `en_US` and `Europe/Berlin`.
    """

    title: str
    locale: str
    time_zone: str
    worksheets: Sequence[SheetView]


class Sheets(Protocol):
    async def read_values(self, spreadsheet: str, range_: str, *, render: Render) -> Values:
        """Read the cells of one range by row. Cost: 1 read."""

    async def read_columns(
        self,
        spreadsheet: str,
        range_: str | SheetArea,
        *,
        render: Render,
        known: bytes | None = None,
    ) -> Rendering | None:
        """Read all cells of a range by column; None if the answer has the digest `known`.

        Equal cells and titles have equal digests for both kinds of ranges. Cost: 1 read. Also
        raises `SheetTooLarge` if the cells exceed the memory limit.
        """

    async def read_several(
        self, spreadsheet: str, ranges: Sequence[KnownRange], *, render: Render
    ) -> list[Rendering | None]:
        """Read all cells of several ranges in one snapshot, as `read_columns` does. Cost: 1 read.

        Raises `SheetTooLarge` if one of them, or the answer, is too large.
        """

    async def read_ranges(self, spreadsheet: str, ranges: Sequence[str]) -> Sequence[Values]:
        """Read the displayed cells of several ranges in one snapshot, in order. Cost: 1 read."""

    async def list_worksheets(self, spreadsheet: str) -> list[WorksheetProperties]:
        """List all grid worksheets in tab order. Cost: 1 read."""

    async def read_sheet(
        self, spreadsheet: str, ranges: Sequence[str], *, detail: Detail = Detail.VALUES
    ) -> SheetView:
        """Read ranges of one worksheet and its properties in one snapshot. Cost: 1 read."""

    async def read_spreadsheet(self, spreadsheet: str, ranges: Sequence[str]) -> SpreadsheetView:
        """Read a range of each of some worksheets with forms and options, in one snapshot.

        Also reads the spreadsheet's properties. Cost: 1 read.
        """

    async def apply(self, spreadsheet: str, batch: Batch) -> SheetView:
        """Apply a batch; values are stored as they are. Cost: 1 write.

        The message of an `UpstreamRefusal` names the refused request (`refused_request`). If it
        names none, Google may have refused the answer's ranges after applying the batch.
        Raises `LookOutdated` after `send_until`.
        """

    async def put_fence(
        self, spreadsheet: str, *fences: Fence, forgotten: Sequence[int] = ()
    ) -> None:
        """Delete the fences `forgotten`, then create fences of one key. Cost: 1 write."""

    async def delete_fences(self, spreadsheet: str, fences: Sequence[Fence]) -> None:
        """Delete fences of one key and nothing else. Cost: 1 write."""

    async def fence_tokens(self, spreadsheet: str, fence_id: int) -> Sequence[str]:
        """The tokens of the fences with this id: one, or none. Cost: 1 read."""

    async def find_fences(self, spreadsheet: str, key: str | None = None) -> Sequence[Fence]:
        """All fences with this key; None: all metadata of the spreadsheet. Cost: 1 read.

        Metadata of worksheets, rows and columns is left out, and metadata that is visible to
        another project only.
        """


FENCE_REQUEST = 0
"""Number of the fence in a batch; deletions of old fences have numbers below it."""

_REFUSED = re.compile(r"Invalid requests\[(\d{1,6})\]")


def refused_request(refusal: UpstreamRefusal) -> int | None:
    """Number of the request for which Google refused a whole batch; None if not named."""
    found = _REFUSED.search(refusal.google_message)
    return None if found is None else int(found[1]) - refusal.first_request


class Beneficiaries:
    """The API keys that wait for a call; more keys may join while it waits."""

    def __init__(self, key_ids: Iterable[str] = ()) -> None:
        self._key_ids = dict.fromkeys(key_ids)
        self._groups: list[Beneficiaries] = []

    def join(self, key_id: str) -> None:
        self._key_ids[key_id] = None

    def join_as(self, call_context: "CallContext") -> None:
        """Add the key of a call, and all keys that wait for it, now or later."""
        self._key_ids[call_context.key_id] = None
        group = call_context.beneficiaries
        if group is not None and group not in self._groups:
            self._groups.append(group)

    @property
    def key_ids(self) -> dict[str, None]:
        """Each key once, in order of arrival."""
        found: dict[str, None] = {}
        groups = [self]
        for group in groups:  # grows meanwhile
            found |= group._key_ids
            groups += [each for each in group._groups if each not in groups]
        return found


@dataclass
class SentAt:
    """Time at which the latest call was sent, in monotonic seconds; None before the first.

    A call is sent after its wait for the quota, and again at each retry.
    """

    at_seconds: float | None = None
    outer: "list[SentAt]" = field(default_factory=list)
    """Records of callers that wait for the same calls."""

    def record(self, at_seconds: float) -> None:
        self.at_seconds = at_seconds
        for each in self.outer:
            each.record(at_seconds)


@dataclass
class WriteTurn:
    """Quota of one write, reserved at the account with this name."""

    account: str
    is_left: bool = True


@dataclass(frozen=True)
class CallContext:
    """API key and priority of a call; the fair queue rotates between keys.

    Verifications of writes go before all other calls. A call shared by several keys
    (`beneficiaries`) is sent at the earliest of their turns. A read may use the rendering of
    another process's read that was sent up to `max_age_seconds` ago. The first write uses the
    `turn`.
    """

    key_id: str = ""
    is_verification: bool = False
    beneficiaries: Beneficiaries | None = field(default=None, compare=False)
    max_age_seconds: float = 0.0
    turn: WriteTurn | None = field(default=None, compare=False)
    sent_at: SentAt | None = field(default=None, compare=False)

    @property
    def key_ids(self) -> Collection[str]:
        """The keys that wait for the call now."""
        if self.beneficiaries is None:
            return (self.key_id,)
        return {self.key_id: None} | self.beneficiaries.key_ids


_current: ContextVar[CallContext] = ContextVar("call_context", default=CallContext())  # noqa: B039 - it is frozen


current_call_context = _current.get
"""Context of calls started here; without one, the call belongs to the gateway itself."""


@contextmanager
def in_call_context(call_context: CallContext) -> Iterator[None]:
    """Set the context of calls made in the block and in tasks started there.

    The new context takes over the write turn and the `sent_at` that it lacks.
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
    """Record when calls of the block, and of tasks started there, are sent."""
    call_context = _current.get()
    sent_at = SentAt(outer=[call_context.sent_at] if call_context.sent_at else [])
    with in_call_context(replace(call_context, sent_at=sent_at)):
        yield sent_at


def record_sent_at(at_seconds: float) -> None:
    sent_at = _current.get().sent_at
    if sent_at is not None:
        sent_at.record(at_seconds)
