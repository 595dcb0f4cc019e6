"""The table of operations: everything that distinguishes one from another.

Rules: the operations of a path and method are tried in the order of the table; the first one whose
conditions hold is used. Operations without conditions come last.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gateway.access.caller import may_delete, may_refresh
from gateway.access.rates import FRESH_PRICE
from gateway.telemetry.events import RequestKind
from gateway.web.exports import exported, parse_export, refuse_export, run_export
from gateway.web.rows import (
    ByMethod,
    PathKind,
    RowOperation,
    accepted,
    counted,
    created,
    deleted,
    listed_rows,
    parse_create,
    parse_delete,
    parse_filter,
    parse_list,
    parse_nothing,
    parse_read,
    parse_update,
    parse_update_rows,
    parse_upsert,
    refuse_condition,
    refuse_filter,
    run_list,
    run_read,
    run_refresh,
    run_write,
    served_read,
    updated,
    upserted,
    written_rows,
)
from gateway.web.schema import (
    parse_schema,
    run_schema,
    run_worksheets,
    served_schema,
    served_worksheets,
)
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
    "A write by filter changes all matching rows: narrow where, or name the rows by their rowIndex."
)

_TABLE: Final[Sequence[RowOperation]] = [
    RowOperation(
        kind="worksheets",
        noun="the list of worksheets",
        methods=("GET",),
        path="spreadsheet",
        hint="For rows, name a worksheet in the path, as in /v2/sheets/Cities.",
        parse=parse_nothing,
        run=run_worksheets,
        answer=served_worksheets,
    ),
    RowOperation(
        kind="schema",
        noun="a schema",
        methods=("GET",),
        path="schema",
        parameters=(FORMAT,),
        hint="For rows, leave /schema out of the path.",
        parse=parse_schema,
        run=run_schema,
        answer=served_schema,
    ),
    RowOperation(
        kind="export",
        noun="an export",
        methods=("GET",),
        is_export=True,
        parameters=(WHERE, "order", "skip", "limit", "keys", VALUES, "no-cache", FORMAT, FORMULAS),
        hint="X-Total-Count has the number of rows that match.",
        check=refuse_export,
        parse=parse_export,
        run=run_export,
        answer=exported,
    ),
    RowOperation(
        kind="list",
        noun="a list",
        methods=("GET",),
        parameters=READ_PARAMETERS,
        hint="Leave it out.",
        parse=parse_list,
        run=run_list,
        answer=listed_rows,
    ),
    RowOperation(
        kind="read",
        noun="a read of one row",
        methods=("GET",),
        path="row",
        parameters=("keys", VALUES, "no-cache"),
        hint="For a list of rows, leave the rowIndex out of the path.",
        parse=parse_read,
        run=run_read,
        answer=served_read,
    ),
    RowOperation(
        kind="upsert",
        noun="an upsert",
        methods=("POST",),
        parameter=ON_CONFLICT,
        writes=("create", "update"),
        parameters=(ON_CONFLICT, VALUES),
        preferences=(RESOLUTION,),
        hint="Its rows are in the body.",
        price=FRESH_PRICE,
        check=partial(refuse_condition, may_create=True),
        parse=parse_upsert,
        run=run_write,
        answer=upserted,
    ),
    RowOperation(
        kind="create",
        noun="a create",
        methods=("POST",),
        writes=("create",),
        is_for_create_only=True,
        parameters=(VALUES,),
        hint="To update rows, send on_conflict, or PATCH with where or with the row in the path.",
        parse=parse_create,
        run=run_write,
        answer=created,
    ),
    RowOperation(
        kind="refresh",
        noun="a report of a change",
        methods=("POST",),
        path="row",
        row="refresh",
        needs=may_refresh,
        hint="Leave it out.",
        price=FRESH_PRICE,
        parse=parse_nothing,
        run=run_refresh,
        answer=accepted,
    ),
    RowOperation(
        kind="update",
        noun="an update of a row",
        methods=("POST", "PUT", "PATCH"),
        path="row",
        writes=("update",),
        parameters=(VALUES,),
        hint=_TO_WRITE_BY_FILTER,
        parse=parse_update,
        run=run_write,
        answer=updated,
    ),
    RowOperation(
        kind="update_where",
        noun="an update by filter",
        methods=("PATCH",),
        parameter=WHERE,
        writes=("update",),
        parameters=(WHERE, MAX_AFFECTED, VALUES),
        preferences=(MAX_AFFECTED,),
        hint=_ALL_THAT_MATCH,
        price=FRESH_PRICE,
        check=refuse_filter,
        parse=partial(parse_filter, is_update=True),
        run=run_write,
        answer=counted,
    ),
    RowOperation(
        kind="update_rows",
        noun="an update of a list",
        methods=("PATCH",),
        is_of_list=True,
        writes=("update",),
        parameters=(VALUES,),
        hint="Its rows are in the body.",
        check=refuse_condition,
        parse=parse_update_rows,
        run=run_write,
        answer=written_rows,
    ),
    RowOperation(
        kind="delete_where",
        noun="a delete by filter",
        methods=("DELETE",),
        needs=may_delete,
        writes=("delete",),
        parameters=(WHERE, MAX_AFFECTED, VALUES),
        preferences=(MAX_AFFECTED,),
        hint=_ALL_THAT_MATCH,
        price=FRESH_PRICE,
        check=refuse_filter,
        parse=partial(parse_filter, is_update=False),
        run=run_write,
        answer=counted,
    ),
    RowOperation(
        kind="delete",
        noun="a delete of a row",
        methods=("DELETE",),
        path="row",
        needs=may_delete,
        writes=("delete",),
        parameters=(VALUES,),
        hint=(
            "A delete names a row in its path, or the rows with where, not both. For a row that "
            "must not have changed, send If-Match with its ETag."
        ),
        parse=parse_delete,
        run=run_write,
        answer=deleted,
    ),
]

OPERATIONS: Final[Mapping[RequestKind, RowOperation]] = {each.kind: each for each in _TABLE}


def _by_method(path: PathKind) -> ByMethod:
    found: dict[str, list[RowOperation]] = {}
    for operation in _TABLE:
        for method in operation.methods:
            if operation.path == path:
                found.setdefault(method, []).append(operation)
    return {**found, "HEAD": found["GET"]}


OF_SPREADSHEET: Final = _by_method("spreadsheet")
"""Operations at `/v2/sheets`."""
OF_WORKSHEET: Final = _by_method("worksheet")
"""Operations at `/v2/sheets/{title}`."""
OF_SCHEMA: Final = _by_method("schema")
"""Operations at `/v2/sheets/{title}/schema`."""
OF_ROW: Final = _by_method("row")
"""Operations at `/v2/sheets/{title}/{row}`."""
