"""Scope of a document: its operations, its audience, and the worksheets that they see."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.access.caller import Caller, rights_of
from gateway.settings.model import ApiSettings
from gateway.settings.plans import PlanSettings
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
    """Everything that a document depends on except the worksheets; the key of its cache."""

    empty_cell: EmptyCell
    is_typed: bool = False
    """True if it describes requests whose `values` are typed."""
    must_name_values: bool = False
    """True if `values` is required, because the default of the gateway is the other one."""
    ignores_unknown: bool
    """True if unknown fields are dropped instead of refused."""
    is_for_key: bool = False
    """True for the worksheets of a key's spreadsheet, False for the API in general."""
    plan: PlanSettings | None = None
    """The key's plan; None for any plan."""
    rights: frozenset[str] = frozenset({"create", "update", "delete", "refresh"})
    """The rights beside `read` that the key has, and its plan allows."""
    columns: ColumnGrant = ALL_COLUMNS
    worksheets: frozenset[str] | None = None
    """The worksheets that the key was granted; None for all."""
    spreadsheet: str | None = None
    """The spreadsheet that the request named, if any."""
    must_name: bool = False
    """True if the key has several spreadsheets, so that requests must name one."""

    def __hash__(self) -> int:
        """Hash of the parts that differ between keys; hashing the plan would cost more."""
        return hash((self.columns, self.worksheets, self.spreadsheet, self.rights))

    @property
    def may_write(self) -> bool:
        """True if rows may be created or updated."""
        return not self.rights.isdisjoint(("create", "update"))

    @property
    def may_query(self) -> bool:
        """True if lists may be filtered and sorted."""
        return self.plan is None or self.plan.where_and_order

    @property
    def must_condition(self) -> bool:
        """True if updates and deletes require `If-Match`."""
        return self.plan is not None and self.plan.require_if_match

    @property
    def writes_by_filter(self) -> bool:
        """True if all rows that match may be updated or deleted at once."""
        return self.has("update_where") or self.has("delete_where")

    @property
    def takes_spreadsheet(self) -> bool:
        """True if the document has the parameter for the spreadsheet ID.

        A document for a key has it only if it describes one spreadsheet.
        """
        return not self.is_for_key or self.spreadsheet is not None

    def has(self, kind: RequestKind) -> bool:
        """True if the key and its plan have an operation."""
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
    grants = caller.grants
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
    """Location of rows: its path, and what is known about it."""

    stem: str = ""
    """Prefix of its components' names; "" for any worksheet."""
    path: str = "/v2/sheets/{sheetName}"
    reach: Reach
    title: str | None = None
    """Title of the tab; None for any worksheet."""
    fields: Sequence[str] = ()
    """Visible fields, in sheet order."""
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    """The types of these fields."""
    writable: Sequence[str] = ()

    @property
    def is_any(self) -> bool:
        return self.title is None

    @property
    def ignored(self) -> Sequence[str]:
        """Name of the header that lists ignored fields, if the gateway ignores unknown fields."""
        return ["X-Ignored-Fields"] if self.reach.ignores_unknown else []

    @property
    def is_writable(self) -> bool:
        """True if the key may write any field there."""
        return self.reach.may_write and (self.is_any or bool(self.writable))


def places_of(listed: Sequence[Listed], reach: Reach) -> Iterator[Place]:
    """The worksheets that a key sees, without those whose header names no field."""
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
    """A unique component name from a title: letters and digits.

    Generators of clients make classes and modules of it, whose names have no case or no `_`.
    """
    plain = _NOT_IN_NAMES.sub("_", title).strip("_")[:_LONGEST_STEM]
    return unique_name(plain if plain[:1].isalpha() else f"Worksheet{plain}", taken)


def unique_name(start: str, taken: dict[str, str]) -> str:
    """Return a name that differs from all in `taken` by more than case or `_`, and add it there."""
    number, name = 1, start
    while (folded := name.replace("_", "").upper()) in taken:
        number += 1
        name = f"{start}_{number}"
    taken[folded] = name
    return name
