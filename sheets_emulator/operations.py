"""API operations: name, parameters and implementation.

Rules:
- An operation parses its request completely before it looks up a spreadsheet. An operation that
  raises has no effect.
- Nothing here awaits, so each call is atomic. This module knows no HTTP, except parameter names.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sheets_emulator.creation import build_spreadsheet, copy_sheet
from sheets_emulator.edits.batch import edit
from sheets_emulator.protocol.definition import method
from sheets_emulator.protocol.fields import Mask, cut, read_mask, require_known
from sheets_emulator.protocol.message import Message
from sheets_emulator.protocol.payload import read_body
from sheets_emulator.protocol.query import Query, input_option, read_query
from sheets_emulator.protocol.rendering import Rendering
from sheets_emulator.refusal import Refusal, invalid
from sheets_emulator.reply import Reply
from sheets_emulator.resources.data_filter import read_filters
from sheets_emulator.resources.metadata import describe
from sheets_emulator.resources.metadata_search import get_metadata, search_metadata
from sheets_emulator.resources.places import find_places
from sheets_emulator.state.store import Store
from sheets_emulator.values.append import Target, append, find_target
from sheets_emulator.values.by_filter import (
    batch_clear_by_filter,
    batch_get_by_filter,
    batch_update_by_filter,
)
from sheets_emulator.values.entries import read_entries
from sheets_emulator.values.ranges import (
    Write,
    batch_clear,
    batch_get,
    batch_update,
    clear,
    get,
    update,
)

# Google's name of the body in errors, if the body is not the whole request.
BODIES = {
    "spreadsheets.create": "spreadsheet",
    "values.append": "data",
    "values.update": "data",
}


@dataclass(frozen=True, kw_only=True)
class Call:
    """A parsed request of the API.

    `account` is the e-mail address of a service account, or of the user for whom it acts. `project`
    is the developer project that uses the API. `number` is the ID of a worksheet or of metadata in
    the path. `seen` is the result of an append's earlier search for its table.
    """

    name: str
    spreadsheet_id: str = ""
    range_text: str = ""
    number: str = ""
    query_string: bytes = b""
    body: bytes = b""
    account: str
    project: str
    seen: Target | Refusal | None = None


@dataclass(frozen=True, kw_only=True)
class Operation:
    """Implementation of a call. `kind` is "read" or "write", for the limits."""

    kind: str
    run: Callable[[Store, Call, Query], Reply]


def execute(store: Store, call: Call) -> object:
    """Execute a call and return the reply, reduced to the field mask. Raises Refusal."""
    operation = OPERATIONS[call.name]
    query = read_query(call.query_string, call.name)
    mask = read_mask(query.text("fields")) if query.text("fields") else {}
    definition = method(call.name)
    require_known(mask, definition.response)
    if definition.request is None and call.body:
        raise invalid(f"A {call.name} takes no body.")
    return cut(operation.run(store, call, query), mask)


def with_seen_table(store: Store, call: Call, *, is_inserting_too: bool) -> Call:
    """Search the table of an append and add the result to the call.

    Only appends with OVERWRITE are searched, and with `is_inserting_too` appends with INSERT_ROWS.
    Other calls are returned unchanged.
    """
    operation = OPERATIONS[call.name]
    if operation.run is not _append:
        return call
    try:
        query = read_query(call.query_string, call.name)
        if _is_inserting(query) and not is_inserting_too:
            return call
        return replace(call, seen=find_target(store.workbook(call.spreadsheet_id), call.range_text))
    except Refusal as refusal:
        return replace(call, seen=refusal)


def _get_spreadsheet(store: Store, call: Call, query: Query) -> Reply:
    masked = _mask(query)
    has_data = query.flag("includeGridData") if masked is None else _names_data(masked)
    ranges = query.texts("ranges")
    workbook = store.workbook(call.spreadsheet_id, call.account)
    return describe(
        store.results(workbook),
        account=call.account,
        places=find_places(workbook, ranges) if ranges else None,
        has_grid_data=has_data,
    )


def _get_by_filter(store: Store, call: Call, query: Query) -> Reply:
    body = _body(call)
    masked = _mask(query)
    has_data = body.flag("includeGridData") if masked is None else _names_data(masked)
    workbook = store.workbook(call.spreadsheet_id, call.account)
    filters = read_filters(workbook, body)
    return describe(
        store.results(workbook),
        account=call.account,
        places=[place for each in filters for place in each.places(workbook, call.account)],
        has_grid_data=has_data,
    )


def _mask(query: Query) -> Mask | None:
    wanted = query.text("fields")
    return read_mask(wanted) if wanted else None


def _names_data(mask: Mask) -> bool:
    """True if the field mask includes grid data. With a mask, `includeGridData` has no effect."""
    sheets = mask.get("sheets", {"data": {}} if "*" in mask else {})
    return "data" in sheets or "*" in sheets or ("sheets" in mask and not sheets)


def _names_data_after(mask: Mask) -> bool:
    """True if the field mask of a batchUpdate includes grid data of the updated spreadsheet."""
    updated = mask.get("updatedSpreadsheet")
    return "*" in mask if updated is None else not updated or _names_data(updated)


def _create(store: Store, call: Call, _: Query) -> Reply:
    workbook = build_spreadsheet(store.new_id(), _body(call), account=call.account)
    store.keep(workbook)
    return describe(store.results(workbook), account=call.account)


def _copy_to(store: Store, call: Call, _: Query) -> Reply:
    body = _body(call)
    source = store.workbook(call.spreadsheet_id, call.account)
    draft = store.draft(body.text("destinationSpreadsheetId"), call.account)
    reply = copy_sheet(source, call.number, draft)
    store.keep(draft)
    return reply


def _edit(store: Store, call: Call, query: Query) -> Reply:
    body = _body(call)
    masked = _mask(query)
    draft = store.draft(call.spreadsheet_id, call.account)
    reply = edit(
        draft,
        body,
        account=call.account,
        repeatable_metadata_ids=store.repeatable_metadata_ids,
        has_grid_data=None if masked is None else _names_data_after(masked),
    )
    store.keep(draft)
    return reply


def _batch_get_by_filter(store: Store, call: Call, _: Query) -> Reply:
    body = _body(call)
    results = store.results(store.workbook(call.spreadsheet_id, call.account))
    return batch_get_by_filter(
        results,
        read_filters(results.workbook, body),
        account=call.account,
        dimension=body.text("majorDimension", "ROWS"),
        rendering=_rendering(body, "valueRenderOption", "dateTimeRenderOption"),
    )


def _batch_update_by_filter(store: Store, call: Call, _: Query) -> Reply:
    body = _body(call)
    option = input_option(body.text("valueInputOption"))
    writes = [
        (part.message("dataFilter"), read_entries(part, option, prefix=f"Invalid data[{index}]: "))
        for index, part in enumerate(body.messages("data"))
    ]
    rendering = _response_rendering(body)
    draft = store.draft(call.spreadsheet_id, call.account)
    reply = batch_update_by_filter(draft, writes, account=call.account, rendering=rendering)
    store.keep(draft)
    return reply


def _batch_clear_by_filter(store: Store, call: Call, _: Query) -> Reply:
    body = _body(call)
    draft = store.draft(call.spreadsheet_id, call.account)
    reply = batch_clear_by_filter(draft, read_filters(draft, body), account=call.account)
    store.keep(draft)
    return reply


def _get_metadata(store: Store, call: Call, _: Query) -> Reply:
    return get_metadata(
        store.workbook(call.spreadsheet_id, call.account), call.number, account=call.account
    )


def _search_metadata(store: Store, call: Call, _: Query) -> Reply:
    body = _body(call)
    return search_metadata(
        store.workbook(call.spreadsheet_id, call.account), body, account=call.account
    )


def _get(store: Store, call: Call, query: Query) -> Reply:
    dimension, rendering = query.choice("majorDimension"), query.rendering()
    results = store.results(store.workbook(call.spreadsheet_id, call.account))
    return get(results, call.range_text, dimension=dimension, rendering=rendering)


def _batch_get(store: Store, call: Call, query: Query) -> Reply:
    dimension, rendering = query.choice("majorDimension"), query.rendering()
    results = store.results(store.workbook(call.spreadsheet_id, call.account))
    return batch_get(results, query.texts("ranges"), dimension=dimension, rendering=rendering)


def _append(store: Store, call: Call, query: Query) -> Reply:
    rendering = query.response_rendering()
    is_inserting = _is_inserting(query)
    body = _body(call)
    write = _read_write(call.range_text, body, query.input_option())
    draft = store.draft(call.spreadsheet_id, call.account)
    if isinstance(call.seen, Refusal):
        raise call.seen
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
    body = _body(call)
    write = _read_write(call.range_text, body, query.input_option())
    draft = store.draft(call.spreadsheet_id, call.account)
    reply = update(draft, write, account=call.account, rendering=rendering)
    store.keep(draft)
    return reply


def _batch_update(store: Store, call: Call, _: Query) -> Reply:
    body = _body(call)
    option = input_option(body.text("valueInputOption"))
    writes = [
        _read_write(part.text("range"), part, option, prefix=f"Invalid data[{index}]: ")
        for index, part in enumerate(body.messages("data"))
    ]
    rendering = _response_rendering(body)
    draft = store.draft(call.spreadsheet_id, call.account)
    reply = batch_update(draft, writes, account=call.account, rendering=rendering)
    store.keep(draft)
    return reply


def _clear(store: Store, call: Call, _: Query) -> Reply:
    _body(call)
    draft = store.draft(call.spreadsheet_id, call.account)
    reply = clear(draft, call.range_text, account=call.account)
    store.keep(draft)
    return reply


def _batch_clear(store: Store, call: Call, _: Query) -> Reply:
    body = _body(call)
    texts = body.texts("ranges")
    draft = store.draft(call.spreadsheet_id, call.account)
    reply = batch_clear(draft, texts, account=call.account)
    store.keep(draft)
    return reply


def _body(call: Call) -> Message:
    schema = str(method(call.name).request)
    return read_body(call.body, schema, place=BODIES.get(call.name, ""))


def _rendering(body: Message, value: str, date_time: str) -> Rendering:
    return Rendering(
        value=body.text(value, "FORMATTED_VALUE"), date_time=body.text(date_time, "SERIAL_NUMBER")
    )


def _response_rendering(body: Message) -> Rendering | None:
    """Return the rendering of the values in a write's answer, or None if there are no values."""
    if not body.flag("includeValuesInResponse"):
        return None
    return _rendering(body, "responseValueRenderOption", "responseDateTimeRenderOption")


