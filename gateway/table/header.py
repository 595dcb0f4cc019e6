"""Header row of a worksheet, and the view that an API key has of its columns.

Rules
- A `View` is the only way from a field name to a column. It has only the columns that its key is
  allowed to read. All other columns are hidden. A hidden column looks like a missing column in
  every record and message.
- The ETag of a row covers all displayed cells of the row and the header, also hidden cells, so that
  `If-Match` protects the whole row. For a key that does not see all columns the ETag is an HMAC.
  The client then learns that the row changed, but cannot guess the hidden cells.
"""

import binascii
import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import msgspec

from gateway.errors import InvalidQuery, UnknownField
from gateway.table.cells import composed
from gateway.table.quoting import quoted
from gateway.table.records import BLANK_ONLY, EndRule
from gateway.table.typed import held_cells

_DIGEST_BYTES = 12
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_KEPT_HEADERS = 16
"""Maximum number of headers whose JSON is cached for ETags of rows."""


@dataclass(frozen=True)
class IfMatch:
    """Condition of an `If-Match` header: the accepted ETags of a row, or None for `*`."""

    tags: frozenset[str] | None

    @property
    def is_any(self) -> bool:
        """True for `If-Match: *`."""
        return self.tags is None

    def holds(self, tag: str) -> bool:
        """True if a row with this ETag meets the condition."""
        return self.tags is None or tag in self.tags


def row_tag(
    header_cells: Sequence[str],
    displayed_cells: Sequence[object],
    typed_cells: Sequence[object] | None = None,
) -> str:
    """Strong ETag (RFC 9110, 8.8.3) of a whole row and its header, with the quotes.

    The ETag covers every displayed cell, also below a blank header, but no trailing empty cells.
    With `typed_cells`, the ETag also covers the typed values.
    """
    header = _encoded_header(tuple(header_cells))
    cells = msgspec.json.encode(_texts(displayed_cells))
    if typed_cells is None:
        return opaque_tag(b"[%b,%b]" % (header, cells))
    held = msgspec.json.encode(held_cells(displayed_cells, typed_cells))
    return opaque_tag(b"[%b,%b,%b]" % (header, cells, held))


@lru_cache(_KEPT_HEADERS)
def _encoded_header(cells: tuple[str, ...]) -> bytes:
    return msgspec.json.encode(_texts(cells))


def keyed_row_tag(
    key: bytes,
    columns: Mapping[str, int],
    row: int,
    header_cells: Sequence[str],
    displayed_cells: Sequence[object],
    typed_cells: Sequence[object] | None = None,
) -> str:
    """ETag of a whole row for an API key that sees only some `columns`, by field name.

    `key` is the secret of an HMAC, so that the client cannot guess hidden cells. The ETag includes
    the row number, so that equal rows have different ETags. Raises ValueError if `key` is empty.
    """
    if not key:
        raise ValueError("an ETag of hidden cells needs an HMAC key")
    content = [[*columns.items()], row, _texts(header_cells), _texts(displayed_cells)]
    if typed_cells is not None:
        content.append(held_cells(displayed_cells, typed_cells))
    return opaque_tag(msgspec.json.encode(content), key)


def opaque_tag(content: bytes, key: bytes = b"") -> str:
    """ETag of some content: a hash as 16 URL-safe characters in quotes.

    With a `key` the hash is an HMAC.
    """
    digest = hmac.digest(key, content, "sha256") if key else hashlib.sha256(content).digest()
    text = binascii.b2a_base64(digest[:_DIGEST_BYTES], newline=False).translate(_URL_SAFE)
    return f'"{text.decode("ascii")}"'


def _texts(cells: Sequence[object]) -> list[str]:
    texts = [each if type(each) is str else "" if each is None else str(each) for each in cells]
    while texts and not texts[-1]:
        texts.pop()
    return texts


ROW_INDEX = "rowIndex"
"""Name of the field with the row number. A column of the sheet with this name is ignored."""

_NAMES_IN_MESSAGES = 50
_MOST_VIEWS = 8
"""Maximum number of cached views of a header. A view of 50 columns takes about 6 KB."""


@dataclass(frozen=True)
class ColumnGrant:
    """Fields that an API key is allowed to read and write, by name."""

    readable: frozenset[str] | None = None
    """Readable fields, or None for all fields."""
    writable: frozenset[str] | None = None
    """Writable fields, or None for all readable fields."""
    tag_key: bytes = field(default=b"", repr=False, compare=False, kw_only=True)
    """HMAC secret of row ETags, for a key that cannot read all fields."""

    def withholds(self, name: str) -> bool:
        """True if the settings allow the key to read a field, but not to write the field."""
        return bool(self.withheld) and _form(name) in self.withheld

    @cached_property
    def withheld(self) -> frozenset[str]:
        """Readable but not writable fields: their names in NFC, without surrounding blanks."""
        if self.readable is None or self.writable is None:
            return frozenset()
        return frozenset(map(_form, self.readable)) - frozenset(map(_form, self.writable))


