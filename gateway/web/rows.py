"""Row endpoints: parse, make one service call, respond."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import check_conditional, check_query
from gateway.access.rates import FRESH_PRICE, RateLease
from gateway.web.admission import admit
from gateway.web.answers import (
    ENCODERS,
    created_answer,
    listed,
    record_answer,
)
from gateway.web.body import read_fields, read_rows
from gateway.web.cached_response import CachedResponse, read_answer
from gateway.web.head import head_of
from gateway.web.idempotency import read_idempotent_request, replayed_headers
from gateway.web.lenient_retry import on_worksheet, with_fields
from gateway.web.path import encode_title, parse_row
from gateway.web.preconditions import asks_for_fresh, read_condition
from gateway.web.query_cache import list_asked, row_asked
from gateway.web.state import State
from gateway.worksheets.access import Target
from gateway.worksheets.answers import Served
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
    head = head_of(request.scope)
    no_cache = _charge_if_fresh(admitted.lease, no_cache=asked.no_cache or asks_for_fresh(head))
    encoder = ENCODERS[state["api"].empty_cell]
    rows = state["rows"]

    async def serve(target: Target) -> Served:
        return await with_fields(
            text,
            asked,
            parse,
            lambda it: rows.list_rows(target, it.query, encoder, no_cache=no_cache),
        )

    served = await on_worksheet(state["title_aliases"], admitted.target, serve, is_write=False)
    return read_answer(head, served, no_cache=no_cache)


async def read_row(request: Request[State]) -> CachedResponse:
    admitted = await admit(request, "read")
    row = parse_row(request.path_params["row"])
    text = admitted.asked
    state: State = request.scope["state"]
    parse = partial(row_asked, text)
    asked = parse()
    head = head_of(request.scope)
    no_cache = _charge_if_fresh(admitted.lease, no_cache=asked.no_cache or asks_for_fresh(head))
    encoder = ENCODERS[state["api"].empty_cell]
    rows = state["rows"]

    async def serve(target: Target) -> Served:
        return await with_fields(
            text,
            asked,
            parse,
            lambda it: rows.read_row(target, row, it.keys, encoder, no_cache=no_cache),
        )

    served = await on_worksheet(state["title_aliases"], admitted.target, serve, is_write=False)
    return read_answer(head, served, no_cache=no_cache)


async def create_rows(request: Request[State]) -> Response:
    admitted = await admit(request, "create")
    key_id = admitted.caller.key_id
    body = await read_rows(request, key_id)
    sent = body.rows if body.is_array else body.rows[0]
    idempotent = await read_idempotent_request(request, sent, key_id, row=None)
    title = ""

    async def write(target: Target) -> Settled:
        nonlocal title
        title = target.worksheet.title
        identity = None if idempotent is None else idempotent.identity(target)
        create = Create(rows=body.rows, is_array=body.is_array, identity=identity)
        return await request.state["rows"].create_rows(target, create)

    settled = await on_worksheet(
        request.state["title_aliases"], admitted.target, write, is_write=True
    )
    headers = _written_headers(settled)
    empty_cell = request.state["api"].empty_cell
    if body.is_array:
        records = [written.record for written in settled.results]
        return created_answer(records, empty_cell, headers=headers)
    (written,) = settled.results
    location = f"/v2/sheets/{encode_title(title)}/{written.row}"
    headers |= {"Location": location, "ETag": written.tag}
    return record_answer(written.record, empty_cell, status=201, headers=headers)


async def update_row(request: Request[State]) -> Response:
    admitted = await admit(request, "update")
    row = parse_row(request.path_params["row"])
    condition = read_condition(head_of(request.scope))
    check_conditional(admitted.caller, is_conditional=condition is not None)
    key_id = admitted.caller.key_id
    fields = await read_fields(request, key_id)
    idempotent = await read_idempotent_request(request, fields, key_id, row=row)

    async def write(target: Target) -> Settled:
        identity = None if idempotent is None else idempotent.identity(target)
        update = Update(row=row, fields=fields, condition=condition, identity=identity)
        return await request.state["rows"].update_row(target, update)

    settled = await on_worksheet(
        request.state["title_aliases"], admitted.target, write, is_write=True
    )
    (written,) = settled.results
    headers = {**_written_headers(settled), "ETag": written.tag}
    return record_answer(written.record, request.state["api"].empty_cell, headers=headers)


def _charge_if_fresh(lease: RateLease, *, no_cache: bool) -> bool:
    """Fresh data costs more than the request that asks for it was charged at first."""
    if no_cache:
        lease.raise_to(FRESH_PRICE)
    return no_cache


def _written_headers(settled: Settled) -> dict[str, str]:
    """What is told of a write beside its rows."""
    ignored = dict.fromkeys(name for written in settled.results for name in written.ignored)
    dropped = {"X-Ignored-Fields": listed(tuple(ignored))} if ignored else {}
    return {**dropped, **replayed_headers(is_replayed=settled.is_replayed)}
