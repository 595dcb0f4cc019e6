"""Worksheets, grants and documents for tests of the OpenAPI document."""

import json
from typing import Any

from gateway.settings.model import ApiSettings, PlanSettings
from gateway.storage.key_store import Grants
from gateway.table.header import ALL_COLUMNS, ColumnGrant, parse_header
from gateway.web.openapi.document import document_of
from gateway.web.openapi.reach import Reach, reach_of, reach_of_all
from gateway.worksheets.catalogue import Listed
from tests.callers import make_caller

GENERAL = reach_of_all(ApiSettings())


def worksheet(title: str, *cells: str) -> Listed:
    """Return a worksheet whose first row has these cells."""
    return Listed(title=title, header=parse_header(cells))


CITIES = worksheet("Cities", "name", "state", "country", "population")


def reach(
    *,
    plan: PlanSettings | None = None,
    columns: ColumnGrant = ALL_COLUMNS,
    worksheets: frozenset[str] | None = None,
    read_only: bool = False,
    may_delete: bool = False,
    spreadsheets: frozenset[str] | None = frozenset({"demo"}),
    named: str | None = None,
    api: ApiSettings | None = None,
    is_typed: bool | None = None,
) -> Reach:
    """Return the reach of a key: what its plan and grants allow."""
    grants = Grants(
        spreadsheets=spreadsheets,
        worksheets=worksheets,
        may_create=not read_only,
        may_update=not read_only,
        may_delete=may_delete,
        columns=columns,
    )
    return reach_of(make_caller(grants, plan), named, api or ApiSettings(), is_typed=is_typed)


def document(told: Reach = GENERAL, *listed: Listed) -> dict[str, Any]:
    """Return the OpenAPI document of this reach and these worksheets, decoded from JSON."""
    decoded: dict[str, Any] = json.loads(document_of(told, listed).body)
    return decoded
