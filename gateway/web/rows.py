"""The endpoints of rows: each parses, makes one call to the service, and answers."""

from dataclasses import dataclass

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
from gateway.web.answers import created_answer, listed, page_answer, record_answer
from gateway.web.body import read_fields, read_rows
from gateway.web.conditions import read_condition, unless_known
from gateway.web.credentials import find_credentials
from gateway.web.idempotency import read_ticket, replayed_headers
from gateway.web.parameters import parse_keys, parse_query
from gateway.web.path import decode_title, encode_title, parse_row
from gateway.web.state import State


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """Who calls, and the worksheet that they may use."""

    caller: Caller
    worksheet: WorksheetRef


async def list_rows(request: Request[State]) -> Response:
    admitted = await _admit(request, Operation.READ)
    plan = admitted.caller.plan
    query = parse_query(request.query_params, max_limit=plan.max_limit)
    check_query(admitted.caller, uses_where=query.where is not None, uses_order=bool(query.order))
    page = await request.state["rows"].list_rows(admitted.worksheet, query)
    return unless_known(request, page_answer(page, request.state["api"].empty_cell))


async def read_row(request: Request[State]) -> Response:
    row = parse_row(request.path_params["row"])
    admitted = await _admit(request, Operation.READ)
    keys = parse_keys(request.query_params)
    found = await request.state["rows"].read_row(admitted.worksheet, row, keys)
    headers = {"ETag": found.tag}
    return unless_known(
        request, record_answer(found.record, request.state["api"].empty_cell, headers=headers)
    )


async def create_rows(request: Request[State]) -> Response:
    admitted = await _admit(request, Operation.WRITE)
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
    admitted = await _admit(request, Operation.WRITE)
    condition = read_condition(request)
    check_conditional(admitted.caller, is_conditional=condition is not None)
    fields = await read_fields(request)
    ref = admitted.worksheet
    ticket = read_ticket(request, ref, fields, is_create=False)
    update = Update(row=row, fields=fields, condition=condition, ticket=ticket)
    settled = await request.state["rows"].update_row(ref, update)
    (written,) = settled.results
    headers = {**_written_headers(settled), "ETag": written.tag}
    return record_answer(written.record, request.state["api"].empty_cell, headers=headers)


async def _admit(request: Request[State], operation: Operation) -> Admitted:
    """Find out who calls and whether they may; nothing is asked of Google before."""
    title = decode_title(request.path_params["title"])
    credentials = find_credentials(
        request.headers, request.query_params, is_write=operation is Operation.WRITE
    )
    caller = await request.state["gatekeeper"].identify(credentials.key)
    event = current_event()
    if event is not None:
        event.key_id, event.worksheet = caller.key_id, title
    check_origin(caller, request.headers.get("origin"))
    worksheet = authorise(
        caller, spreadsheet=credentials.spreadsheet, worksheet=title, operation=operation
    )
    if event is not None:
        event.spreadsheet = worksheet.spreadsheet
    return Admitted(caller=caller, worksheet=worksheet)


def _written_headers(settled: Settled) -> dict[str, str]:
    """What is told of a write beside its rows."""
    ignored = dict.fromkeys(name for written in settled.results for name in written.ignored)
    dropped = {"X-Ignored-Fields": listed(tuple(ignored))} if ignored else {}
    return {**dropped, **replayed_headers(is_replayed=settled.is_replayed)}
