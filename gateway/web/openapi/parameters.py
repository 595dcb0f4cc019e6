"""Request parameters of the document: path, query, headers."""

from collections.abc import Sequence

from gateway.access.rates import FRESH_PRICE
from gateway.query.query import DEFAULT_LIMIT
from gateway.table.header import ROW_INDEX
from gateway.web.idempotency import IDEMPOTENCY_KEY
from gateway.web.openapi.node import Node, Nodes, reference, schema_reference
from gateway.web.openapi.place import Place
from gateway.web.openapi.query_schemas import order_schema
from gateway.web.openapi.reach import Reach
from gateway.web.prefer import RESOLUTIONS
from gateway.web.signature import MAX_AFFECTED, ON_CONFLICT, SPREADSHEET_PARAMETER

SPREADSHEET_ID = "X-Spreadsheet-Id"
_SPREADSHEET = "Spreadsheet"
LARGEST_ROW = 99_999_999
IDEMPOTENCY_KEYS = "^[!#-~][!-~]{0,254}$"
"""Bare keys; quoted ones have the same meaning."""

SHEET_NAME: Node = {
    "name": "sheetName",
    "in": "path",
    "required": True,
    "description": (
        "The name on the worksheet's tab, percent-encoded: `A/B` is `A%2FB`. Case and blanks count."
    ),
    "schema": {"type": "string", "minLength": 1},
    "example": "Cities",
}
ROW: Node = {
    "name": ROW_INDEX,
    "in": "path",
    "required": True,
    "description": "The `rowIndex` of the row, as lists and answers to writes have it.",
    "schema": {"type": "integer", "minimum": 2, "maximum": LARGEST_ROW},
    "example": 2,
}
_SKIP: Node = {
    "name": "skip",
    "in": "query",
    "description": "How many rows to leave out from the beginning.",
    "schema": {"type": "integer", "minimum": 0, "default": 0},
}
_COUNT: Node = {
    "name": "count",
    "in": "query",
    "description": "`true` adds `total`, the number of rows that match.",
    "schema": {"type": "boolean", "default": False},
}
_NO_CACHE: Node = {
    "name": "no-cache",
    "in": "query",
    "description": (
        "`true` has the rows read anew, as the header `Cache-Control: no-cache` does. Without it "
        "they are some seconds old, as `Age` tells, but never miss what you wrote. It counts as "
        f"{FRESH_PRICE} requests."
    ),
    "schema": {"type": "boolean", "default": False},
}
_IF_NONE_MATCH: Node = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `ETag` of an earlier answer: if nothing has changed since, 304 comes back.",
    "schema": {"type": "string"},
}
_IDEMPOTENCY_KEY: Node = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "description": (
        "A new name for this write, such as a UUID. Sent again with the same one, after a lost "
        "connection for example, it is not carried out twice: the first answer comes again, with "
        "`Idempotent-Replayed: true`."
    ),
    "schema": {"type": "string", "pattern": IDEMPOTENCY_KEYS},
}
_PREFER_RESOLUTION: Node = {
    "name": "Prefer",
    "in": "header",
    "description": (
        f"With `{ON_CONFLICT}`: `resolution=ignore-duplicates` leaves existing rows as they are; "
        "`resolution=merge-duplicates` is the default. Other preferences are passed over."
    ),
    "schema": {"type": "string", "examples": [f"resolution={each}" for each in RESOLUTIONS]},
}
_PREFER_MAX_AFFECTED: Node = {
    "name": "Prefer",
    "in": "header",
    "description": f"`{MAX_AFFECTED}=10` is the same as the parameter; the smaller number counts.",
    "schema": {"type": "string", "examples": [f"{MAX_AFFECTED}=10"]},
}
_SPREADSHEET_TOLD = (
    "The id of the spreadsheet, which stands in its URL between `/d/` and `/edit`. A key for one "
    "spreadsheet alone does without. `X-Sheetson-Spreadsheet-Id` and the query parameter "
    f"`{SPREADSHEET_PARAMETER}` are read as well."
)


def shared_parameters(reach: Reach) -> Nodes:
    """Components shared by all worksheets."""
    of_writes = {"IdempotencyKey": _IDEMPOTENCY_KEY, "IfMatch": _if_match(reach)}
    of_filters = {
        "MaxAffected": _max_affected(reach),
        "PreferMaxAffected": _PREFER_MAX_AFFECTED,
    }
    return {
        **({} if reach.is_for_key else {"SheetName": SHEET_NAME}),
        **({"SpreadsheetId": _spreadsheet(reach)} if _takes_spreadsheet(reach) else {}),
        "Row": ROW,
        "Limit": _limit(reach),
        "Skip": _SKIP,
        "Count": _COUNT,
        "NoCache": _NO_CACHE,
        "IfNoneMatch": _IF_NONE_MATCH,
        **(of_writes if reach.may_write else {}),
        **({"Resolution": _PREFER_RESOLUTION} if reach.may_write_many else {}),
        **(of_filters if reach.may_write_where else {}),
    }


def path_parameters(place: Place, reach: Reach, *, has_row: bool) -> Sequence[Node]:
    """Parameters of all operations of a path."""
    return _shared(
        *(["SheetName"] if place.is_any else []),
        *(["Row"] if has_row else []),
        *(["SpreadsheetId"] if _takes_spreadsheet(reach) else []),
    )


def list_parameters(place: Place, reach: Reach) -> Sequence[Node]:
    """Parameters of a list that the plan allows."""
    query = [_where(place), _order(place)] if reach.may_query else []
    return [
        *_shared("Limit", "Skip"),
        *query,
        _keys(place),
        *_shared("Count", "NoCache", "IfNoneMatch"),
    ]


