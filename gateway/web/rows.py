"""Operations on rows: the selection of an operation, and its steps.

Rules
- The steps of every request: admission, which charges one request, `check`, the charge of a higher
  `price`, `parse`, `run`, `answer`. `parse` charges for `no-cache`, which is not known before.
- Lenient decoding: a request is decoded once first. Only if a field or the worksheet does not
  exist, the gateway tries other decodings. If all fail, the client gets the first error.
- A request whose conditions no operation meets gets 405, and is not charged: a delete if the key
  does not have the right, and a `PATCH` that has neither a filter nor a list.
- `If-Match` has ETags of one row, so a write to several rows refuses the header. A plan that
  requires the header allows no such write. `*` matches all existing rows: only an upsert refuses
  `*`, because an upsert can create rows.
- An answer has the ETag of a row only if the request named or created this row alone.
- A write by filter changes many rows, so no part of its filter is ignored. A missing or empty
  `where`, an empty object in it, and a filter that does not depend on the rows
  (`operators.verdict`) are errors.
- The key fields of an upsert are the fields in `on_conflict`. Each row of the body needs a value in
  each of them, and no two rows can have key values that could match the same cell. Both are tested
  without the sheet, unless the first row lacks a key field: then only the header shows whether this
  field exists.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

import msgspec
from msgspec.structs import replace as replaced

from gateway.access.caller import (
    Caller,
    check_conditional,
    check_filter,
    check_query,
    check_unconditional,
)
from gateway.access.rates import FRESH_PRICE
from gateway.errors import InvalidQuery, InvalidRequest, Problem, UnknownField, WorksheetNotFound
from gateway.query.operators import AllOf, AnyOf, Comparison, Condition, Negation, verdict
from gateway.table.cells import composed
from gateway.table.header import ROW_INDEX, Selection
from gateway.table.quoting import quoted
from gateway.table.record import MAX_PROBLEMS, NEVER_STORED, Stored, key_form, pointer, same_key
from gateway.table.table import FIRST_DATA_ROW
from gateway.telemetry.events import note_reading
from gateway.web.admission import Admitted
from gateway.web.answers import (
    CACHING,
    ENCODERS,
    TYPED_ENCODERS,
    Answer,
    header_lines,
    json_answer,
    read_answer,
    shaped,
    written_headers,
)
from gateway.web.body import (
    LAST_ROW,
    RowsBody,
    begins_list,
    parse_fields,
    parse_rows,
    parse_updates,
    read_body,
)
from gateway.web.error_responses import missing_method
from gateway.web.forms import read_submission, submit
from gateway.web.head import (
    accepted_format,
    asks_for_fresh,
    decode_title,
    encode_title,
    parse_row,
    read_condition,
)
from gateway.web.idempotency import IdempotentRequest, read_idempotent_request
from gateway.web.lenient import decoded_again, is_escaped, twice
from gateway.web.parameters import (
    PLAIN,
    Leniency,
    asking_of,
    bracketed_names,
    is_filled,
    is_given,
    list_asked,
    parse_count,
    parse_filter,
    row_asked,
    single_text,
    split_names,
)
from gateway.web.parsing import unstorable
from gateway.web.prefer import RESOLUTIONS, applied, preferred_max_affected, preferred_resolution
from gateway.web.request import Request
from gateway.web.signature import (
    FORMAT,
    MAX_AFFECTED,
    ON_CONFLICT,
    RESOLUTION,
    SPREADSHEET_PARAMETER,
    WHERE,
    Signature,
)
from gateway.web.title_aliases import TitleAlias, not_found_by
from gateway.worksheets.access import Target, WorksheetId
from gateway.worksheets.answers import Served
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.writes import Fields, Write

MAX_CONFLICT_FIELDS = 16
_TOO_MANY_KEYS = f"{ON_CONFLICT} exceeds the limit of {MAX_CONFLICT_FIELDS} fields. Send fewer."
_NO_FILTER = (
    "A write by filter needs a condition: send where as a percent-encoded JSON object, such as "
    '{"state":"done"}. To write to a single row, put its rowIndex into the path.'
)
_EMPTY_FILTER = (
    "where has an empty object, which matches every row. Put a condition into the object."
)
_FILTER_OF_ALL = (
    'where matches every row, as {"name":{"$text":""}} does, so nothing was written. '
    'Narrow the condition, or send {"rowIndex":{"$gte":2}} to write to all rows.'
)


class Asked(msgspec.Struct, frozen=True):
    """A parsed request on rows, before its worksheet is read."""

    parameters: Any = None
    """Parsed parameters, whose type depends on the operation; None if the operation has none."""
    again: Callable[[Leniency], Any] | None = None
    """Function that parses `parameters` again, with those in the `Leniency` decoded once more."""
    row: int = 0
    no_cache: bool = False
    make: Callable[..., Write] = Write
    """Constructor of the write. `run_write` adds the filter and the worksheet."""
    idempotent: IdempotentRequest | None = None
    is_array: bool = False
    submission: Any = None
    """Row of a create-only key (`Submission`), or None for other keys."""
    format: str = ""
    """Format of a schema: `json` or `typescript`."""
    applied: Mapping[str, str] = {}
    """Headers of the answer that name the applied preferences."""
    admitted: Any = None
    """Admission of a list (`Admitted`), None for other operations."""


PathKind = Literal["spreadsheet", "worksheet", "schema", "row"]


@dataclass(frozen=True, kw_only=True)
class RowOperation(Signature):
    """An operation: its conditions and its steps. A request must meet all conditions."""

    methods: tuple[str, ...]
    path: PathKind = "worksheet"
    """Kind of resource that the path names."""

    row: str = ""
    """Condition: the path has this segment in place of a row number."""
    parameter: str = ""
    """Condition: the query has this parameter."""
    is_of_list: bool = False
    """Condition: the body is a JSON list."""
    is_export: bool = False
    """Condition: `format` or `Accept` requests an export."""
    needs: Callable[[Caller], bool] | None = None
    """Condition: this function returns True for the caller."""

    price: int = 1
    check: Callable[[Request, Admitted], None] | None = None
    """Function that raises an error before the charge, if plan or headers exclude the operation."""
    parse: Callable[[Request, Admitted], Awaitable[Asked]]
    run: Callable[[Request, Admitted, Target, Asked], Awaitable[Any]]
    answer: Callable[[Request, Target, Asked, Any], Answer]


_FORMAT = FORMAT.encode()

ByMethod = Mapping[str, Sequence[RowOperation]]
"""The operations of a path by method, in the order of `operations.py`."""


async def carry_out(request: Request, operations: ByMethod) -> Answer:
    """Run the first operation whose conditions the request meets, and return the answer.

    If there is none, answers `OPTIONS`, and raises MethodNotAllowed for other methods. Both name
    the methods of operations without conditions.
    """
    admission, query = request.state["admission"], request.scope["query_string"]
    lines = request.head.lines
    for operation in operations.get(request.event.method, ()):
        if operation.is_export:  # an export has no other condition, so lists pay for only this one
            is_named = query.find(_FORMAT) >= 0 and is_filled(FORMAT, query)
            if is_named or (b"accept" in lines and accepted_format(lines[b"accept"])):
                break
            continue
        if operation.row and operation.row != request.row:
            continue
        if operation.parameter and not (query and is_given(operation.parameter, query)):
            continue
        if operation.is_of_list and not await begins_list(request):
            continue
        if operation.needs and not await admission.has_right(request, operation.needs):
            continue
        break
    else:
        known = [
            each
            for found in operations.values()
            for each in found
            if not (each.row or each.parameter or each.is_of_list or each.is_export or each.needs)
        ]
        return missing_method(request, {method for each in known for method in each.methods})
    admitted = await admission.admit(request, operation)
    if operation.check is not None:
        operation.check(request, admitted)
    if operation.price > 1:
        await admitted.lease.raise_to(operation.price)
    asked = await operation.parse(request, admitted)
    if not admitted.caller.key.grants.may_read:
        run = partial(run_as_meant, operation, request, admitted, asked)
        return await submit(request, asked.submission, run)
    target, asked, result = await run_as_meant(operation, request, admitted, asked)
    if asked.parameters is not None:
        for reading in asked.parameters.readings:
            note_reading(reading)
    return operation.answer(request, target, asked, result)


async def run_as_meant(
    operation: RowOperation, request: Request, admitted: Admitted, asked: Asked
) -> tuple[Target, Asked, Any]:
    """Run an operation, with lenient decoding if a field or the worksheet does not exist.

    Returns the worksheet, the parsed request and the result, all of the decoding that succeeded.
    """
    aliases, plain, plainly_asked = request.state["title_aliases"], admitted.target, asked
    target, title = plain, plain.worksheet.title
    again = PLAIN
    failed: dict[str, UnknownField] = {}
    missing: WorksheetNotFound | None = None
    if not title.isascii() or "%" in title or "+" in title:
        remembered = aliases.find(plain, is_write=operation.is_write)
        target = plain if remembered is None else _renamed(plain, remembered)
    while True:
        try:
            return target, asked, await operation.run(request, admitted, target, asked)
        except UnknownField as error:
            name, given = error.parameter, asking_of(admitted.asked).parameters
            values = given.get(name, ())
            if asked.again is None or name in failed or not any(map(is_escaped, values)):
                raise failed.get(name, error) from None
            failed[name], again = error, again.with_unknown(name, error.names)
            try:
                asked = replaced(asked, parameters=asked.again(again))
            except InvalidQuery:
                raise error from None
        except WorksheetNotFound as error:
            asked, again, failed = plainly_asked, PLAIN, {}
            if target is not plain:
                aliases.forget(plain)
                if missing is not None:  # the remembered worksheet no longer exists
                    raise not_found_by(plain, missing) from missing
                target = plain
                continue
            alias = aliases.learn(plain, error)
            if alias is None:
                raise not_found_by(plain, error) from error
            missing, target = error, _renamed(plain, alias)


def _renamed(target: Target, alias: TitleAlias) -> Target:
    note_reading(alias.reading, worksheet=alias.title)
    worksheet = WorksheetId(target.worksheet.spreadsheet, alias.title)
    return replace(target, worksheet=worksheet)


async def parse_list(request: Request, admitted: Admitted) -> Asked:
    parse = partial(list_asked, admitted.asked, admitted.caller.plan.max_limit)
    asked = parse(PLAIN)
    query = asked.query
    if not admitted.caller.plan.where_and_order:
        uses_order = bool(query.order) or query.whole_order is not None
        check_query(admitted.caller, uses_where=query.where is not None, uses_order=uses_order)
    no_cache = asked.no_cache or (
        b"cache-control" in request.head.lines and asks_for_fresh(request.head)
    )
    if no_cache:  # more expensive than the initial charge
        await admitted.lease.raise_to(FRESH_PRICE)
    return Asked(asked, parse, no_cache=no_cache, admitted=admitted)


def run_list(
    request: Request, admitted: Admitted, target: Target, asked: Asked
) -> Awaitable[Served]:
    state = request.state
    query, seal = asked.parameters.query, None
    if query.cursor is not None:
        own = admitted.target
        seal = state["cursors"].seal(own.access.key_id, own.worksheet, asked.parameters.bound)
    return state["rows"].list_rows(
        target,
        query,
        (TYPED_ENCODERS if admitted.is_typed else ENCODERS)[state["api"].empty_cell],
        no_cache=asked.no_cache,
        unknown=admitted.unknown,
        seal=seal,
        text_bytes=len(admitted.asked),
    )


MOST_LINKS = 4
"""Maximum number of `Link` headers in the cache of one encoded list. A full cache is cleared."""

LONGEST_KEPT_KEY = 512
"""Maximum size of a cached link's key in bytes, because a short query has long spellings."""