ALL_COLUMNS = ColumnGrant()


class Selection(msgspec.Struct, frozen=True):
    """Field names that a client selects for an answer (parameter `keys`).

    At least one of `names` must be a field of the worksheet.
    """

    names: tuple[str, ...]
    checked: tuple[str, ...] = ()
    """Names that must all be fields of the worksheet."""
    whole: str = ""
    """Text of the parameter. If the whole text is a field name, only this field is selected."""


def letters(name: str) -> str:
    """Letters and digits of a name in lower case and NFC, to find similar names."""
    return "".join(filter(str.isalnum, composed(name.lower())))


@dataclass(frozen=True, kw_only=True)
class View:
    """Columns of a worksheet that an API key is allowed to read."""

    columns: Mapping[str, int]
    """Column (from 0) by field name, exactly as in the header, in sheet order."""
    trimmed: Mapping[str, int]
    """Column (from 0) by field name without surrounding blanks."""
    header_cells: Sequence[str]
    """All cells of the header row, only for row ETags."""
    readable: frozenset[str] | None = None
    """Fields that the key is allowed to read, or None if no column is hidden."""
    writable: frozenset[int] | None = None
    """Columns that the key is allowed to write, or None for all of `columns`."""
    tag_key: bytes = field(default=b"", repr=False)
    """HMAC secret of row ETags, if a column is hidden."""

    def find(self, name: str) -> int | None:
        """Find the column of a field name in a request, or return None.

        The name matches a field exactly, or else without surrounding blanks, or else in NFC if only
        one field has this form.
        """
        column = self.columns.get(name)
        if column is None:
            column = self.trimmed.get(name.strip())
        if column is None and not name.isascii():
            column = self._by_form.get(_form(name))
        return column

    @cached_property
    def _by_form(self) -> Mapping[str, int]:
        """Column by field name in the form of `_form`, without forms that several fields share."""
        forms = Counter(map(_form, self.columns))
        return {form: at for name, at in self.columns.items() if forms[form := _form(name)] == 1}

    def has(self, name: str) -> bool:
        """True if the name is a field, or `rowIndex`."""
        return name == ROW_INDEX or self.find(name) is not None

    def unknown_field(
        self, parameter: str, names: Sequence[str], *, hint: str = ""
    ) -> UnknownField:
        """Returns the error for the `names` in a query parameter that are not fields, at least one.

        `hint` is a sentence for the end of the message, and begins with a space.
        """
        fields = ", ".join(filter(None, [ROW_INDEX, self.listing()]))
        return UnknownField(
            f"{parameter} names {quoted(names[0])}, which is not a field of this worksheet; "
            f"its fields are {fields}.{hint}",
            parameter=parameter,
            names=names,
        )

    def check_parameters(self, unknown: Sequence[str]) -> None:
        """Raise InvalidQuery if an unknown query parameter has the name of a field."""
        for name in unknown:
            column = self.find(name)
            field = self.lettered.get(letters(name)) if column is None else self.names[column]
            if field is not None:
                raise InvalidQuery(
                    f"{quoted(field)} is a field of this worksheet, not a parameter. To "
                    f'filter by it, send where={{{quoted(field)}:"VALUE"}}, '
                    "percent-encoded; to write it, put it into the body."
                )

    @cached_property
    def lettered(self) -> Mapping[str, str]:
        """Field names by their letters and digits in lower case, to find similar names."""
        lettered: dict[str, str] = {}
        for name in self.columns:
            lettered.setdefault(letters(name) or name, name)
        return lettered

    @cached_property
    def names(self) -> Mapping[int, str]:
        """Field names by column, in sheet order."""
        return {column: name for name, column in self.columns.items()}

    def may_write(self, column: int) -> bool:
        return self.writable is None or column in self.writable

    def select(self, keys: Selection | None) -> Mapping[int, str]:
        """Returns the selected field names by column, in sheet order, or all if `keys` is None.

        Raises UnknownField if no selected name is a field, or if a `checked` name is not a field.
        """
        if keys is None:
            return self.names
        if keys.whole and (column := self.find(keys.whole)) is not None:
            return {column: self.names[column]}
        unknown = [name for name in keys.checked if not self.has(name)]
        wanted = {self.find(name) for name in keys.names}
        if not unknown and wanted == {None} and ROW_INDEX not in keys.names:
            unknown = [*keys.names]
        if unknown:
            raise self.unknown_field("keys", unknown)
        return {column: name for column, name in self.names.items() if column in wanted}

    def listing(self) -> str:
        """List up to 50 field names for a message, long names cut. Returns "" without fields."""
        names = list(self.columns)
        more = len(names) - _NAMES_IN_MESSAGES
        shown = ", ".join(map(quoted, names[:_NAMES_IN_MESSAGES]))
        return f"{shown} and {more} more" if more > 0 else shown

    def tag(
        self, row: int, displayed: Sequence[object], typed: Sequence[object] | None = None
    ) -> str:
        """ETag of a row, over the header and all displayed cells, also hidden cells.

        `displayed` and `typed` are the cells of the row. With `typed`, the ETag also covers the
        typed values, for typed answers.
        """
        if self.readable is None:
            return row_tag(self.header_cells, displayed, typed)
        return keyed_row_tag(self.tag_key, self.columns, row, self.header_cells, displayed, typed)


