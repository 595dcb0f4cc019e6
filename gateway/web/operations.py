"""Table of the operations on rows and worksheets: conditions, parameters and steps of each.

Rules: a request runs the first operation of its path and method whose conditions are true. So
operations without conditions come last.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gateway.access.caller import check_export, may_delete
from gateway.access.rates import FRESH_PRICE
from gateway.telemetry.events import RequestKind
from gateway.web import exports, rows, schema
from gateway.web.signature import (
    FORMAT,
    FORMULAS,
    MAX_AFFECTED,
    ON_CONFLICT,
    READ_PARAMETERS,
    RESOLUTION,
    VALUES,
    WHERE,
)

_TO_WRITE_BY_FILTER = "To write to all matching rows, leave the rowIndex out of the path."
_ALL_THAT_MATCH = (
    "A write by filter changes all matching rows. Send a narrower where, or the rowIndex of each "
    "row."
)

_read = partial(rows.RowOperation, methods=("GET",))
_write = partial(rows.RowOperation, parameters=(VALUES,), run=rows.run_write)
_write_by_filter = partial(
    _write,
    parameters=(WHERE, MAX_AFFECTED, VALUES),
    preferences=(MAX_AFFECTED,),
    hint=_ALL_THAT_MATCH,
    price=FRESH_PRICE,
    check=partial(rows.refuse_condition, by_filter=True),
    answer=rows.counted,
)

_TABLE: Final[Sequence[rows.RowOperation]] = [
    _read(
        kind="worksheets",
        noun="the list of worksheets",
        path="spreadsheet",
        hint="For rows, name a worksheet in the path, as in /v2/sheets/Cities.",
        parse=rows.parse_nothing,
        run=schema.run_worksheets,
        answer=rows.served_read,
    ),
    _read(
        kind="schema",
        noun="a schema",
        path="schema",
        parameters=(FORMAT,),
        hint="For rows, leave /schema out of the path.",
        parse=schema.parse_schema,
        run=schema.run_schema,
        answer=schema.served_schema,
    ),
    _read(
        kind="export",
        noun="an export",
        is_export=True,
        parameters=(WHERE, "order", "skip", "limit", "keys", VALUES, "no-cache", FORMAT, FORMULAS),
        hint="X-Total-Count has the number of rows that match.",
        check=lambda _, admitted: check_export(admitted.caller),
        parse=exports.parse_export,
        run=exports.run_export,
        answer=exports.exported,
    ),
    _read(
        kind="list",
        noun="a list",
        parameters=READ_PARAMETERS,
        hint="Remove the parameter.",
        parse=rows.parse_list,
        run=rows.run_list,
        answer=rows.listed_rows,
    ),
    _read(
        kind="read",
        noun="a read of one row",
        path="row",
        parameters=("keys", VALUES, "no-cache"),
        hint="For a list of rows, leave the rowIndex out of the path.",
        parse=rows.parse_read,
        run=rows.run_read,
        answer=rows.served_read,
    ),
    _write(
        kind="upsert",
        noun="an upsert",
        methods=("POST",),
        parameter=ON_CONFLICT,
        writes=("create", "update"),
        parameters=(ON_CONFLICT, VALUES),
        preferences=(RESOLUTION,),
        hint="Send the rows in the body.",
        price=FRESH_PRICE,
        check=partial(rows.refuse_condition, may_create=True),
        parse=rows.parse_upsert,
        answer=rows.upserted,
    ),
    _write(
        kind="create",
        noun="a create",
        methods=("POST",),
        writes=("create",),
        is_for_create_only=True,
        hint="To update rows, send on_conflict, or PATCH with where or with the row in the path.",
        parse=rows.parse_create,
        answer=rows.created,
    ),
    rows.RowOperation(
        kind="refresh",
        noun="a report of a change",
        methods=("POST",),
        path="row",
        row="refresh",
        needs=lambda caller: caller.key.grants.may_refresh,
        hint="Remove the parameter.",
        price=FRESH_PRICE,
        parse=rows.parse_nothing,
        run=rows.run_refresh,
        answer=rows.accepted,
    ),
    _write(
        kind="update",
        noun="an update of a row",
        methods=("POST", "PUT", "PATCH"),
        path="row",
        writes=("update",),
        hint=_TO_WRITE_BY_FILTER,
        parse=rows.parse_update,
        answer=rows.updated,
    ),
    _write_by_filter(
        kind="update_where",
        noun="an update by filter",
        methods=("PATCH",),
        parameter=WHERE,
        writes=("update",),
        parse=partial(rows.parse_by_filter, is_update=True),
    ),
    _write(
        kind="update_rows",
        noun="an update of a list",
        methods=("PATCH",),
        is_of_list=True,
        writes=("update",),
        hint="Send the rows in the body.",
        check=rows.refuse_condition,
        parse=rows.parse_update_rows,
        answer=rows.written_rows,
    ),
    _write_by_filter(
        kind="delete_where",
        noun="a delete by filter",
        methods=("DELETE",),
        needs=may_delete,
        writes=("delete",),
        parse=partial(rows.parse_by_filter, is_update=False),
    ),
    _write(
        kind="delete",
        noun="a delete of a row",
        methods=("DELETE",),
        path="row",
        needs=may_delete,
        writes=("delete",),
        hint=(
            "Send the rowIndex in the path or where, not both. To delete a row only if it has not "
            "changed, send If-Match with its ETag."
        ),
        parse=rows.parse_delete,
        answer=rows.deleted,
    ),
]

OPERATIONS: Final[Mapping[RequestKind, rows.RowOperation]] = {each.kind: each for each in _TABLE}


def _by_method(path: rows.PathKind) -> rows.ByMethod:
    found: dict[str, list[rows.RowOperation]] = {}
    for operation in _TABLE:
        for method in operation.methods:
            if operation.path == path:
                found.setdefault(method, []).append(operation)
    return {**found, "HEAD": found["GET"]}


OF_SPREADSHEET: Final = _by_method("spreadsheet")
"""Operations at `/v2/sheets`, by method."""
OF_WORKSHEET: Final = _by_method("worksheet")
"""Operations at `/v2/sheets/{title}`, by method."""
OF_SCHEMA: Final = _by_method("schema")
"""Operations at `/v2/sheets/{title}/schema`, by method."""
OF_ROW: Final = _by_method("row")
"""Operations at `/v2/sheets/{title}/{row}`, by method."""
