"""Endpoints of deletes and of writes to several rows: parse, make one service call, respond.

Rules
- What is not an operation for a request gets the answer of a missing method: a delete without the
  right, before its key is charged, and a `PATCH` that has neither a filter nor a list.
- `If-Match` is the state of one row. A write to several rows refuses it, and is refused on a plan
  that requires it. `*` is any state of existing rows: only an upsert, which may create rows,
  refuses it.
"""

from collections.abc import Callable
from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import (
    check_conditional,
    check_filter,
    check_unconditional,
    may_delete,
)
from gateway.access.rates import FRESH_PRICE
from gateway.errors import InvalidRequest, UnknownField, WorksheetNotFound
from gateway.table.table import FIRST_DATA_ROW
from gateway.table.view import ROW_INDEX
from gateway.telemetry.events import note_reading
from gateway.web.admission import Admitted
from gateway.web.answers import count_answer, empty_answer, rows_answer, written_headers
from gateway.web.body import peek_list, read_fields, read_updates
from gateway.web.conflict import read_upsert
from gateway.web.filter import FilterAsked, filter_asked, filter_spelling
from gateway.web.head import parse_row, read_condition
from gateway.web.idempotency import IdempotentRequest, read_idempotent_request
from gateway.web.operations import ON_CONFLICT, WHERE
from gateway.web.parameters import decoded, sift
from gateway.web.prefer import (
    RESOLUTIONS,
    applied_max_affected,
    applied_resolution,
    preferred_max_affected,
    preferred_resolution,
)
from gateway.web.rows import Attempt, create_rows
from gateway.web.state import State
from gateway.worksheets.access import Target
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.refusal import row_not_found
from gateway.worksheets.writes import Fields, Write, WriteIdentity

CREATED = "created"
"""Member of an upserted row: whether it is new."""


async def post_rows(request: Request[State]) -> Response:
    """A create, or with `on_conflict` an upsert."""
    return await (upsert_rows if _is_given(request, ON_CONFLICT) else create_rows)(request)


async def patch_rows(request: Request[State]) -> Response:
    """An update by filter, or of the rows of a list."""
    if _is_given(request, WHERE):
        return await update_where(request)
    is_list, whole = await peek_list(request)
    if not is_list:
        raise HTTPException(405)
    return await update_rows(whole)


async def update_rows(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "update_rows")
    _check_no_condition(admitted)
    key_id = admitted.caller.key_id
    rows = await read_updates(request, key_id)
    sent = [{ROW_INDEX: row, **fields} for row, fields in rows]
    idempotent = await read_idempotent_request(request, sent, key_id, row=None)
    attempt = Attempt(state["title_aliases"], admitted.target, None, is_write=True)
    while True:
        update = Write.update_rows(
            rows=rows, identity=_identity(idempotent, attempt.target), unknown=admitted.unknown
        )
        try:
            settled = await state["rows"].write(attempt.target, update)
            break
        except WorksheetNotFound as error:
            attempt.retry(error)
    records = [written.record for written in settled.results]
    return rows_answer(records, state["api"].empty_cell, headers=written_headers(settled))


async def update_where(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "update_where")
    asked = await _asked_filter(admitted)
    preferred = preferred_max_affected(admitted.head)
    fields = await read_fields(request, admitted.caller.key_id)
    return await _write_where(request, admitted, asked, preferred, fields)