def read_parameters(place: Place) -> Sequence[Node]:
    """Parameters of a row."""
    return [_keys(place), *_shared("NoCache", "IfNoneMatch")]


def create_parameters(place: Place, reach: Reach) -> Sequence[Node]:
    """Parameters of a create, which `on_conflict` makes an upsert."""
    if not reach.may_write_many:
        return _shared("IdempotencyKey")
    return [_on_conflict(place), *_shared("Resolution", "IdempotencyKey")]


def update_parameters() -> Sequence[Node]:
    """Parameters of an update or a delete of a row."""
    return _shared("IdempotencyKey", "IfMatch")


def change_parameters(place: Place, reach: Reach) -> Sequence[Node]:
    """Parameters of an update of several rows."""
    return (
        filter_parameters(place, is_required=False) if reach.may_write_where else _of_every_write()
    )


def _of_every_write() -> Sequence[Node]:
    return _shared("IdempotencyKey")


def filter_parameters(place: Place, *, is_required: bool) -> Sequence[Node]:
    """Parameters of a write by filter."""
    where = {**_where(place, "Which rows to write to"), "required": is_required}
    return [where, *_shared("MaxAffected", "PreferMaxAffected", "IdempotencyKey")]


def _shared(*names: str) -> Sequence[Node]:
    return [reference("parameters", name) for name in names]


def _takes_spreadsheet(reach: Reach) -> bool:
    """True if the key has several spreadsheets, or the request named one."""
    return not reach.is_for_key or reach.spreadsheet is not None


def _spreadsheet(reach: Reach) -> Node:
    """The ID parameter; fixed if the request named a spreadsheet."""
    return {
        "name": SPREADSHEET_ID,
        "in": "header",
        "description": _SPREADSHEET_TOLD,
        "required": reach.must_name and reach.spreadsheet is not None,
        "schema": schema_reference(_SPREADSHEET),
    }


def spreadsheet_schemas(reach: Reach) -> Nodes:
    """The schema of the ID, if there is a parameter for it."""
    if not _takes_spreadsheet(reach):
        return {}
    if reach.spreadsheet is None:
        return {_SPREADSHEET: {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}}
    only = reach.spreadsheet
    return {_SPREADSHEET: {"type": "string", "enum": [only], "default": only}}


def _if_match(reach: Reach) -> Node:
    any_state = "Your plan asks for it." if reach.must_condition else "`*` is any state."
    return {
        "name": "If-Match",
        "in": "header",
        "required": reach.must_condition,
        "description": (
            "The `ETag` of the row as you read it, quotes and all: if somebody changed it since, "
            f"nothing is written and 412 has the row as it is. {any_state}"
        ),
        "schema": {"type": "string"},
    }


def _limit(reach: Reach) -> Node:
    schema: dict[str, object] = {"type": "integer", "minimum": 0, "default": DEFAULT_LIMIT}
    most = "the most that the key's plan allows"
    if reach.plan is not None:
        schema["maximum"] = reach.plan.max_limit
        schema["default"] = min(DEFAULT_LIMIT, reach.plan.max_limit)
        most = f"{reach.plan.max_limit}, the most that your plan allows"
    return {
        "name": "limit",
        "in": "query",
        "description": f"How many rows to list at most; more is cut to {most}.",
        "schema": schema,
    }


def _max_affected(reach: Reach) -> Node:
    most = "the key's plan allows" if reach.plan is None else f"{reach.plan.max_affected} rows"
    return {
        "name": MAX_AFFECTED,
        "in": "query",
        "description": (
            "How many rows the filter may match: if it matches more, nothing is written and 400 "
            f"has their number. It never matches more than {most}."
        ),
        "schema": {"type": "integer", "minimum": 0},
    }


def _on_conflict(place: Place) -> Node:
    field = schema_reference(f"{place.stem}Field")
    names = {"allOf": [field], "not": {"enum": [ROW_INDEX]}}
    return {
        "name": ON_CONFLICT,
        "in": "query",
        "description": (
            "The fields that tell rows apart, comma-separated. Rows of the body with the values of "
            "an existing row in all of them update it, the others are created."
        ),
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "items": names, "minItems": 1},
    }


def _where(place: Place, told: str = "Which rows to list") -> Node:
    return {
        "name": "where",
        "in": "query",
        "description": (
            f'{told}: a JSON object, such as `{{"state":"Texas"}}`; in a URL percent-encoded.'
        ),
        "schema": {
            "type": "string",  # `content` would leave the filter out of generated clients
            "contentMediaType": "application/json",
            "contentSchema": schema_reference(f"{place.stem}Where"),
        },
        **({"examples": _WHERE_EXAMPLES} if place.is_any else {}),
    }


def _order(place: Place) -> Node:
    return {
        "name": "order",
        "in": "query",
        "description": (
            "Names to sort by, comma-separated, each with `-` in front to turn it round. A JSON "
            'array does as well, for names with a comma: `["a,b","-c"]`. Numbers come before '
            "texts, and empty cells last both ways."
        ),
        "style": "form",
        "explode": False,
        "schema": order_schema(place),
    }


def _keys(place: Place) -> Node:
    return {
        "name": "keys",
        "in": "query",
        "description": (
            "The fields wanted, comma-separated; `rowIndex` is always there. At least one name has "
            "to be a field; the others are ignored. A JSON array does as well, for names with a "
            'comma: `["a,b"]`.'
        ),
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "items": schema_reference(f"{place.stem}Field")},
    }


_WHERE_EXAMPLES: Node = {
    "equal": {"summary": "One value", "value": '{"state":"California"}'},
    "range": {"summary": "A range", "value": '{"population":{"$gte":1000000,"$lt":2000000}}'},
    "either": {
        "summary": "Either of two",
        "value": '{"$or":[{"name":{"$text":"san"}},{"state":"Texas"}]}',
    },
}
