"""The list of a spreadsheet's worksheets, and the schema of a worksheet's typed records.

Rules
- List and schema have only worksheets and columns that the key can see. A key with hidden columns
  gets no `x-column`, which would reveal the number of hidden columns.
- A schema describes typed answers (`gateway.table.column_types`), with the setting
  `api.empty_cell`. Google enforces no types, so a record can differ from its schema.
- A name in TypeScript is a JSON string with escapes for invisible characters, so that no name
  breaks its line.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from gateway.access.caller import rights_of
from gateway.errors import InvalidQuery
from gateway.storage.key_store import Right
from gateway.table.a1 import column_letters
from gateway.table.column_types import ColumnType, TypeName
from gateway.table.header import View
from gateway.table.quoting import printable_json
from gateway.table.record import NEVER_STORED
from gateway.web.admission import Admitted
from gateway.web.answers import Answer, EmptyCell, read_answer, weakly_tagged
from gateway.web.media_types import JSON_TEXT, PLAIN_TEXT
from gateway.web.parameters import asking_of, single_text
from gateway.web.request import Request
from gateway.web.rows import Asked
from gateway.web.signature import FORMAT
from gateway.worksheets.access import Target, WorksheetId, is_granted
from gateway.worksheets.answers import Encoded, Served
from gateway.worksheets.catalogue import KEPT_SECONDS, Contents, Listed
from gateway.worksheets.loader import check_names

JSON_FORMAT, TYPESCRIPT = "json", "typescript"
_CONTENT_TYPES: Mapping[str, tuple[bytes, bytes]] = {
    JSON_FORMAT: (b"content-type", JSON_TEXT.encode("ascii")),
    TYPESCRIPT: (b"content-type", PLAIN_TEXT.encode("ascii")),
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_JSON_TYPES: Mapping[TypeName, str] = {
    "number": "number",
    "boolean": "boolean",
    "date": "string",
    "date-time": "string",
    "time": "string",
    "text": "string",
}
_ANY = ("string", "number", "boolean")
"""JSON types of a column without a known type."""


def writable_names(view: View) -> Sequence[str]:
    """Return the names of the fields that the key can write."""
    return [
        name
        for name, column in view.columns.items()
        if view.may_write(column) and name not in NEVER_STORED
    ]


async def run_worksheets(
    request: Request, admitted: Admitted, target: Target, _asked: Asked
) -> Served:
    """Return the worksheets that the key can see, as JSON.

    Cost: 2 reads, at most once a minute for each spreadsheet.
    """
    state, caller, access = request.state, admitted.caller, target.access
    spreadsheet, catalogue = target.worksheet.spreadsheet, state["catalogue"]
    contents, freshness = await catalogue.read(spreadsheet, key_id=caller.key.id)
    seen = [
        each
        for each in contents.worksheets
        if is_granted(each.title, access.titles, is_only=each.is_only)
    ]
    counts = tuple(
        state["rows"].kept_count(WorksheetId(spreadsheet, each.title), max_age_seconds=KEPT_SECONDS)
        for each in seen
    )
    rights = rights_of(caller)

    def make(contents: Contents) -> Encoded:
        sheets = [_listed(*each, target, rights) for each in zip(seen, counts, strict=True)]
        about = {
            "id": spreadsheet,
            "title": contents.title,
            "locale": contents.locale,
            "timeZone": contents.time_zone,
        }
        return weakly_tagged(msgspec.json.encode({"spreadsheet": about, "sheets": sheets}))

    way = ("worksheets", access.columns, access.titles, rights, counts)
    return Served(await catalogue.answer(contents, way, make), freshness)


def _listed(
    worksheet: Listed, rows: int | None, target: Target, rights: Sequence[Right]
) -> Mapping[str, object]:
    view = worksheet.header.seen_with(target.access.columns)
    has_writable = bool(writable_names(view))
    return {
        "name": worksheet.title,
        "rows": rows,
        "fields": [
            {"name": name, "type": worksheet.type_of(column).name}
            for name, column in view.columns.items()
        ],
        "may": [each for each in rights if has_writable or each in ("read", "delete")],
    }


async def parse_schema(_request: Request, admitted: Admitted) -> Asked:
    """Parse the parameter `format` of a schema. Raises InvalidQuery for an unknown format."""
    asked = single_text(asking_of(admitted.asked), FORMAT) or JSON_FORMAT
    if asked not in _CONTENT_TYPES:
        raise InvalidQuery(f"{FORMAT} of a schema must be {' or '.join(_CONTENT_TYPES)}.")
    return Asked(format=asked)


async def run_schema(request: Request, admitted: Admitted, target: Target, asked: Asked) -> Served:
    """Return the schema of a worksheet. Cost: 2 reads, at most once a minute.

    Raises WorksheetNotFound, NoHeaderRow, and InvalidQuery for a parameter with a field's name.
    """
    caller, columns = admitted.caller, target.access.columns
    catalogue, empty = request.state["catalogue"], request.state["api"].empty_cell
    contents, freshness = await catalogue.read(target.worksheet.spreadsheet, key_id=caller.key.id)
    worksheet = contents.find(target.worksheet)
    check_names(worksheet.header)
    view = worksheet.header.seen_with(columns)
    view.check_parameters(admitted.unknown)
    may_write = not {"create", "update"}.isdisjoint(rights_of(caller))

    def make(_contents: Contents) -> Encoded:
        writable = frozenset(writable_names(view) if may_write else ())
        return weakly_tagged(_FORMATS[asked.format](worksheet, view, writable, empty))

    way = (asked.format, worksheet.title, columns, may_write, empty)
    return Served(await catalogue.answer(contents, way, make), freshness)


def served_schema(request: Request, _target: Target, asked: Asked, served: Served) -> Answer:
    content_type = _CONTENT_TYPES[asked.format]
    return read_answer(request, served, content_type=content_type)


def _json_schema(
    worksheet: Listed, view: View, writable: Collection[str], empty: EmptyCell
) -> bytes:
    properties: dict[str, object] = {}
    for name, column in view.columns.items():
        type_ = worksheet.type_of(column)
        properties[name] = {
            **json_schema_of(type_, empty),
            **({"readOnly": True} if type_.is_computed or name not in writable else {}),
            **({"x-column": column_letters(column)} if view.readable is None else {}),
            **({"x-source": type_.source} if type_.source else {}),
        }
    about = {"$schema": _DIALECT, "title": worksheet.title, "type": "object"}
    return msgspec.json.encode({**about, "properties": properties})


def json_schema_of(type_: ColumnType, empty: EmptyCell) -> dict[str, object]:
    """Return the JSON Schema of a column's typed cells. null is allowed for cells with errors.

    Dates and times are ISO 8601 without an offset.
    """
    schema: dict[str, object] = {"type": [*_json_types(type_), "null"]}
    (only, *others) = type_.names or ("text",)
    if not others and only in ("date", "date-time", "time") and not type_.options:
        schema["format"] = only
    if type_.options:
        schema["enum"] = [*type_.options, None]
    is_plain_text = "string" in _json_types(type_) and len(schema) == 1
    return schema if empty != "" or is_plain_text else {"anyOf": [schema, {"const": ""}]}


def _json_types(type_: ColumnType) -> Sequence[str]:
    return [*dict.fromkeys(_JSON_TYPES[name] for name in type_.names)] or _ANY


def _typescript(
    worksheet: Listed, view: View, writable: Collection[str], empty: EmptyCell
) -> bytes:
    mark = "?" if empty == "omit" else ""
    lines = [
        f"// The typed records of the worksheet {printable_json(worksheet.title)}.",
        f"export interface {_interface_name(worksheet.title)} {{",
    ]
    for name, column in view.columns.items():
        type_ = worksheet.type_of(column)
        read_only = "readonly " if type_.is_computed or name not in writable else ""
        shown = f"{read_only}{printable_json(name)}{mark}"
        lines.append(f"  {shown}: {_type_expression(type_, empty)};")
    return "\n".join([*lines, "}", ""]).encode()


def _type_expression(type_: ColumnType, empty: EmptyCell) -> str:
    """Return the type in TypeScript, such as `number | null`. A date is a string."""
    types = [*map(printable_json, type_.options)] or [*_json_types(type_)]
    if empty == "" and "string" not in types:
        types.append('""')
    return " | ".join(dict.fromkeys([*types, "null"]))


def _interface_name(title: str) -> str:
    """Return a valid TypeScript name from a title, such as `OpenOrders`; never a keyword."""
    plain = "".join(each if f"a{each}".isidentifier() and each != "_" else " " for each in title)
    name = "".join(word[:1].upper() + word[1:] for word in plain.split())
    return name if name.isidentifier() else f"Worksheet{name}"


_FORMATS: Mapping[str, Callable[[Listed, View, Collection[str], EmptyCell], bytes]] = {
    JSON_FORMAT: _json_schema,
    TYPESCRIPT: _typescript,
}
