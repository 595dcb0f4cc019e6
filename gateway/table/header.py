"""Header row, and views of it: the only way from a field name to a column that a key may see.

Rules: only a view finds a name, not the header itself, and a view has only the columns that its
holder may see. A hidden column and a missing column are the same in a view: no record or message
made from it distinguishes them. Only the tag of a row covers hidden cells, too, so that `If-Match`
holds for one record. It is keyed: the holder learns that a row changed, but not which cell. A tag
(ETag) changes with every displayed cell of the row or its header.
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
from gateway.table.quoting import quoted
from gateway.table.records import BLANK_ONLY, EndRule
from gateway.table.texts import composed
from gateway.table.typed import held_cells

_DIGEST_BYTES = 12
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_KEPT_HEADERS = 16
"""Maximum number of cached encoded headers, which the tags of many rows share."""


@dataclass(frozen=True)
class IfMatch:
    """The row states that an update accepts, by their tags; None accepts any state."""

    tags: frozenset[str] | None

    @property
    def is_any(self) -> bool:
        """True for `*`."""
        return self.tags is None

    def holds(self, tag: str) -> bool:
        """True if a row with this tag may be updated."""
        return self.tags is None or tag in self.tags


def row_tag(
    header_cells: Sequence[str],
    displayed_cells: Sequence[object],
    typed_cells: Sequence[object] | None = None,
) -> str:
    """A strong entity tag (RFC 9110, 8.8.3), with its quotes, over a whole row and its header.

    Every displayed cell counts, also below a blank header; trailing empty cells do not. With
    `typed_cells` the tag covers the typed values, too.
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
    """A tag over a whole row for a reader who sees only some columns.

    The key prevents guesses of hidden cells. The row number hides that two rows have equal cells;
    equal successive states of one row are visible.
    """
    if not key:
        raise ValueError("an ETag of hidden cells needs an HMAC key")
    content = [[*columns.items()], row, _texts(header_cells), _texts(displayed_cells)]
    if typed_cells is not None:
        content.append(held_cells(displayed_cells, typed_cells))
    return opaque_tag(msgspec.json.encode(content), key)


def opaque_tag(content: bytes, key: bytes = b"") -> str:
    """A digest of the content as an entity tag: 16 URL-safe characters, quoted.

    With a key the digest is an HMAC.
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
"""Field that every record has; a column of that name is not part of a record."""

_NAMES_IN_MESSAGES = 50


@dataclass(frozen=True)
class ColumnGrant:
    """The fields that a key may see and write, by name; None means all, or all visible ones."""

    readable: frozenset[str] | None = None
    writable: frozenset[str] | None = None
    tag_key: bytes = field(default=b"", repr=False, compare=False, kw_only=True)
    """Secret of the row tags of a key that does not see all fields."""

    def withholds(self, name: str) -> bool:
        """True if the key may see a field but not write it, whatever the header is."""
        return bool(self.withheld) and _form(name) in self.withheld

    @cached_property
    def withheld(self) -> frozenset[str]:
        """Normal forms of visible fields that may not be written in any spelling."""
        if self.readable is None or self.writable is None:
            return frozenset()
        return frozenset(map(_form, self.readable)) - frozenset(map(_form, self.writable))


ALL_COLUMNS = ColumnGrant()


class Selection(msgspec.Struct, frozen=True):
    """Field names of an answer; at least one must be a field, and all of `checked`."""

    names: tuple[str, ...]
    checked: tuple[str, ...] = ()
    whole: str = ""
    """Text that the names were split from; if it is the name of a field, it selects only that."""


def letters(name: str) -> str:
    """Letters and digits of a name in lower case and NFC, which variants of a name share."""
    return "".join(filter(str.isalnum, composed(name.lower())))


@dataclass(frozen=True, kw_only=True)
class View:
    """The columns of a header that its holder sees."""

    columns: Mapping[str, int]
    """Field name, exactly as written, to column (from 0), in sheet order."""
    trimmed: Mapping[str, int]
    """The same columns by name without surrounding blanks."""
    header_cells: Sequence[str]
    """All cells of the header row, only for row tags."""
    is_whole: bool = True
    """True if nothing is hidden, including cells below blank headers."""
    writable: frozenset[int] | None = None
    """The columns that the holder may write; None means all of `columns`."""
    tag_key: bytes = field(default=b"", repr=False)
    """Secret of row tags, if anything is hidden."""

    def find(self, name: str) -> int | None:
        """Find the column of a client's name: by the exact name, or without surrounding blanks.

        Without such a column, the only one with the same name in NFC.
        """
        column = self.columns.get(name)
        if column is None:
            column = self.trimmed.get(name.strip())
        if column is None and not name.isascii():
            column = self._by_form.get(_form(name))
        return column

    @cached_property
    def _by_form(self) -> Mapping[str, int]:
        """Columns by normal forms that only one name has."""
        forms = Counter(map(_form, self.columns))
        return {form: at for name, at in self.columns.items() if forms[form := _form(name)] == 1}

    def has(self, name: str) -> bool:
        """True for a field, including `rowIndex`."""
        return name == ROW_INDEX or self.find(name) is not None

    def unknown_field(
        self, parameter: str, names: Sequence[str], *, hint: str = ""
    ) -> UnknownField:
        """The error for names of a parameter that are not fields; it lists the fields."""
        fields = ", ".join(filter(None, [ROW_INDEX, self.listing()]))
        return UnknownField(
            f"{parameter} names {quoted(names[0])}, which is not a field of this worksheet; "
            f"its fields are {fields}.{hint}",
            parameter=parameter,
            names=names,
        )

    def check_parameters(self, unknown: Sequence[str]) -> None:
        """Raise InvalidQuery if an unknown parameter of a request is one of the fields."""
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
        """Field names by their `letters`."""
        lettered: dict[str, str] = {}
        for name in self.columns:
            lettered.setdefault(letters(name) or name, name)
        return lettered

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The field name of each column, in sheet order."""
        return {column: name for name, column in self.columns.items()}

    def may_write(self, column: int) -> bool:
        return self.writable is None or column in self.writable

    def select(self, keys: Selection | None) -> Mapping[int, str]:
        """The names of the selected fields (None: all) by column, in sheet order."""
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
        """Up to 50 field names for a message, long ones cut; "" if the view has none."""
        names = list(self.columns)
        more = len(names) - _NAMES_IN_MESSAGES
        shown = ", ".join(map(quoted, names[:_NAMES_IN_MESSAGES]))
        return f"{shown} and {more} more" if more > 0 else shown

    def tag(
        self, row: int, displayed: Sequence[object], typed: Sequence[object] | None = None
    ) -> str:
        """The entity tag of a row, over the header and all displayed cells, also hidden ones.

        With the `typed` cells it is the tag of typed answers.
        """
        if self.is_whole:
            return row_tag(self.header_cells, displayed, typed)
        return keyed_row_tag(self.tag_key, self.columns, row, self.header_cells, displayed, typed)