LONGEST_LINK = 2_048
"""Maximum size of the `Link` header in bytes. A longer one is left out.

Proxies and clients refuse too many header bytes.
"""


def listed_rows(request: Request, target: Target, asked: Asked, served: Served) -> Answer:
    """Return the answer to a list, with `Link` to other pages, and `X-Total-Count` if requested."""
    parameters, admitted, encoded = asked.parameters, asked.admitted, served.encoded
    paging, kept, others = encoded.paging, encoded.links, parameters.others
    own = admitted.target
    if admitted.credentials:
        ids = asking_of(admitted.credentials).parameters.get(SPREADSHEET_PARAMETER, ())
        for spreadsheet in [*filter(None, ids)][:1]:
            given = f"{SPREADSHEET_PARAMETER}={quote(spreadsheet, '')}".encode()
            others = b"%b&%b" % (others, given) if others else given
    key = others if paging.place is None else others + admitted.caller.key.id.encode()
    if target is not own:  # a cursor belongs to the name that was sent
        key += own.worksheet.title.encode("utf-8", "surrogatepass")
    link = kept.get(key)
    if link is None:
        if len(kept) >= MOST_LINKS:
            kept.clear()
        skip, limit = parameters.query.skip, parameters.query.limit
        link, start = b"", b"<?%b&" % others if others else b"<?"
        if paging.place is not None and limit:
            cursors = request.state["cursors"]
            seal = cursors.seal(own.access.key_id, own.worksheet, parameters.bound)
            link = b'%bcursor=%b>; rel="next"' % (start, seal.of(paging.place).encode("ascii"))
        elif paging.has_next and not parameters.query.wants_place and limit:
            link = b'%bskip=%d>; rel="next"' % (start, skip + limit)
        if skip and limit:
            pages = (start, start, max(0, skip - limit))
            before = b'%bskip=0>; rel="first", %bskip=%d>; rel="prev"' % pages
            link = b"%b, %b" % (link, before) if link else before
        link = link if len(link) <= LONGEST_LINK else b""
        if len(key) <= LONGEST_KEPT_KEY:
            kept[key] = link
    lines = [(b"link", link)] if link else []
    if paging.total is not None:
        lines.append((b"x-total-count", b"%d" % paging.total))
    return read_answer(request, served, no_cache=asked.no_cache, lines=lines)


