"""Scope of a document: which operations it describes, and to whom."""

from dataclasses import dataclass

from gateway.access.caller import Caller
from gateway.settings.model import ApiSettings
from gateway.settings.plans import PlanSettings
from gateway.table.view import ALL_COLUMNS, ColumnGrant
from gateway.web.answers import EmptyCell


@dataclass(frozen=True, kw_only=True)
class Reach:
    """All that a document depends on beside the worksheets themselves; it is kept by that."""

    empty_cell: EmptyCell
    ignores_unknown: bool
    """Whether a field that is no header is dropped instead of refused."""
    is_for_key: bool = False
    """Whether it is of the worksheets of a key's spreadsheet, or of the API in general."""
    plan: PlanSettings | None = None
    """What the key's plan allows; None for what any may."""
    may_write: bool = True
    columns: ColumnGrant = ALL_COLUMNS
    worksheets: frozenset[str] | None = None
    """The worksheets that the key was granted, None for all."""
    spreadsheet: str | None = None
    """The spreadsheet that the request named; None if it named none."""
    must_name: bool = False
    """Whether the key needs it named, having more than one."""

    def __hash__(self) -> int:
        """Of what differs between keys; the plan's own hash would cost more than the rest."""
        return hash((self.columns, self.worksheets, self.spreadsheet, self.may_write))

    @property
    def may_query(self) -> bool:
        """Whether lists may be filtered and sorted."""
        return self.plan is None or self.plan.where_and_order

    @property
    def must_condition(self) -> bool:
        """Whether an update must come with `If-Match`."""
        return self.plan is not None and self.plan.require_if_match


def reach_of_all(api: ApiSettings) -> Reach:
    """What anybody is told, who shows no key."""
    return Reach(empty_cell=api.empty_cell, ignores_unknown=api.unknown_fields == "ignore")


def reach_of(caller: Caller, named: str | None, api: ApiSettings) -> Reach:
    """What the holder of a key is told, who named this spreadsheet or none."""
    grants = caller.grants
    return Reach(
        empty_cell=api.empty_cell,
        ignores_unknown=api.unknown_fields == "ignore",
        is_for_key=True,
        plan=caller.plan,
        may_write=caller.plan.writes and not grants.read_only,
        columns=grants.columns,
        worksheets=grants.worksheets,
        spreadsheet=named or None,
        must_name=grants.spreadsheets is None or len(grants.spreadsheets) != 1,
    )
