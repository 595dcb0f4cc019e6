"""The endpoints of rows: each parses, makes one call to the service, and answers."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import Caller, Operation, authorise, check_origin, check_query
from gateway.observe import current_event
from gateway.service.worksheet import WorksheetRef
from gateway.web.answers import listed, page_answer, record_answer
from gateway.web.body import read_fields
from gateway.web.credentials import find_credentials
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
    return page_answer(page, request.state["api"].empty_cell)


async def read_row(request: Request[State]) -> Response:
    row = parse_row(request.path_params["row"])
    admitted = await _admit(request, Operation.READ)
    keys = parse_keys(request.query_params)
    record = await request.state["rows"].read_row(admitted.worksheet, row, keys)
    return record_answer(record, request.state["api"].empty_cell)


async def create_row(request: Request[State]) -> Response:
    admitted = await _admit(request, Operation.WRITE)
    fields = await read_fields(request)
    written = await request.state["rows"].create_row(admitted.worksheet, fields)
    location = f"/v2/sheets/{encode_title(admitted.worksheet.title)}/{written.row}"
    headers = {"Location": location, **_ignored(written.ignored)}
    empty_cell = request.state["api"].empty_cell
    return record_answer(written.record, empty_cell, status=201, headers=headers)


async def update_row(request: Request[State]) -> Response:
    row = parse_row(request.path_params["row"])
    admitted = await _admit(request, Operation.WRITE)
    fields = await read_fields(request)
    written = await request.state["rows"].update_row(admitted.worksheet, row, fields)
    headers = _ignored(written.ignored)
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


def _ignored(names: tuple[str, ...]) -> dict[str, str]:
    return {"X-Ignored-Fields": listed(names)} if names else {}