async def parse_read(request: Request, admitted: Admitted) -> Asked:
    row = parse_row(request.row)
    parse = partial(row_asked, admitted.asked)
    asked = parse(PLAIN)
    no_cache = asked.no_cache or (
        b"cache-control" in request.head.lines and asks_for_fresh(request.head)
    )
    if no_cache:  # more expensive than the initial charge
        await admitted.lease.raise_to(FRESH_PRICE)
    return Asked(asked, parse, row, no_cache)


def run_read(
    request: Request, admitted: Admitted, target: Target, asked: Asked
) -> Awaitable[Served]:
    state = request.state
    return state["rows"].read_row(
        target,
        asked.row,
        asked.parameters.keys,
        (TYPED_ENCODERS if admitted.is_typed else ENCODERS)[state["api"].empty_cell],
        no_cache=asked.no_cache,
        unknown=admitted.unknown,
        text_bytes=len(admitted.asked),
    )


def served_read(request: Request, _target: Target, asked: Asked, served: Served) -> Answer:
    return read_answer(request, served, no_cache=asked.no_cache)


async def parse_create(request: Request, admitted: Admitted) -> Asked:
    if read_condition(request.head) is not None:
        raise InvalidRequest(
            "If-Match is not allowed on a create, because a new row has no ETag. Remove the "
            "header, or update an existing row by its rowIndex."
        )
    if not admitted.caller.key.grants.may_read:
        submission = await read_submission(request, admitted)
        fields, key = submission.fields, submission.key
        idempotent = await read_idempotent_request(request, admitted, fields, own_key=key)
        make = partial(Write.create, rows=(fields,), not_before=submission.not_before)
        return Asked(make=make, idempotent=idempotent, submission=submission)
    body = await read_body(request, admitted.caller.key.id, parse_rows)
    sent = body.rows if body.is_array else body.rows[0]
    idempotent = await read_idempotent_request(request, admitted, sent)
    make = partial(Write.create, rows=body.rows, is_array=body.is_array)
    return Asked(make=make, idempotent=idempotent, is_array=body.is_array)


