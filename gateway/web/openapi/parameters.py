"""Parameters in the OpenAPI document: of paths, queries and headers.

Rules: the query parameters of an operation come from its lines in the table `OPERATIONS`.
"""

from collections.abc import Sequence
from functools import partial

from gateway.access.rates import FRESH_PRICE
from gateway.query.place import LONGEST_CURSOR
from gateway.query.query import DEFAULT_LIMIT
from gateway.table.header import ROW_INDEX
from gateway.telemetry.events import RequestKind
from gateway.web.exports import RAW
from gateway.web.head import FORMATS
from gateway.web.idempotency import IDEMPOTENCY_KEY
from gateway.web.openapi.reach import Place, Reach
from gateway.web.openapi.schemas import COUNT, TEXT, Node, Nodes, ref
from gateway.web.operations import OPERATIONS
from gateway.web.parameters import MAX_ORDER_FIELDS
from gateway.web.prefer import RESOLUTIONS
from gateway.web.schema import JSON_FORMAT, TYPESCRIPT
from gateway.web.signature import (
    CURSOR,
    FORMAT,
    FORMULAS,
    MAX_AFFECTED,
    ON_CONFLICT,
    RESOLUTION,
    SPREADSHEET_PARAMETER,
    VALUES,
    WHERE,
)

SPREADSHEET_ID = "X-Spreadsheet-Id"
_SPREADSHEET = "Spreadsheet"
LARGEST_ROW = 99_999_999
_FLAG: Node = {"type": "boolean", "default": False}
IDEMPOTENCY_KEYS = "^[!#-~][!-~]{0,254}$"
"""Pattern of an Idempotency-Key without quotes. Quotes around a key make no difference."""


def _query(name: str, description: str, schema: Node, *, place: str = "query") -> Node:
    """Return an optional parameter of the query, or of another `place`, such as "header"."""
    return {"name": name, "in": place, "description": description, "schema": schema}


_in_header = partial(_query, place="header")


def _in_path(name: str, description: str, schema: Node, example: object) -> Node:
    place = {"name": name, "in": "path", "required": True}
    return {**place, "description": description, "schema": schema, "example": example}


_FIXED: Nodes = {
    "SheetName": _in_path(
        "sheetName",
        "The name on the worksheet's tab, percent-encoded: `A/B` is `A%2FB`. It must match "
        "exactly, with the same case and spaces.",
        {"type": "string", "minLength": 1},
        "Cities",
    ),
    "Row": _in_path(
        ROW_INDEX,
        "The `rowIndex` of the row, from a list or from the answer to a write.",
        {"type": "integer", "minimum": 2, "maximum": LARGEST_ROW},
        2,
    ),
    "Cursor": {
        **_query(
            CURSOR,
            "Empty for the first page, then the `cursor` of the previous answer. No row is "
            "repeated or missed, even if rows are inserted, deleted or moved. A cursor is valid "
            "only with the same key, worksheet, `where` and `order`.",
            {"type": "string", "maxLength": LONGEST_CURSOR},
        ),
        "allowEmptyValue": True,
    },
    "Skip": _query("skip", "Number of rows to skip.", {**COUNT, "default": 0}),
    "Count": _query("count", "`true` adds `total`, the number of rows that match.", _FLAG),
    "NoCache": _query(
        "no-cache",
        "`true` rereads the rows, as the header `Cache-Control: no-cache` does. Without it, rows "
        "can be some seconds old, as `Age` says, but they include all your writes. A request with "
        f"`no-cache` counts as {FRESH_PRICE} requests.",
        _FLAG,
    ),
    "SchemaFormat": _query(
        FORMAT,
        f"`{JSON_FORMAT}`: JSON Schema 2020-12, the default. `{TYPESCRIPT}`: a TypeScript "
        "interface.",
        {"type": "string", "enum": [JSON_FORMAT, TYPESCRIPT]},
    ),
    "IfNoneMatch": _in_header(
        "If-None-Match",
        "The `ETag` of an earlier answer: if nothing has changed since, the answer is 304.",
        TEXT,
    ),
    "Format": _query(
        FORMAT,
        "Exports all matching rows: as `csv`, `ndjson` (one record per line), or `json` (the "
        "JSON of a list). An export has no default `limit`.",
        {"type": "string", "enum": [*FORMATS]},
    ),
    "Formulas": _query(
        FORMULAS,
        "For `format=csv`: `raw` exports texts that look like formulas unchanged. By default the "
        "export puts an apostrophe before these texts.",
        {"type": "string", "enum": [RAW]},
    ),
    "IdempotencyKey": _in_header(
        IDEMPOTENCY_KEY,
        "A unique ID of this write, such as a UUID. A repetition with the same ID, for example "
        "after a lost connection, does not write again: it gets the first answer, with "
        "`Idempotent-Replayed: true`.",
        {"type": "string", "pattern": IDEMPOTENCY_KEYS},
    ),
    "Resolution": _in_header(
        "Prefer",
        f"With `{ON_CONFLICT}`: `resolution=ignore-duplicates` leaves existing rows as they are; "
        "`resolution=merge-duplicates` is the default. Other preferences are ignored.",
        {"type": "string", "examples": [f"resolution={each}" for each in RESOLUTIONS]},
    ),
    "PreferMaxAffected": _in_header(
        "Prefer",
        f"`{MAX_AFFECTED}=10` has the effect of the parameter; the smaller number counts.",
        {"type": "string", "examples": [f"{MAX_AFFECTED}=10"]},
    ),
}
"""Parameter components that are the same in all documents."""
_WHERE_EXAMPLES: Node = {
    "equal": {"summary": "One value", "value": '{"state":"California"}'},
    "range": {"summary": "A range", "value": '{"population":{"$gte":1000000,"$lt":2000000}}'},
    "either": {
        "summary": "Either of two",
        "value": '{"$or":[{"name":{"$text":"san"}},{"state":"Texas"}]}',
    },
}
_QUERY = {
    "limit": "Limit",
    CURSOR: "Cursor",
    "skip": "Skip",
    WHERE: "",
    "order": "",
    ON_CONFLICT: "",
    "keys": "",
    "count": "Count",
    VALUES: "Values",
    FORMAT: "Format",
    FORMULAS: "Formulas",
    "no-cache": "NoCache",
    MAX_AFFECTED: "MaxAffected",
}
"""Name of each query parameter's component, in the order of the document.

"" stands for a parameter that differs between worksheets, and so has no shared component.
"""
_OF_SCHEMA = {FORMAT: "SchemaFormat"}
_PREFERENCES = {RESOLUTION: "Resolution", MAX_AFFECTED: "PreferMaxAffected"}


