"""Row endpoints: parse, make one service call, respond."""

from functools import partial
from itertools import chain

from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import check_conditional, check_query
from gateway.access.rates import FRESH_PRICE
from gateway.errors import UnknownField, WorksheetNotFound
from gateway.web.admission import admit
from gateway.web.answers import (
    ENCODERS,
    created_answer,
    listed,
    record_answer,
)
from gateway.web.body import read_fields, read_rows
from gateway.web.cached_response import CachedResponse, read_answer
from gateway.web.head import asks_for_fresh, read_condition
from gateway.web.idempotency import REPLAYED, read_idempotent_request
from gateway.web.lenient_retry import Attempt, note_readings
from gateway.web.parameters import list_asked, row_asked
from gateway.web.path import encode_title, parse_row
from gateway.web.state import State
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.writes import Create, Update


async def list_rows(request: Request[State]) -> CachedResponse:
    admitted = await admit(request, "list")
    caller = admitted.caller
    state: State = request.scope["state"]
    text = admitted.asked
    parse = partial(list_asked, text, caller.plan.max_limit)
    asked = parse()
    query = asked.query
    check_query(caller, uses_where=query.where is not None, uses_order=bool(query.order))
    no_cache = asked.no_cache or asks_for_fresh(admitted.head)
    if no_cache:  # more expensive than the initial charge
        admitted.lease.raise_to(FRESH_PRICE)
    encoder = ENCODERS[state["api"].empty_cell]
    attempt = Attempt(state["title_aliases"], admitted.target, asked, text=text, parse=parse)
    while True:
        try:
            served = await state["rows"].list_rows(
                attempt.target, attempt.asked.query, encoder, no_cache=no_cache
            )
            break
        except (UnknownField, WorksheetNotFound) as error:
            attempt.retry(error)
    if attempt.asked.readings:
        note_readings(attempt.asked.readings)
    return read_answer(admitted.head, served, no_cache=no_cache)


async def read_row(request: Request[State]) -> CachedResponse:
    admitted = await admit(request, "read")
    row = parse_row(request.path_params["row"])
    text = admitted.asked
    state: State = request.scope["state"]
    parse = partial(row_asked, text)
    asked = parse()
    no_cache = asked.no_cache or asks_for_fresh(admitted.head)
    if no_cache:  # more expensive than the initial charge
        admitted.lease.raise_to(FRESH_PRICE)
    encoder = ENCODERS[state["api"].empty_cell]
    attempt = Attempt(state["title_aliases"], admitted.target, asked, text=text, parse=parse)
    while True:
        try:
            served = await state["rows"].read_row(
                attempt.target, row, attempt.asked.keys, encoder, no_cache=no_cache
            )
            break
        except (UnknownField, WorksheetNotFound) as error:
            attempt.retry(error)
    if attempt.asked.readings:
        note_readings(attempt.asked.readings)
    return read_answer(admitted.head, served, no_cache=no_cache)


async def create_rows(request: Request[State]) -> Response:
    admitted = await admit(request, "create")
    state: State = request.scope["state"]
    key_id = admitted.caller.key_id
    body = await read_rows(request, key_id)
    sent = body.rows if body.is_array else body.rows[0]
    idempotent = await read_idempotent_request(request, sent, key_id, row=None)
    attempt = Attempt(state["title_aliases"], admitted.target, None, is_write=True)
    while True:
        identity = None if idempotent is None else idempotent.identity(attempt.target)
        create = Create(rows=body.rows, is_array=body.is_array, identity=identity)
        try:
            settled = await state["rows"].create_rows(attempt.target, create)
            break
        except WorksheetNotFound as error:
            attempt.retry(error)
    headers = _written_headers(settled)
    empty_cell = state["api"].empty_cell
    if body.is_array:
        records = [written.record for written in settled.results]
        return created_answer(records, empty_cell, headers=headers)
    (written,) = settled.results
    title = encode_title(attempt.target.worksheet.title)
    headers |= {"Location": f"/v2/sheets/{title}/{written.row}", "ETag": written.tag}
    return record_answer(written.record, empty_cell, status=201, headers=headers)


async def update_row(request: Request[State]) -> Response:
    admitted = await admit(request, "update")
    state: State = request.scope["state"]
    row = parse_row(request.path_params["row"])
    condition = read_condition(admitted.head)
    check_conditional(admitted.caller, is_conditional=condition is not None)
    key_id = admitted.caller.key_id
    fields = await read_fields(request, key_id)
    idempotent = await read_idempotent_request(request, fields, key_id, row=row)
    attempt = Attempt(state["title_aliases"], admitted.target, None, is_write=True)
    while True:
        identity = None if idempotent is None else idempotent.identity(attempt.target)
        update = Update(row=row, fields=fields, condition=condition, identity=identity)
        try:
            settled = await state["rows"].update_row(attempt.target, update)
            break
        except WorksheetNotFound as error:
            attempt.retry(error)
    (written,) = settled.results
    headers = {**_written_headers(settled), "ETag": written.tag}
    return record_answer(written.record, state["api"].empty_cell, headers=headers)


def _written_headers(settled: Settled) -> dict[str, str]:
    """Headers of a write's answer about its result."""
    ignored = dict.fromkeys(chain.from_iterable([row.ignored for row in settled.results]))
    dropped = {"X-Ignored-Fields": listed(tuple(ignored))} if ignored else {}
    return {**dropped, **REPLAYED} if settled.is_replayed else dropped