async def delete_where(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    if not await state["admission"].has_right(request, may_delete):
        raise HTTPException(405)
    admitted = await state["admission"].admit(request, "delete_where")
    asked = await _asked_filter(admitted)
    preferred = preferred_max_affected(admitted.head)
    return await _write_where(request, admitted, asked, preferred, None)


async def delete_row(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    if not await state["admission"].has_right(request, may_delete):
        raise HTTPException(405)
    admitted = await state["admission"].admit(request, "delete")
    row = parse_row(request.path_params["row"])
    condition = read_condition(admitted.head)
    check_conditional(admitted.caller, condition, verb="delete")
    if row < FIRST_DATA_ROW:
        raise row_not_found(row)
    idempotent = await read_idempotent_request(request, {}, admitted.caller.key_id, row=row)
    attempt = Attempt(state["title_aliases"], admitted.target, None, is_write=True)
    while True:
        delete = Write.delete(
            row=row,
            condition=condition,
            identity=_identity(idempotent, attempt.target),
            unknown=admitted.unknown,
        )
        try:
            settled = await state["rows"].write(attempt.target, delete)
            break
        except WorksheetNotFound as error:
            attempt.retry(error)
    return empty_answer(headers=written_headers(settled))


async def upsert_rows(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "upsert")
    _check_no_condition(admitted, may_create=True)
    await admitted.lease.raise_to(FRESH_PRICE)
    resolution = preferred_resolution(admitted.head)
    merges = resolution is None or RESOLUTIONS[resolution]
    key_id = admitted.caller.key_id
    body = await read_upsert(request, key_id, admitted.asked)
    sent = body.rows if body.is_array else body.rows[0]
    idempotent = await read_idempotent_request(
        request, sent, key_id, row=None, asked=[*body.keys, merges]
    )
    attempt = Attempt(state["title_aliases"], admitted.target, None, is_write=True)
    while True:
        upsert = Write.upsert(
            keys=body.keys,
            rows=body.rows,
            merges=merges,
            is_array=body.is_array,
            identity=_identity(idempotent, attempt.target),
            unknown=admitted.unknown,
        )
        try:
            settled = await state["rows"].write(attempt.target, upsert)
            break
        except WorksheetNotFound as error:
            attempt.retry(error)
    records = [written.record for written in settled.results]
    return rows_answer(
        records,
        state["api"].empty_cell,
        status=201 if all(record[CREATED] is True for record in records) else 200,
        headers={**written_headers(settled), **applied_resolution(resolution)},
    )


async def _write_where(
    request: Request[State],
    admitted: Admitted,
    asked: FilterAsked,
    preferred: int | None,
    fields: Fields | None,
) -> Response:
    """Write these fields to all rows that match, or delete the rows."""
    state: State = request.scope["state"]
    caller, text = admitted.caller, admitted.asked
    make: Callable[..., Write]
    make = Write.delete_where if fields is None else partial(Write.update_where, fields=fields)
    limits = (caller.plan.max_affected, asked.max_affected, preferred)
    max_rows = min(limit for limit in limits if limit is not None)
    idempotent = await read_idempotent_request(
        request, fields or {}, caller.key_id, row=None, asked=filter_spelling(text)
    )
    attempt = Attempt(
        state["title_aliases"],
        admitted.target,
        asked,
        is_write=True,
        text=text,
        parse=partial(filter_asked, text),
    )
    while True:
        write = make(
            where=attempt.asked.where,
            max_rows=max_rows,
            identity=_identity(idempotent, attempt.target),
            unknown=admitted.unknown,
        )
        try:
            settled = await state["rows"].write(attempt.target, write)
            break
        except (UnknownField, WorksheetNotFound) as error:
            attempt.retry(error)
    for reading in attempt.asked.readings:
        note_reading(reading)
    return _counted(settled, preferred)


def _counted(settled: Settled, preferred: int | None) -> Response:
    rows = [written.row for written in settled.results]
    headers = {**written_headers(settled), **applied_max_affected(preferred)}
    return count_answer(rows, headers=headers)


async def _asked_filter(admitted: Admitted) -> FilterAsked:
    """The filter of a write, if the caller may write by filter: its rows are read anew."""
    check_filter(admitted.caller)
    _check_no_condition(admitted)
    await admitted.lease.raise_to(FRESH_PRICE)
    return filter_asked(admitted.asked)


def _check_no_condition(admitted: Admitted, *, may_create: bool = False) -> None:
    """Refuse a write to several rows that has a condition, or whose plan requires one."""
    check_unconditional(admitted.caller)
    condition = read_condition(admitted.head)
    if condition is not None and (may_create or not condition.is_any):
        raise InvalidRequest(
            "If-Match is the state of one row, and this request writes to several. Leave it out, "
            "or send a request for each row, with its ETag."
        )


def _identity(idempotent: IdempotentRequest | None, target: Target) -> WriteIdentity | None:
    return None if idempotent is None else idempotent.identity(target)


def _is_given(request: Request[State], name: str) -> bool:
    """True if a request has this parameter, or a wrong one, which its admission refuses."""
    if not request.scope["query_string"]:
        return False
    sifted = sift(request.scope["query_string"])
    given = (each.partition("[")[0] for each in decoded(sifted.asked))
    return bool(sifted.refusal) or name in given