def shared_parameters(reach: Reach) -> Nodes:
    """Return the parameter components that all worksheets share, by name."""
    names = [
        *([] if reach.is_for_key else ["SheetName"]),
        *(["SpreadsheetId"] if reach.takes_spreadsheet else []),
        *("Row", "Limit", "Cursor", "Skip", "Count", "Values", "NoCache"),
        *("SchemaFormat", "IfNoneMatch"),
        *(["Format", "Formulas"] if reach.has("export") else []),
        *(["IdempotencyKey"] if reach.may_write or reach.has("delete") else []),
        *(["IfMatch"] if reach.has("update") or reach.has("delete") else []),
        *(["Resolution"] if reach.has("upsert") else []),
        *(["MaxAffected", "PreferMaxAffected"] if reach.writes_by_filter else []),
    ]
    components = {**_FIXED, **_of_reach(reach)}
    return {name: components[name] for name in names}


def _of_reach(reach: Reach) -> Nodes:
    """Return the parameter components that depend on the scope of the document, by name."""
    plan = reach.plan
    must_match = plan is not None and plan.require_if_match
    any_state = "Your plan requires it." if must_match else "`*` matches any state."
    of_limit: dict[str, object] = {**COUNT, "default": DEFAULT_LIMIT}
    most, exported = "the most that the key's plan allows", "the plan allows"
    affected = "the key's plan allows"
    if plan is not None:
        of_limit["maximum"] = max(plan.max_limit, plan.max_export_rows)
        of_limit["default"] = min(DEFAULT_LIMIT, plan.max_limit)
        most = f"{plan.max_limit}, the most that your plan allows"
        affected, exported = f"{plan.max_affected} rows", f"{plan.max_export_rows} rows"
    export = f" An export has no default limit, and is refused with more than {exported}."
    word, other = ("typed", "displayed") if reach.is_typed else ("displayed", "typed")
    return {
        "SpreadsheetId": {
            "name": SPREADSHEET_ID,
            "in": "header",
            "description": "The spreadsheet ID: the part of its URL between `/d/` and `/edit`. A "
            "key for one spreadsheet does not need it. The header `X-Sheetson-Spreadsheet-Id` and "
            f"the query parameter `{SPREADSHEET_PARAMETER}` work, too.",
            "required": reach.must_name and reach.spreadsheet is not None,
            "schema": ref(_SPREADSHEET),
        },
        "IfMatch": {
            "name": "If-Match",
            "in": "header",
            "required": must_match,
            "description": "The `ETag` of the row as you read it, including the quotes. If the row "
            "has changed since, nothing is written, and you get 412 with the current row. "
            + any_state,
            "schema": TEXT,
        },
        "Limit": _query(
            "limit",
            f"Maximum number of rows; a larger value is reduced to {most}."
            + (export if reach.has("export") else ""),
            of_limit,
        ),
        "Values": {
            **_query(
                VALUES,
                "`typed`: answers have numbers, booleans, dates and texts, and dates that you send "
                "are stored as dates. `displayed`: answers have the displayed texts of the cells. "
                f"`/openapi.json?{VALUES}={other}` describes requests with `{other}`.",
                {"type": "string", "enum": [word]},  # no default, which `/docs` would send
            ),
            **({"required": True} if reach.must_name_values else {}),
        },
        "MaxAffected": _query(
            MAX_AFFECTED,
            f"Maximum number of rows that the filter is allowed to match, up to {affected}. If it "
            "matches more rows, nothing is written, and the answer is 400 with the number of rows.",
            COUNT,
        ),
    }


