"""Endpoints of rows: parse, make one service call, respond.

Rules
- Lenient decoding: the plain reading comes first; only a missing field or worksheet allows another.
  If that fails too, the first error counts.
- What is not an operation for a request gets the answer of a missing method: a delete without the
  right, before its key is charged, and a `PATCH` that has neither a filter nor a list.
- `If-Match` is the state of one row. A write to several rows refuses it, and is refused on a plan
  that requires it. `*` is any state of existing rows: only an upsert, which may create rows,
  refuses it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import (
    check_conditional,
    check_filter,
    check_query,
    check_unconditional,
    may_delete,
)
from gateway.access.rates import FRESH_PRICE
from gateway.errors import InvalidQuery, InvalidRequest, UnknownField, WorksheetNotFound
from gateway.table.header import ROW_INDEX
from gateway.table.table import FIRST_DATA_ROW
from gateway.telemetry.events import note_reading
from gateway.web.admission import Admitted
from gateway.web.answers import (
    ENCODERS,
    CachedResponse,
    count_answer,
    created_answer,
    empty_answer,
    read_answer,
    record_answer,
    rows_answer,
    written_headers,
)
from gateway.web.body import peek_list, read_fields, read_rows, read_updates
from gateway.web.conflict import read_upsert
from gateway.web.filter import FilterAsked, filter_asked, filter_spelling
from gateway.web.head import asks_for_fresh, encode_title, parse_row, read_condition
from gateway.web.idempotency import IdempotentRequest, read_idempotent_request
from gateway.web.lenient import is_escaped
from gateway.web.operations import ON_CONFLICT, WHERE
from gateway.web.parameters import PLAIN, Leniency, decoded, list_asked, row_asked, sift
from gateway.web.prefer import (
    RESOLUTIONS,
    applied_max_affected,
    applied_resolution,
    preferred_max_affected,
    preferred_resolution,
)
from gateway.web.state import State
from gateway.web.title_aliases import TitleAlias, TitleAliases, not_found_by
from gateway.worksheets.access import Target
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.refusal import row_not_found
from gateway.worksheets.writes import Fields, Write, WriteIdentity

A = TypeVar("A")


async def list_rows(request: Request[State]) -> CachedResponse:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "list")
    caller = admitted.caller
    text = admitted.asked
    parse = partial(list_asked, text, caller.plan.max_limit)
    asked = parse()
    query = asked.query
    uses_order = bool(query.order) or query.whole_order is not None
    check_query(caller, uses_where=query.where is not None, uses_order=uses_order)
    no_cache = asked.no_cache or asks_for_fresh(admitted.head)
    if no_cache:  # more expensive than the initial charge
        await admitted.lease.raise_to(FRESH_PRICE)
    encoder = ENCODERS[state["api"].empty_cell]
    attempt = Attempt(state["title_aliases"], admitted.target, asked, text=text, parse=parse)
    while True:
        try:
            served = await state["rows"].list_rows(
                attempt.target,
                attempt.asked.query,
                encoder,
                no_cache=no_cache,
                unknown=admitted.unknown,
            )
            break
        except (UnknownField, WorksheetNotFound) as error:
            attempt.retry(error)
    for reading in attempt.asked.readings:
        note_reading(reading)
    return read_answer(admitted.head, served, no_cache=no_cache)


async def read_row(request: Request[State]) -> CachedResponse:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "read")
    row = parse_row(request.path_params["row"])
    text = admitted.asked
    parse = partial(row_asked, text)
    asked = parse()
    no_cache = asked.no_cache or asks_for_fresh(admitted.head)
    if no_cache:  # more expensive than the initial charge
        await admitted.lease.raise_to(FRESH_PRICE)
    encoder = ENCODERS[state["api"].empty_cell]
    attempt = Attempt(state["title_aliases"], admitted.target, asked, text=text, parse=parse)
    while True:
        try:
            served = await state["rows"].read_row(
                attempt.target,
                row,
                attempt.asked.keys,
                encoder,
                no_cache=no_cache,
                unknown=admitted.unknown,
            )
            break
        except (UnknownField, WorksheetNotFound) as error:
            attempt.retry(error)
    for reading in attempt.asked.readings:
        note_reading(reading)
    return read_answer(admitted.head, served, no_cache=no_cache)


async def create_rows(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "create")
    if read_condition(admitted.head) is not None:
        raise InvalidRequest(
            "If-Match is the state of an existing row, and a create has none. Leave it out, or "
            "update the row by its rowIndex."
        )
    key_id = admitted.caller.key_id
    body = await read_rows(request, key_id)
    sent = body.rows if body.is_array else body.rows[0]
    idempotent = await read_idempotent_request(request, sent, key_id, row=None)
    attempt = Attempt(state["title_aliases"], admitted.target, None, is_write=True)
    while True:
        identity = None if idempotent is None else idempotent.identity(attempt.target)
        create = Write.create(
            rows=body.rows, is_array=body.is_array, identity=identity, unknown=admitted.unknown
        )
        try:
            settled = await state["rows"].write(attempt.target, create)
            break
        except WorksheetNotFound as error:
            attempt.retry(error)
    headers = written_headers(settled)
    empty_cell = state["api"].empty_cell
    if body.is_array:
        records = [written.record for written in settled.results]
        return created_answer(records, empty_cell, headers=headers)
    (written,) = settled.results
    title = encode_title(attempt.target.worksheet.title)
    headers |= {"Location": f"/v2/sheets/{title}/{written.row}", "ETag": written.tag}
    return record_answer(written.record, empty_cell, status=201, headers=headers)


async def update_row(request: Request[State]) -> Response:
    state: State = request.scope["state"]
    admitted = await state["admission"].admit(request, "update")
    row = parse_row(request.path_params["row"])
    condition = read_condition(admitted.head)
    check_conditional(admitted.caller, condition)
    key_id = admitted.caller.key_id
    fields = await read_fields(request, key_id)
    idempotent = await read_idempotent_request(request, fields, key_id, row=row)
    attempt = Attempt(state["title_aliases"], admitted.target, None, is_write=True)
    while True:
        identity = None if idempotent is None else idempotent.identity(attempt.target)
        update = Write.update(
            row=row,
            fields=fields,
            condition=condition,
            identity=identity,
            unknown=admitted.unknown,
        )
        try:
            settled = await state["rows"].write(attempt.target, update)
            break
        except WorksheetNotFound as error:
            attempt.retry(error)
    (written,) = settled.results
    tag = {"ETag": written.tag} if written.tag else {}
    headers = {**written_headers(settled), **tag}
    return record_answer(written.record, state["api"].empty_cell, headers=headers)


class Attempt(Generic[A]):
    """The current reading of a request: its worksheet and its parsed parameters.

    It starts with the remembered alias of the worksheet's name, otherwise with the name itself.
    `parse` parses the parameters `text`, some of them decoded once more; writes have neither.
    """

    __slots__ = (
        "_again",
        "_failed",
        "_first",
        "_parse",
        "_plain",
        "_plain_asked",
        "_text",
        "_title_aliases",
        "asked",
        "target",
    )

    def __init__(
        self,
        title_aliases: TitleAliases,
        target: Target,
        asked: A,
        *,
        is_write: bool = False,
        text: bytes = b"",
        parse: Callable[[Leniency], A] | None = None,
    ) -> None:
        self._title_aliases = title_aliases
        self._plain = self.target = target
        self._plain_asked = self.asked = asked
        self._text = text
        self._parse = parse
        self._again = PLAIN
        self._failed: dict[str, UnknownField] = {}
        self._first: WorksheetNotFound | None = None
        title = target.worksheet.title
        if not title.isascii() or "%" in title or "+" in title:
            known = title_aliases.find(target, is_write=is_write)
            if known is not None:
                self.target = _meant(known, target)

    def retry(self, error: UnknownField | WorksheetNotFound) -> None:
        """Switch to another reading after this error; raises it if there is none."""
        if isinstance(error, WorksheetNotFound):
            self.target = self._other_worksheet(error)
            self.asked, self._again, self._failed = self._plain_asked, PLAIN, {}
        else:
            self.asked = self._decoded_again(error)

    def _other_worksheet(self, error: WorksheetNotFound) -> Target:
        plain, title_aliases = self._plain, self._title_aliases
        if self.target is plain:
            alias = title_aliases.learn(plain, error)
            if alias is None:
                raise not_found_by(plain, error) from error
            self._first = error
            return _meant(alias, plain)
        title_aliases.forget(plain)
        if self._first is not None:  # the remembered worksheet does not exist any more
            raise not_found_by(plain, self._first) from self._first
        return plain

    def _decoded_again(self, error: UnknownField) -> A:
        name = error.parameter
        if self._parse is None or name in self._failed or not _is_escaped(self._text, name):
            raise self._failed.get(name, error) from None
        self._failed[name], self._again = error, self._again.with_unknown(name, error.names)
        try:
            return self._parse(self._again)
        except InvalidQuery:
            raise error from None


def _meant(alias: TitleAlias, target: Target) -> Target:
    note_reading(alias.reading, worksheet=alias.title)
    return replace(target, worksheet=replace(target.worksheet, title=alias.title))


def _is_escaped(text: bytes, parameter: str) -> bool:
    return any(map(is_escaped, decoded(text).get(parameter, ())))


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
    """The filter of a write, if the caller may write by filter: its rows are read again."""
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
