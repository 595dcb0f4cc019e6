"""The calls of the API: name, parameters, and what each one does.

Rules
- An operation is read as a whole before a spreadsheet is looked up, and has no effect if it raises.
- Nothing here waits, so each call is atomic; nothing here knows HTTP but names of parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gateway.emulator.append import Target, append, find_target
from gateway.emulator.batch import edit
from gateway.emulator.display import Rendering
from gateway.emulator.entries import read_entries, require_types
from gateway.emulator.fields import Mask, Schema, cut, read_mask, require_known
from gateway.emulator.message import Message, read_message
from gateway.emulator.metadata import describe
from gateway.emulator.query import ENUMERATIONS, Query, input_option, read_query
from gateway.emulator.refusal import Refusal, unimplemented
from gateway.emulator.reply import Reply
from gateway.emulator.schema import (
    ALL_CLEARED,
    ALL_UPDATED,
    APPENDED,
    CLEARED,
    EDITED,
    SPREADSHEET,
    UPDATED,
    VALUE_RANGES,
    VALUES,
)
from gateway.emulator.sheet_requests import build_sheet
from gateway.emulator.store import Store
from gateway.emulator.values import (
    Write,
    batch_clear,
    batch_get,
    batch_update,
    clear,
    get,
    update,
)
from gateway.emulator.workbook import Workbook, new_sheet

SIZES = ("rowMetadata", "columnMetadata")
READ = ("majorDimension", "valueRenderOption", "dateTimeRenderOption")
WRITE = (
    "valueInputOption",
    "includeValuesInResponse",
    "responseValueRenderOption",
    "responseDateTimeRenderOption",
)
BATCH_BODY = ("data", *WRITE)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request of the API. `account` is the e-mail address it is made as.

    `seen` is what an append that looked for its table before now has found.
    """

    name: str
    spreadsheet_id: str = ""
    range_text: str = ""
    query_string: bytes = b""
    body: bytes = b""
    account: str
    seen: Target | Refusal | None = None


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What a call does: `kind` is the quota it counts on, `schema` what a field mask may name."""

    kind: str
    run: Callable[[Store, Call, Query], Reply]
    parameters: Sequence[str] = ()
    schema: Schema


def execute(store: Store, call: Call) -> object:
    """Carry a call out; its reply, cut by the field mask. Raises Refusal."""
    operation = OPERATIONS[call.name]
    query = read_query(call.query_string, operation.parameters)
    mask = read_mask(query.text("fields")) if query.text("fields") else {}
    require_known(mask, operation.schema)
    return cut(operation.run(store, call, query), mask)


def looked(store: Store, call: Call, *, is_inserting_too: bool) -> Call:
    """The call, knowing where its table is now if it is an append that looks when it arrives.

    One with OVERWRITE does, one with INSERT_ROWS only where told so.
    """
    operation = OPERATIONS[call.name]
    if operation.run is not _append:
        return call
    try:
        query = read_query(call.query_string, operation.parameters)
        if _is_inserting(query) and not is_inserting_too:
            return call
        return replace(call, seen=find_target(store.workbook(call.spreadsheet_id), call.range_text))
    except Refusal as refusal:
        return replace(call, seen=refusal)


def _get_spreadsheet(store: Store, call: Call, query: Query) -> Reply:
    wanted = query.text("fields")
    masked = read_mask(wanted) if wanted else None
    has_data = query.flag("includeGridData") if masked is None else _names_data(masked)
    return describe(
        store.workbook(call.spreadsheet_id),
        account=call.account,
        ranges=query.texts("ranges"),
        has_grid_data=has_data,
    )


def _names_data(mask: Mask) -> bool:
    """A mask makes `includeGridData` irrelevant: data is there if the mask names it."""
    sheets = mask.get("sheets", {})
    for name in SIZES:
        if name in sheets.get("data", {}):
            raise unimplemented(f"'{name}', the sizes of rows or columns")
    return "data" in sheets or "*" in sheets


def _create(store: Store, call: Call, _: Query) -> Reply:
    body = read_message(call.body)
    body.require_known(("properties", "sheets"))
    properties = body.message("properties")
    properties.require_implemented(("title", "locale", "timeZone"))
    workbook = Workbook(
        spreadsheet_id=store.new_id(),
        title=properties.text("title", "Untitled spreadsheet"),
        locale=properties.text("locale", "en_US"),
        time_zone=properties.text("timeZone", "Etc/GMT"),
        sheets=[],
    )
    for wanted in body.messages("sheets"):
        wanted.require_implemented(("properties",))
        sheet = build_sheet(workbook, wanted.message("properties"))
        workbook.require_room(sheet.cell_count)
        workbook.sheets.append(sheet)
    workbook.sheets = workbook.sheets or [new_sheet()]
    store.keep(workbook)
    return describe(workbook, account=call.account)


def _edit(store: Store, call: Call, _: Query) -> Reply:
    body = read_message(call.body)
    draft = store.draft(call.spreadsheet_id)
    reply = edit(draft, body, account=call.account)
    store.keep(draft)
    return reply


def _get(store: Store, call: Call, query: Query) -> Reply:
    dimension, rendering = query.choice("majorDimension"), query.rendering()
    workbook = store.workbook(call.spreadsheet_id)
    return get(workbook, call.range_text, dimension=dimension, rendering=rendering)


def _batch_get(store: Store, call: Call, query: Query) -> Reply:
    dimension, rendering = query.choice("majorDimension"), query.rendering()
    workbook = store.workbook(call.spreadsheet_id)
    return batch_get(workbook, query.texts("ranges"), dimension=dimension, rendering=rendering)


def _append(store: Store, call: Call, query: Query) -> Reply:
    rendering = query.response_rendering()
    is_inserting = _is_inserting(query)
    body = _value_range_body(call)
    write = _read_write(call.range_text, body, query.input_option())
    if isinstance(call.seen, Refusal):
        raise call.seen
    draft = store.draft(call.spreadsheet_id)
    reply = append(
        draft,
        write,
        seen=call.seen,
        is_inserting=is_inserting,
        account=call.account,
        rendering=rendering,
    )
    store.keep(draft)
    return reply


def _is_inserting(query: Query) -> bool:
    return query.choice("insertDataOption") == "INSERT_ROWS"


def _update(store: Store, call: Call, query: Query) -> Reply:
    rendering = query.response_rendering()
    body = _value_range_body(call)
    write = _read_write(call.range_text, body, query.input_option())
    draft = store.draft(call.spreadsheet_id)
    reply = update(draft, write, account=call.account, rendering=rendering)
    store.keep(draft)
    return reply


def _batch_update(store: Store, call: Call, _: Query) -> Reply:
    body = read_message(call.body)
    body.require_known(BATCH_BODY)
    data = body.messages("data")
    for part in data:
        require_types(part)
    option = input_option(_choice(body, "valueInputOption"))
    writes = [_read_write(part.text("range"), part, option) for part in data]
    rendering = None
    if body.flag("includeValuesInResponse"):
        rendering = Rendering(
            value=_choice(body, "responseValueRenderOption") or "FORMATTED_VALUE",
            date_time=_choice(body, "responseDateTimeRenderOption") or "SERIAL_NUMBER",
        )
    draft = store.draft(call.spreadsheet_id)
    reply = batch_update(draft, writes, account=call.account, rendering=rendering)
    store.keep(draft)
    return reply


def _clear(store: Store, call: Call, _: Query) -> Reply:
    read_message(call.body).require_known(())
    draft = store.draft(call.spreadsheet_id)
    reply = clear(draft, call.range_text, account=call.account)
    store.keep(draft)
    return reply


def _batch_clear(store: Store, call: Call, _: Query) -> Reply:
    body = read_message(call.body)
    body.require_known(("ranges",))
    texts = body.texts("ranges")
    draft = store.draft(call.spreadsheet_id)
    reply = batch_clear(draft, texts, account=call.account)
    store.keep(draft)
    return reply


def _value_range_body(call: Call) -> Message:
    """The ValueRange of a body; Google's errors call it `data`."""
    body = read_message(call.body, place="data")
    require_types(body)
    return body