async def parse_update(request: Request, admitted: Admitted) -> Asked:
    row = parse_row(request.row)
    condition = read_condition(request.head)
    check_conditional(admitted.caller, condition)
    fields = await read_body(request, admitted.caller.key.id, parse_fields)
    idempotent = await read_idempotent_request(request, admitted, fields, row=row)
    make = partial(Write.update, row=row, fields=fields, condition=condition)
    return Asked(make=make, idempotent=idempotent)


async def parse_delete(request: Request, admitted: Admitted) -> Asked:
    row = parse_row(request.row)
    condition = read_condition(request.head)
    check_conditional(admitted.caller, condition, verb="delete")
    if row < FIRST_DATA_ROW:
        raise request.state["rows"].no_row(admitted.target, row)
    idempotent = await read_idempotent_request(request, admitted, {}, row=row)
    make = partial(Write.delete, row=row, condition=condition)
    return Asked(make=make, idempotent=idempotent)


async def parse_update_rows(request: Request, admitted: Admitted) -> Asked:
    rows = await read_body(request, admitted.caller.key.id, parse_updates)
    for row, _ in rows:
        if not FIRST_DATA_ROW <= row <= LAST_ROW:
            raise request.state["rows"].no_row(admitted.target, row)
    sent = [{ROW_INDEX: row, **fields} for row, fields in rows]
    idempotent = await read_idempotent_request(request, admitted, sent)
    return Asked(make=partial(Write.update_rows, rows=rows), idempotent=idempotent)