def _form(name: str) -> str:
    """Field name in NFC, without surrounding blanks."""
    return composed(name.strip())


class Layout(NamedTuple):
    """Layout of a worksheet in the settings: its header row, and the rule for its last record."""

    header_row: int = 1
    record_field: str = ""
    """Field that has a value in every record, or "" for the automatic rule (`EndRule`)."""
    filled_down: bool = True
    """True if trailing rows with only FALSE and blank cells do not count as records."""


DEFAULT_LAYOUT = Layout()


@dataclass(frozen=True)
class Header:
    """Parsed header row of a worksheet, with the column of each field."""

    cells: tuple[str, ...]
    """Displayed texts, without trailing blank cells."""
    columns: Mapping[str, int]
    """Column (from 0) by field name, exactly as in the header, in sheet order."""
    row: int = 1
    """Row number of the header in the sheet. Data rows begin in the next row."""
    end: EndRule = BLANK_ONLY
    """Rule for trailing rows that are not records."""
    missing_field: str = ""
    """Name of the `record_field` in the settings if the header lacks this field, or ""."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Field names in sheet order."""
        return tuple(self.columns)

    @cached_property
    def whole(self) -> View:
        """View of an API key that is allowed to read and write all columns."""
        return View(columns=self.columns, trimmed=_trimmed(self.columns), header_cells=self.cells)

    def seen_with(self, grant: ColumnGrant) -> View:
        """View of an API key with this grant. Names that are not fields have no effect."""
        if grant.readable is None and grant.writable is None:
            return self.whole
        known = (grant.readable, grant.writable, grant.tag_key)
        view = self._views.get(known)
        if view is not None:
            return view
        writable = self._named(grant.writable)
        readable = self._named(grant.readable)
        if readable is None:
            view = replace(self.whole, writable=writable)
        else:
            seen = {name: column for name, column in self.columns.items() if column in readable}
            view = View(
                columns=seen,
                trimmed=_trimmed(seen),
                header_cells=self.cells,
                readable=grant.readable,
                writable=writable,
                tag_key=grant.tag_key,
            )
        if len(self._views) >= _MOST_VIEWS:
            self._views.clear()
        self._views[known] = view
        return view

    @cached_property
    def _views(self) -> dict[tuple[object, ...], View]:
        """Cache of the views of restricted API keys, by the attributes of their grants."""
        return {}

    def duplicates(self) -> list[str]:
        """Header texts of more than one column. Only the first of these columns is a field."""
        counts = Counter(cell for cell in self.cells if cell.strip())
        return [name for name, count in counts.items() if count > 1]

    def _named(self, names: frozenset[str] | None) -> frozenset[int] | None:
        if names is None:
            return None
        found = map(self.whole.find, names)
        return frozenset(column for column in found if column is not None)


def parse_header(displayed: Iterable[object], layout: Layout = DEFAULT_LAYOUT) -> Header:
    """Parse the displayed cells of a header row. The row can be blank.

    If the header has only one field, a row with only FALSE is a record, because a single column of
    checkboxes is data.
    """
    cells = ["" if cell is None else str(cell) for cell in displayed]
    while cells and not cells[-1].strip():
        cells.pop()
    columns: dict[str, int] = {}
    for column, name in enumerate(cells):
        if name.strip() and name.strip() != ROW_INDEX:
            columns.setdefault(name, column)
    end = EndRule() if layout.filled_down and len(columns) > 1 else BLANK_ONLY
    header = Header(tuple(cells), columns, layout.header_row, end)
    if not layout.record_field:
        return header
    found = header.whole.find(layout.record_field)
    if found is None:
        return replace(header, missing_field=layout.record_field)
    return replace(header, end=EndRule(column=found))


def _trimmed(columns: Mapping[str, int]) -> Mapping[str, int]:
    trimmed: dict[str, int] = {}
    for name, column in columns.items():
        trimmed.setdefault(name.strip(), column)
    return trimmed