def _read_write(range_text: str, body: Message, option: str) -> Write:
    return Write(range_text=range_text, entries=read_entries(body, option))


def _choice(body: Message, name: str) -> str:
    """An enumeration in a body; "" where it is absent."""
    kind, choices = ENUMERATIONS[name]
    return body.choice(name, kind, ("", *choices))


OPERATIONS: dict[str, Operation] = {
    "spreadsheets.get": Operation(
        kind="read",
        run=_get_spreadsheet,
        parameters=("ranges", "includeGridData"),
        schema=SPREADSHEET,
    ),
    "spreadsheets.create": Operation(kind="write", run=_create, schema=SPREADSHEET),
    "spreadsheets.batchUpdate": Operation(kind="write", run=_edit, schema=EDITED),
    "values.get": Operation(kind="read", run=_get, parameters=READ, schema=VALUES),
    "values.batchGet": Operation(
        kind="read", run=_batch_get, parameters=(*READ, "ranges"), schema=VALUE_RANGES
    ),
    "values.append": Operation(
        kind="write", run=_append, parameters=(*WRITE, "insertDataOption"), schema=APPENDED
    ),
    "values.update": Operation(kind="write", run=_update, parameters=WRITE, schema=UPDATED),
    "values.batchUpdate": Operation(kind="write", run=_batch_update, schema=ALL_UPDATED),
    "values.clear": Operation(kind="write", run=_clear, schema=CLEARED),
    "values.batchClear": Operation(kind="write", run=_batch_clear, schema=ALL_CLEARED),
}