class FilterAsked(msgspec.Struct, frozen=True):
    """Filter of a write, and the client's maximum number of matching rows (None: no maximum)."""

    where: Condition
    max_affected: int | None
    readings: tuple[str, ...] = ()
    """Names of the lenient decodings that were used."""


def filter_asked(text: bytes, again: Leniency = PLAIN) -> FilterAsked:
    """Parse the parameters of a write by filter, and decode the ones in `again` once more.

    Raises InvalidQuery.
    """
    asking = asking_of(text, again)
    where = parse_filter(asking)
    if where is None or where == AllOf(()):
        raise InvalidQuery(_NO_FILTER)
    if _has_empty(where):
        raise InvalidQuery(_EMPTY_FILTER)
    if verdict(where) is True:
        raise InvalidQuery(_FILTER_OF_ALL)
    max_affected = parse_count(asking, MAX_AFFECTED)
    return FilterAsked(where, max_affected, tuple(asking.readings))


def _has_empty(condition: Condition) -> bool:
    match condition:
        case Comparison():
            return False
        case Negation():
            return _has_empty(condition.condition)
        case AllOf() | AnyOf():
            return not condition.conditions or any(map(_has_empty, condition.conditions))


@dataclass(frozen=True, kw_only=True)
class UpsertBody(RowsBody):
    """Rows to create or update, and the names of the key fields (the fields in `on_conflict`)."""

    keys: tuple[str, ...]


def conflict_names(text: bytes) -> Selection:
    """Parse the distinct names of `on_conflict`, comma-separated, as JSON array or in brackets.

    `text` is the encoded query. Raises InvalidQuery.
    """
    asking = asking_of(text)
    whole = ""
    if ON_CONFLICT in asking.bracketed:
        names: Sequence[str] = bracketed_names(asking, ON_CONFLICT)
    else:
        whole = single_text(asking, ON_CONFLICT) or ""
        names = split_names(whole)
    for reading in asking.readings:
        note_reading(reading)
    distinct = {name.strip(): name for name in reversed(names)}
    if len(distinct) > MAX_CONFLICT_FIELDS:
        raise InvalidQuery(_TOO_MANY_KEYS)
    never = NEVER_STORED & set(distinct)
    if not distinct or never:
        what = f"names {quoted(min(never))}, which is not a column" if never else "names no field"
        raise InvalidQuery(
            f"{ON_CONFLICT} {what}. Send the fields that identify a row, comma-separated, as in "
            f"{ON_CONFLICT}=sku."
        )
    return Selection(tuple(reversed(distinct.values())), whole=whole)


def _upsert_body(names: Selection, body: bytes, content_type: str) -> UpsertBody:
    parsed = parse_rows(body, content_type)
    keys = _keys_in(parsed.rows[0], names)
    find = _field_finder(parsed.rows[0])
    problems = _key_problems(parsed, keys) if all(map(find, keys)) else []
    if problems:
        raise unstorable(problems)
    return UpsertBody(keys=keys, rows=parsed.rows, is_array=parsed.is_array)