def _read_write(range_text: str, body: Message, option: str, *, prefix: str = "") -> Write:
    return Write(range_text=range_text, entries=read_entries(body, option, prefix=prefix))


OPERATIONS: dict[str, Operation] = {
    "spreadsheets.get": Operation(kind="read", run=_get_spreadsheet),
    "spreadsheets.getByDataFilter": Operation(kind="read", run=_get_by_filter),
    "spreadsheets.create": Operation(kind="write", run=_create),
    "spreadsheets.sheets.copyTo": Operation(kind="write", run=_copy_to),
    "spreadsheets.batchUpdate": Operation(kind="write", run=_edit),
    "developerMetadata.get": Operation(kind="read", run=_get_metadata),
    "developerMetadata.search": Operation(kind="read", run=_search_metadata),
    "values.get": Operation(kind="read", run=_get),
    "values.batchGet": Operation(kind="read", run=_batch_get),
    "values.append": Operation(kind="write", run=_append),
    "values.update": Operation(kind="write", run=_update),
    "values.batchUpdate": Operation(kind="write", run=_batch_update),
    "values.clear": Operation(kind="write", run=_clear),
    "values.batchClear": Operation(kind="write", run=_batch_clear),
    "values.batchGetByDataFilter": Operation(kind="read", run=_batch_get_by_filter),
    "values.batchUpdateByDataFilter": Operation(kind="write", run=_batch_update_by_filter),
    "values.batchClearByDataFilter": Operation(kind="write", run=_batch_clear_by_filter),
}
