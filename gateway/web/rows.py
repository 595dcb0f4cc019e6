"""The endpoints of rows: each parses, makes one call to the service, and answers."""

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import (
    Caller,
    Operation,
    authorise,
    check_conditional,
    check_origin,
    check_query,
)
from gateway.observe import current_event
from gateway.service.idempotency import Settled
from gateway.service.worksheet import WorksheetRef
from gateway.service.writes import Create, Update
from gateway.tallies import Kind
from gateway.web.answers import (
    ENCODERS,
    created_answer,
    listed,
    record_answer,
)
from gateway.web.body import read_fields, read_rows
from gateway.web.conditions import asks_for_fresh, read_condition
from gateway.web.credentials import find_credentials
from gateway.web.head import head_of
from gateway.web.idempotency import read_ticket, replayed_headers
from gateway.web.kept_answer import KeptAnswer, read_answer
from gateway.web.kept_queries import list_asked, row_asked
from gateway.web.path import decode_title, encode_title, parse_row
from gateway.web.query_string import sift
from gateway.web.state import State

_OPERATIONS: Mapping[Kind, Operation] = {
    "list": Operation.READ,
    "read": Operation.READ,
    "create": Operation.WRITE,
    "update": Operation.WRITE,
}


class Admitted(msgspec.Struct, frozen=True):
    """Who calls, and the worksheet that they may use."""

    caller: Caller
    worksheet: WorksheetRef
    asked: bytes
    """The parameters that reads know, encoded as they came."""


async def list_rows(request: Request[State]) -> KeptAnswer:
    admitted = await _admit(request, "list")
    caller, state = admitted.caller, request.state
    asked = list_asked(admitted.asked, max_limit=caller.plan.max_limit)
    query = asked.query
    check_query(caller, uses_where=query.where is not None, uses_order=bool(query.order))
    head = head_of(request.scope)
    no_cache = asked.no_cache or asks_for_fresh(head)
    encoder = ENCODERS[state["api"].empty_cell]
    served = await state["rows"].list_rows(admitted.worksheet, query, encoder, no_cache=no_cache)
    return read_answer(head, served, no_cache=no_cache)


async def read_row(request: Request[State]) -> KeptAnswer:
    row = parse_row(request.path_params["row"])
    admitted = await _admit(request, "read")
    ref, state = admitted.worksheet, request.state
    asked = row_asked(admitted.asked)
    head = head_of(request.scope)
    no_cache = asked.no_cache or asks_for_fresh(head)
    encoder = ENCODERS[state["api"].empty_cell]
    served = await state["rows"].read_row(ref, row, asked.keys, encoder, no_cache=no_cache)
    return read_answer(head, served, no_cache=no_cache)


async def create_rows(request: Request[State]) -> Response:
    admitted = await _admit(request, "create")
    body = await read_rows(request)
    ref = admitted.worksheet
    sent = body.rows if body.is_array else body.rows[0]
    ticket = read_ticket(request, ref, sent, is_create=True)
    create = Create(rows=body.rows, is_array=body.is_array, ticket=ticket)
    settled = await request.state["rows"].create_rows(ref, create)
    headers = _written_headers(settled)
    empty_cell = request.state["api"].empty_cell
    if body.is_array:
        records = [written.record for written in settled.results]
        return created_answer(records, empty_cell, headers=headers)
    (written,) = settled.results
    location = f"/v2/sheets/{encode_title(ref.title)}/{written.row}"
    headers |= {"Location": location, "ETag": written.tag}
    return record_answer(written.record, empty_cell, status=201, headers=headers)


async def update_row(request: Request[State]) -> Response:
    row = parse_row(request.path_params["row"])
    admitted = await _admit(request, "update")
    condition = read_condition(head_of(request.scope))
    check_conditional(admitted.caller, is_conditional=condition is not None)
    fields = await read_fields(request)
    ref = admitted.worksheet
    ticket = read_ticket(request, ref, fields, is_create=False)
    update = Update(row=row, fields=fields, condition=condition, ticket=ticket)
    settled = await request.state["rows"].update_row(ref, update)
    (written,) = settled.results
    headers = {**_written_headers(settled), "ETag": written.tag}
    return record_answer(written.record, request.state["api"].empty_cell, headers=headers)


async def _admit(request: Request[State], kind: Kind) -> Admitted:
    """Find out who calls and whether they may; nothing is asked of Google before."""
    event = current_event()
    if event is not None:
        event.kind = kind
    title = decode_title(request.path_params["title"])
    head = head_of(request.scope)
    parameters = sift(request.scope["query_string"])
    operation = _OPERATIONS[kind]
    is_write = operation is Operation.WRITE
    credentials = find_credentials(head, parameters.credentials, is_write=is_write)
    caller = await request.state["gatekeeper"].identify(credentials.key)
    if event is not None:
        event.key_id, event.worksheet = caller.key_id, title
    check_origin(caller, head.first(b"origin"))
    worksheet = authorise(
        caller, spreadsheet=credentials.spreadsheet, worksheet=title, operation=operation
    )
    if event is not None:
        event.spreadsheet = worksheet.spreadsheet
    return Admitted(caller, worksheet, parameters.asked)


def _written_headers(settled: Settled) -> dict[str, str]:
    """What is told of a write beside its rows."""
    ignored = dict.fromkeys(name for written in settled.results for name in written.ignored)
    dropped = {"X-Ignored-Fields": listed(tuple(ignored))} if ignored else {}
    return {**dropped, **replayed_headers(is_replayed=settled.is_replayed)}