def _keys_in(fields: Fields, names: Selection) -> tuple[str, ...]:
    """Return the names of the key fields that `on_conflict` means.

    `fields` are the fields of a row, which decide unclear cases. The whole text is one name if the
    row has a field with this name. A name is decoded once more if only the result is such a field.
    """
    find = _field_finder(fields)
    if names.whole and find(names.whole) is not None:
        return (names.whole,)
    keys: dict[str, None] = {}
    for name in names.names:
        again = split_names(decoded_again(name)) if is_escaped(name) else ()
        if again and find(name) is None and all(find(each) for each in again):
            note_reading(twice(ON_CONFLICT))
            keys |= dict.fromkeys(again)
        else:
            keys[name] = None
    if len(keys) > MAX_CONFLICT_FIELDS:
        raise InvalidQuery(_TOO_MANY_KEYS)
    return tuple(keys)


def _key_problems(body: RowsBody, keys: Sequence[str]) -> list[Problem]:
    """Return rows without a value in a key field, and rows with equal keys, as problems.

    Stops after a row if there are `MAX_PROBLEMS` or more.
    """
    problems: list[Problem] = []
    seen: list[dict[Hashable, int]] = [{} for _ in keys]
    for number, fields in enumerate(body.rows):
        names = map(_field_finder(fields), keys)
        row = [None if name is None else fields[name] for name in names]
        at = pointer(str(number)) if body.is_array else pointer()
        missing = [key for key, value in zip(keys, row, strict=True) if value in (None, "")]
        needed = f"{ON_CONFLICT} names this field, so it needs a value."
        problems += [Problem(pointer(key, at=at), needed) for key in missing]
        first = None if missing else same_key(row, [*map(key_form, row)], number, seen)
        if first is not None:
            problems.append(
                Problem(
                    at, f"The row at {pointer(str(first))} has the same key values. Remove one."
                )
            )
        if len(problems) >= MAX_PROBLEMS:
            break
    return problems


def _field_finder(fields: Mapping[str, Stored]) -> Callable[[str], str | None]:
    """Return a function that finds the name of a field, or None without such a field.

    The names must be equal, else equal without surrounding blanks, else equal in Unicode NFC if
    only one field is.
    """
    trimmed: dict[str, str] = {}
    by_form: dict[str, str | None] = {}

    def find(key: str) -> str | None:
        if key in fields:
            return key
        if not trimmed:
            for name in fields:
                trimmed.setdefault(name.strip(), name)
        plain = key.strip()
        if plain in trimmed:
            return trimmed[plain]
        if not by_form:
            for name in fields:
                form = composed(name.strip())
                by_form[form] = None if form in by_form else name
        return by_form.get(composed(plain))

    return find


async def parse_upsert(request: Request, admitted: Admitted) -> Asked:
    resolution = preferred_resolution(request.head)
    merges = resolution is None or RESOLUTIONS[resolution]
    parse = partial(_upsert_body, conflict_names(admitted.asked))
    body = await read_body(request, admitted.caller.key.id, parse)
    sent = body.rows if body.is_array else body.rows[0]
    asked = [*body.keys, merges]
    idempotent = await read_idempotent_request(request, admitted, sent, asked=asked)
    make = partial(
        Write.upsert, keys=body.keys, rows=body.rows, merges=merges, is_array=body.is_array
    )
    return Asked(make=make, idempotent=idempotent, applied=applied(RESOLUTION, resolution))


async def parse_by_filter(request: Request, admitted: Admitted, *, is_update: bool) -> Asked:
    """Parse an update (`is_update`) or a delete of all matching rows."""
    caller, text = admitted.caller, admitted.asked
    parse = partial(filter_asked, text)
    asked = parse(PLAIN)
    preferred = preferred_max_affected(request.head)
    fields = await read_body(request, caller.key.id, parse_fields) if is_update else None
    limits = (caller.plan.max_affected, asked.max_affected, preferred)
    max_rows = min(limit for limit in limits if limit is not None)
    given = asking_of(text).parameters.items()
    sent = sorted(each for each in given if each[0].startswith(WHERE))
    idempotent = await read_idempotent_request(request, admitted, fields or {}, asked=sent)
    make: Callable[..., Write] = partial(Write.delete_where, max_rows=max_rows)
    if fields is not None:
        make = partial(Write.update_where, max_rows=max_rows, fields=fields)
    headers = applied(MAX_AFFECTED, preferred)
    return Asked(asked, parse, make=make, idempotent=idempotent, applied=headers)


