"""Scope of a document: its operations and its audience."""

from dataclasses import dataclass

from gateway.access.caller import Caller, may_delete, may_refresh
from gateway.settings.model import ApiSettings
from gateway.settings.plans import PlanSettings
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from gateway.web.answers import EmptyCell


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Everything that a document depends on except the worksheets; the key of its cache."""

    empty_cell: EmptyCell
    ignores_unknown: bool
    """True if unknown fields are dropped instead of refused."""
    is_for_key: bool = False
    """True for the worksheets of a key's spreadsheet, False for the API in general."""
    plan: PlanSettings | None = None
    """The key's plan; None for any plan."""
    may_write: bool = True
    may_delete: bool = True
    may_refresh: bool = True
    columns: ColumnGrant = ALL_COLUMNS
    worksheets: frozenset[str] | None = None
    """The worksheets that the key was granted; None for all."""
    spreadsheet: str | None = None
    """The spreadsheet that the request named, if any."""
    must_name: bool = False
    """True if the key has several spreadsheets, so that requests must name one."""

    def __hash__(self) -> int:
        """Hash of the parts that differ between keys; hashing the plan would cost more."""
        return hash((self.columns, self.worksheets, self.spreadsheet, self.may_write))

    @property
    def may_query(self) -> bool:
        """True if lists may be filtered and sorted."""
        return self.plan is None or self.plan.where_and_order

    @property
    def must_condition(self) -> bool:
        """True if updates and deletes require `If-Match`."""
        return self.plan is not None and self.plan.require_if_match

    @property
    def may_write_many(self) -> bool:
        """True if one request may write to several existing rows."""
        return self.may_write and not self.must_condition

    @property
    def may_write_where(self) -> bool:
        """True if rows may be written by filter."""
        is_allowed = self.plan is None or self.plan.max_affected > 0
        return self.may_write_many and self.may_query and is_allowed


def reach_of_all(api: ApiSettings) -> Reach:
    """Scope without a key."""
    return Reach(empty_cell=api.empty_cell, ignores_unknown=api.unknown_fields == "ignore")


def reach_of(caller: Caller, named: str | None, api: ApiSettings) -> Reach:
    """Scope of a key whose request named this spreadsheet or none."""
    grants = caller.grants
    may_write = caller.plan.writes and not grants.read_only
    return Reach(
        empty_cell=api.empty_cell,
        ignores_unknown=api.unknown_fields == "ignore",
        is_for_key=True,
        plan=caller.plan,
        may_write=may_write,
        may_delete=may_write and may_delete(caller),
        may_refresh=may_refresh(caller),
        columns=grants.columns,
        worksheets=grants.worksheets,
        spreadsheet=named or None,
        must_name=grants.spreadsheets is None or len(grants.spreadsheets) != 1,
    )