def path_parameters(place: Place, *, has_row: bool) -> Sequence[Node]:
    """Return references to the parameters of a path, with `has_row` also the row number."""
    names = (["SheetName"] if place.is_any else []) + (["Row"] if has_row else [])
    return [*_shared(*names), *spreadsheet_parameters(place.reach)]


def spreadsheet_parameters(reach: Reach) -> Sequence[Node]:
    """Return the reference to the parameter of the spreadsheet ID, if the document has one."""
    return _shared("SpreadsheetId") if reach.takes_spreadsheet else []


def operation_parameters(place: Place, kinds: Sequence[RequestKind]) -> Sequence[Node]:
    """Return the query parameters and headers of an operation with these lines of `OPERATIONS`."""
    rows = [OPERATIONS[kind] for kind in kinds]
    names = {name for row in rows for name in row.parameters}
    if not place.reach.may_query:
        names -= {WHERE, "order"}
    preferences = {name for row in rows for name in row.preferences}
    of_worksheet = _of_worksheet(place, kinds)
    query = [
        ref(shared, "parameters") if shared else of_worksheet[name]
        for name, shared in (_OF_SCHEMA if kinds[0] == "schema" else _QUERY).items()
        if name in names
    ]
    headers = [_PREFERENCES[name] for name in _PREFERENCES if name in preferences]
    if "GET" in rows[0].methods:
        headers.append("IfNoneMatch")
    elif rows[0].is_write:
        headers += ["IdempotencyKey", *(["IfMatch"] if rows[0].path == "row" else [])]
    return [*query, *_shared(*headers)]


def _shared(*names: str) -> Sequence[Node]:
    return [ref(name, "parameters") for name in names]


def spreadsheet_schemas(reach: Reach) -> Nodes:
    """Return the schema of the spreadsheet ID by name; empty without a parameter for the ID."""
    if not reach.takes_spreadsheet:
        return {}
    if reach.spreadsheet is None:
        return {_SPREADSHEET: {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}}
    only = reach.spreadsheet
    return {_SPREADSHEET: {"type": "string", "enum": [only], "default": only}}


def _of_worksheet(place: Place, kinds: Sequence[RequestKind]) -> Nodes:
    """Return the query parameters that differ between worksheets, by name.

    `kinds` are the operation's lines in the table `OPERATIONS`.
    """
    is_list, field = "list" in kinds, ref(f"{place.stem}Field")
    where = _query(
        WHERE,
        f"Condition that selects the rows to {'list' if is_list else 'write to'}: a JSON object, "
        'such as `{"state":"Texas"}`, percent-encoded in the URL.',
        {
            "type": "string",  # `content` would leave the filter out of generated clients
            "contentMediaType": "application/json",
            "contentSchema": ref(f"{place.stem}Where"),
        },
    )
    return {
        WHERE: {
            **where,
            **({"examples": _WHERE_EXAMPLES} if place.is_any else {}),
            **({} if is_list else {"required": "delete_where" in kinds}),
        },
        "order": _name_list(
            "order",
            "Fields to sort by, comma-separated; `-` before a name means descending order. For "
            'names with a comma, send a JSON array: `["a,b","-c"]`. Numbers come first, then '
            "dates, times, texts and booleans; empty cells are always last.",
            ref(f"{place.stem}Order"),
            minItems=1,
            maxItems=MAX_ORDER_FIELDS,
        ),
        ON_CONFLICT: _name_list(
            ON_CONFLICT,
            "The fields that identify a row, comma-separated. If an existing row has the same "
            "values in all these fields, it is updated; otherwise a row is created.",
            {"allOf": [field], "not": {"enum": [ROW_INDEX]}},
            minItems=1,
        ),
        "keys": _name_list(
            "keys",
            "The fields to return, comma-separated; `rowIndex` is always returned. At least one "
            "name must be a field; other names are ignored. For names with a comma, send a JSON "
            'array: `["a,b"]`.',
            field,
        ),
    }


def _name_list(name: str, description: str, items: Node, **bounds: int) -> Node:
    schema = {"type": "array", "items": items, **bounds}
    place = {"name": name, "in": "query", "description": description}
    return {**place, "style": "form", "explode": False, "schema": schema}