def run_write(
    request: Request, admitted: Admitted, target: Target, asked: Asked
) -> Awaitable[Settled]:
    where = {} if asked.parameters is None else {"where": asked.parameters.where}
    identity = asked.idempotent and asked.idempotent.identity(target)
    write = asked.make(
        identity=identity, unknown=admitted.unknown, is_typed=admitted.is_typed, **where
    )
    return request.state["rows"].write(target, write)


def refuse_condition(
    request: Request, admitted: Admitted, *, may_create: bool = False, by_filter: bool = False
) -> None:
    """Raise an error if a write to several rows has `If-Match`, or the plan requires `If-Match`.

    `If-Match: *` is an error only if the write `may_create` rows. A write `by_filter` must also be
    included in the plan.
    """
    if by_filter:
        check_filter(admitted.caller)
    check_unconditional(admitted.caller)
    condition = read_condition(request.head)
    if condition is not None and (may_create or not condition.is_any):
        raise InvalidRequest(
            "If-Match is the ETag of one row, but this request writes to several. Remove the "
            "header, or send one request for each row, with the ETag of that row."
        )


def created(request: Request, target: Target, asked: Asked, settled: Settled) -> Answer:
    if asked.is_array:
        return written_rows(request, target, asked, settled, status=201)
    path = f"/v2/sheets/{encode_title(target.worksheet.title)}/{settled.results[0].row}"
    return updated(request, target, asked, settled, status=201, location=path)


def updated(
    request: Request,
    _: Target,
    __: Asked,
    settled: Settled,
    *,
    status: int = 200,
    location: str = "",
) -> Answer:
    """Return the answer with the only written row.

    `location` is the path of a new row; "" for an existing row.
    """
    (written,) = settled.results
    named = {"Location": location, "ETag": written.tag}
    headers = {**written_headers(settled), **{name: each for name, each in named.items() if each}}
    record = shaped(written.record, request.state["api"].empty_cell)
    return json_answer(record, status=status, headers=headers, rows=1)


def written_rows(
    request: Request, _target: Target, asked: Asked, settled: Settled, *, status: int = 200
) -> Answer:
    """Return the answer with the written rows, in the order of the request."""
    empty_cell = request.state["api"].empty_cell
    results = [shaped(written.record, empty_cell) for written in settled.results]
    headers = {**written_headers(settled), **asked.applied}
    return json_answer({"results": results}, status=status, headers=headers, rows=len(results))


CREATED = "created"
"""Member of an upserted row; True if the row is new."""


def upserted(request: Request, target: Target, asked: Asked, settled: Settled) -> Answer:
    are_new = all(written.record[CREATED] is True for written in settled.results)
    return written_rows(request, target, asked, settled, status=201 if are_new else 200)


def counted(_request: Request, _target: Target, asked: Asked, settled: Settled) -> Answer:
    """Return the answer to a write by filter: count and row numbers of the matching rows."""
    results = [{ROW_INDEX: written.row} for written in settled.results]
    headers = {**written_headers(settled), **asked.applied}
    found = {"count": len(results), "results": results}
    return json_answer(found, headers=headers, rows=len(results))


def deleted(_request: Request, _target: Target, _asked: Asked, settled: Settled) -> Answer:
    headers = {"Cache-Control": CACHING, **written_headers(settled)}
    return Answer(204, header_lines(headers), rows=1)


async def parse_nothing(_request: Request, _admitted: Admitted) -> Asked:
    return Asked()


async def run_refresh(request: Request, _admitted: Admitted, target: Target, _asked: Asked) -> None:
    request.state["rows"].report_change(target, decode_title(request.title))


def accepted(_request: Request, _target: Target, _asked: Asked, _result: None) -> Answer:
    return json_answer({"status": "accepted"}, status=202)