def _form(name: str) -> str:
    """Normal form of a name: without surrounding blanks, in NFC."""
    return composed(name.strip())


class Layout(NamedTuple):
    """Layout of a worksheet by the settings: its header row, and the rule for its last record."""

    header_row: int = 1
    record_field: str = ""
    """Field without which a trailing row is not a record; "" for the automatic rule."""
    filled_down: bool = True
    """True if trailing rows with only FALSE and blank cells are not records."""


DEFAULT_LAYOUT = Layout()


@dataclass(frozen=True)
class Header:
    """The displayed header row of a worksheet, without trailing blank cells."""

    cells: tuple[str, ...]
    columns: Mapping[str, int]
    """Field name, exactly as written, to column (from 0), in sheet order."""
    row: int = 1
    """Number of the header row in the sheet; data rows begin below it."""
    end: EndRule = BLANK_ONLY
    """Rule for trailing rows that are not records."""
    missing_field: str = ""
    """The `record_field` of the settings, if it is not a field of this header."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The field names, in sheet order."""
        return tuple(self.columns)

    @cached_property
    def whole(self) -> View:
        """The view of a key that may see and write everything."""
        return View(columns=self.columns, trimmed=_trimmed(self.columns), header_cells=self.cells)

    def seen_with(self, grant: ColumnGrant) -> View:
        """The view of a key; granted names match headers like the field names of a request."""
        if grant.readable is None and grant.writable is None:
            return self.whole
        writable = self._named(grant.writable)
        readable = self._named(grant.readable)
        if readable is None:
            return replace(self.whole, writable=writable)
        seen = {name: column for name, column in self.columns.items() if column in readable}
        return View(
            columns=seen,
            trimmed=_trimmed(seen),
            header_cells=self.cells,
            is_whole=False,
            writable=writable,
            tag_key=grant.tag_key,
        )

    def duplicates(self) -> list[str]:
        """Names of more than one column; only the first column has the name."""
        counts = Counter(cell for cell in self.cells if cell.strip())
        return [name for name, count in counts.items() if count > 1]

    def _named(self, names: frozenset[str] | None) -> frozenset[int] | None:
        """The columns of these names; None for None."""
        if names is None:
            return None
        found = map(self.whole.find, names)
        return frozenset(column for column in found if column is not None)


def parse_header(displayed: Iterable[object], layout: Layout = DEFAULT_LAYOUT) -> Header:
    """Make a header from the displayed cells of its row, which may contain no name.

    With a single field each row that is not blank is a record: a lone column of checkboxes is data.
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
