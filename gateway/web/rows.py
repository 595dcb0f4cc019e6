"""Endpoints of single rows and lists: parse, make one service call, respond.

Rules for lenient decoding: the plain reading comes first; only a missing field or worksheet allows
another. If that fails too, the first error counts.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from gateway.access.caller import check_conditional, check_query
from gateway.access.rates import FRESH_PRICE
from gateway.errors import InvalidQuery, InvalidRequest, UnknownField, WorksheetNotFound
from gateway.telemetry.events import note_reading
from gateway.web.answers import (
    ENCODERS,
    CachedResponse,
    created_answer,
    read_answer,
    record_answer,
    written_headers,
)
from gateway.web.body import read_fields, read_rows
from gateway.web.head import asks_for_fresh, encode_title, parse_row, read_condition
from gateway.web.idempotency import read_idempotent_request
from gateway.web.lenient import is_escaped
from gateway.web.parameters import PLAIN, Leniency, decoded, list_asked, row_asked
from gateway.web.state import State
from gateway.web.title_aliases import TitleAlias, TitleAliases, not_found_by
from gateway.worksheets.access import Target
from gateway.worksheets.writes import Write

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
