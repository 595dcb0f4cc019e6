"""The endpoints of rows: each parses, makes one call to the service, and answers."""

from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import check_conditional, check_query
from gateway.access.rates import FRESH_PRICE, Visit
from gateway.service.idempotency import Settled
from gateway.service.writes import Create, Update
from gateway.web.admission import admit
from gateway.web.answers import (
    ENCODERS,
    created_answer,
    listed,
    record_answer,
)
from gateway.web.body import read_fields, read_rows
from gateway.web.conditions import asks_for_fresh, read_condition
from gateway.web.head import head_of
from gateway.web.idempotency import read_ticket, replayed_headers
from gateway.web.kept_answer import KeptAnswer, read_answer
from gateway.web.kept_queries import list_asked, row_asked
from gateway.web.path import encode_title, parse_row
from gateway.web.state import State


async def list_rows(request: Request[State]) -> KeptAnswer:
    admitted = await admit(request, "list")
    caller, state = admitted.caller, request.state
    asked = list_asked(admitted.asked, max_limit=caller.plan.max_limit)
    query = asked.query
    check_query(caller, uses_where=query.where is not None, uses_order=bool(query.order))
    head = head_of(request.scope)
    no_cache = _charge_if_fresh(admitted.visit, no_cache=asked.no_cache or asks_for_fresh(head))
    encoder = ENCODERS[state["api"].empty_cell]
    served = await state["rows"].list_rows(admitted.worksheet, query, encoder, no_cache=no_cache)
    return read_answer(head, served, no_cache=no_cache)


async def read_row(request: Request[State]) -> KeptAnswer:
    admitted = await admit(request, "read")
    row = parse_row(request.path_params["row"])
    ref, state = admitted.worksheet, request.state
    asked = row_asked(admitted.asked)
    head = head_of(request.scope)
    no_cache = _charge_if_fresh(admitted.visit, no_cache=asked.no_cache or asks_for_fresh(head))
    encoder = ENCODERS[state["api"].empty_cell]
    served = await state["rows"].read_row(ref, row, asked.keys, encoder, no_cache=no_cache)
    return read_answer(head, served, no_cache=no_cache)


async def create_rows(request: Request[State]) -> Response:
    admitted = await admit(request, "create")
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
    admitted = await admit(request, "update")
    row = parse_row(request.path_params["row"])
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


def _charge_if_fresh(visit: Visit, *, no_cache: bool) -> bool:
    """Fresh data costs more than the request that asks for it was charged."""
    if no_cache:
        visit.charge(FRESH_PRICE - 1)
    return no_cache


def _written_headers(settled: Settled) -> dict[str, str]:
    """What is told of a write beside its rows."""
    ignored = dict.fromkeys(name for written in settled.results for name in written.ignored)
    dropped = {"X-Ignored-Fields": listed(tuple(ignored))} if ignored else {}
    return {**dropped, **replayed_headers(is_replayed=settled.is_replayed)}
