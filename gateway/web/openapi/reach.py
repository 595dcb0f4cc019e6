"""Scope of an OpenAPI document: the rights, settings and worksheets that it describes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.access.caller import Caller, rights_of
from gateway.settings.model import ApiSettings, PlanSettings
from gateway.table.column_types import ColumnType
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from gateway.telemetry.events import RequestKind
from gateway.web.answers import EmptyCell
from gateway.web.head import encode_title
from gateway.web.operations import OPERATIONS
from gateway.web.schema import writable_names
from gateway.web.signature import WHERE
from gateway.worksheets.access import is_granted
from gateway.worksheets.catalogue import Listed

_LONGEST_STEM = 60
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Scope of a document: rights and settings. Documents are cached by this scope."""

    empty_cell: EmptyCell
    is_typed: bool = False
    """True if the document describes requests with typed values."""
    must_name_values: bool = False
    """True if requests need the parameter `values`, because the gateway's default differs."""
    ignores_unknown: bool
    """True if the gateway ignores unknown fields; False if they are an error."""
    is_for_key: bool = False
    """True for the worksheets of a key's spreadsheet, False for the API in general."""
    plan: PlanSettings | None = None
    """The key's plan; None in the general document."""
    rights: frozenset[str] = frozenset({"create", "update", "delete", "refresh"})
    """The rights except `read` that key and plan allow."""
    columns: ColumnGrant = ALL_COLUMNS
    worksheets: frozenset[str] | None = None
    """Titles of the worksheets that the key can use; None for all."""
    spreadsheet: str | None = None
    """ID of the spreadsheet that the request names; None if it names no spreadsheet."""
    must_name: bool = False
    """True if the key has several spreadsheets, so that requests must name one."""

    def __hash__(self) -> int:
        """Hash of the fields that differ between API keys. Hashing the plan would be slow."""
        return hash((self.columns, self.worksheets, self.spreadsheet, self.rights))

    @property
    def may_write(self) -> bool:
        """True if the key can create or update rows."""
        return not self.rights.isdisjoint(("create", "update"))

    @property
    def may_query(self) -> bool:
        """True if the plan allows `where` and `order`."""
        return self.plan is None or self.plan.where_and_order

    @property
    def writes_by_filter(self) -> bool:
        """True if the key can update or delete rows by filter."""
        return self.has("update_where") or self.has("delete_where")

    @property
    def takes_spreadsheet(self) -> bool:
        """True if the document has the parameter for the spreadsheet ID.

        A key's document has the parameter only if the request named a spreadsheet.
        """
        return not self.is_for_key or self.spreadsheet is not None

    def has(self, kind: RequestKind) -> bool:
        """True if the key and its plan allow the operation."""
        operation, plan = OPERATIONS[kind], self.plan or PlanSettings()
        if kind == "refresh":
            return "refresh" in self.rights
        if kind == "export":
            return plan.max_export_rows > 0
        is_of_many = operation.path == "worksheet" and operation.writes != ("create",)
        if operation.is_write and is_of_many:
            if plan.require_if_match:
                return False
            if WHERE in operation.parameters and not (plan.where_and_order and plan.max_affected):
                return False
        return self.rights.issuperset(operation.writes)


def reach_of_all(api: ApiSettings, *, is_typed: bool | None = None) -> Reach:
    """Return the scope of the general document. `is_typed` None means the gateway's default."""
    is_default = api.values == "typed"
    return Reach(
        empty_cell=api.empty_cell,
        is_typed=is_default if is_typed is None else is_typed,
        must_name_values=is_typed not in (None, is_default),
        ignores_unknown=api.unknown_fields == "ignore",
    )


def reach_of(
    caller: Caller, named: str | None, api: ApiSettings, *, is_typed: bool | None = None
) -> Reach:
    """Return the scope of the document for a key. `named` is the requested spreadsheet, or None."""
    grants = caller.key.grants
    rights = {*rights_of(caller), *(["refresh"] if grants.may_refresh else [])}
    return replace(
        reach_of_all(api, is_typed=is_typed),
        is_for_key=True,
        plan=caller.plan,
        rights=frozenset(rights - {"read"}),
        columns=grants.columns,
        worksheets=grants.worksheets,
        spreadsheet=named or None,
        must_name=grants.spreadsheets is None or len(grants.spreadsheets) != 1,
    )


@dataclass(frozen=True, kw_only=True)
class Place:
    """A worksheet in the document, or any worksheet in the general document."""

    stem: str = ""
    """Start of the worksheet's component names; "" for any worksheet."""
    path: str = "/v2/sheets/{sheetName}"
    reach: Reach
    title: str | None = None
    """Title of the worksheet; None for any worksheet."""
    fields: Sequence[str] = ()
    """Names of the fields that the key can see, in the order of the columns."""
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    """Types of the fields, by name."""
    writable: Sequence[str] = ()

    @property
    def is_any(self) -> bool:
        return self.title is None

    @property
    def ignored(self) -> Sequence[str]:
        """Name of the header for ignored fields, in a list; empty if unknown fields are errors."""
        return ["X-Ignored-Fields"] if self.reach.ignores_unknown else []

    @property
    def is_writable(self) -> bool:
        """True if the key can write a field of the worksheet."""
        return self.reach.may_write and (self.is_any or bool(self.writable))


def places_of(listed: Sequence[Listed], reach: Reach) -> Iterator[Place]:
    """Yield the worksheets that the key can see and that have field names."""
    taken: dict[str, str] = {}
    for worksheet in listed:
        title = worksheet.title
        is_seen = is_granted(title, reach.worksheets, is_only=worksheet.is_only)
        if not is_seen or not worksheet.header.columns:
            continue
        view = worksheet.header.seen_with(reach.columns)
        yield Place(
            stem=_stem(title, taken),
            path=f"/v2/sheets/{encode_title(title)}",
            reach=reach,
            title=title,
            fields=tuple(view.columns),
            types={name: worksheet.type_of(column) for name, column in view.columns.items()},
            writable=writable_names(view),
        )


def _stem(title: str, taken: dict[str, str]) -> str:
    """Return a unique name from a title, with letters, digits and `_`. Adds the name to `taken`.

    Generators of clients derive class and module names, which can ignore case or `_`.
    """
    plain = _NOT_IN_NAMES.sub("_", title).strip("_")[:_LONGEST_STEM]
    return unique_name(plain if plain[:1].isalpha() else f"Worksheet{plain}", taken)


def unique_name(start: str, taken: dict[str, str]) -> str:
    """Return `start`, or `start` with a number, so that no name in `taken` is equal to it.

    Case and `_` do not count. Adds the name to `taken`, whose keys are in upper case without `_`.
    """
    number, name = 1, start
    while (folded := name.replace("_", "").upper()) in taken:
        number += 1
        name = f"{start}_{number}"
    taken[folded] = name
    return name
