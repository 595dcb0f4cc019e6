"""Authenticate and authorise a request before anything of it is parsed.

Rules: nothing is asked of Google here. A key that counts is charged for its request whatever comes
of it, and before all that could be refused.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from starlette.requests import Request
from starlette.types import Scope

from gateway.access.caller import (
    Caller,
    Operation,
    authorise,
    check_origin,
)
from gateway.access.rates import FRESH_PRICE, RateLease
from gateway.errors import NotGranted, RateLimited
from gateway.telemetry.counters import Kind
from gateway.telemetry.events import current_event, note_reading
from gateway.web.client_address import client_address
from gateway.web.credentials import find_credentials
from gateway.web.head import Head, asks_for_fresh, head_of
from gateway.web.lenient import QUERY_IN_NAME, other_titles
from gateway.web.middleware import RATE_LEASE
from gateway.web.path import decode_title
from gateway.web.query_string import Sifted, sift
from gateway.web.state import State
from gateway.worksheets.access import Target

_OPERATIONS: Mapping[Kind, Operation] = {
    "list": Operation.READ,
    "read": Operation.READ,
    "create": Operation.WRITE,
    "update": Operation.WRITE,
}


class Admitted(msgspec.Struct, frozen=True):
    """Who calls, and the worksheet that they may use."""

    caller: Caller
    target: Target
    asked: bytes
    """The parameters that reads know, encoded as they came."""
    lease: RateLease
    head: Head


class Recognised(NamedTuple):
    """Who calls, the spreadsheet that they name, if any, and what they are charged with."""

    caller: Caller
    spreadsheet: str | None
    lease: RateLease


async def admit(request: Request[State], kind: Kind) -> Admitted:
    """Find out who calls, charge them, and see whether they may."""
    event, scope = current_event(), request.scope
    state: State = scope["state"]
    if event is not None:
        event.kind = kind
    head = head_of(scope)
    parameters = sift(scope["query_string"])
    if parameters.is_unfolded:
        note_reading(QUERY_IN_NAME)
    segment = request.path_params["title"]
    operation, auth_cache = _OPERATIONS[kind], state["auth_cache"]
    known, number = None, b""
    if operation is Operation.READ:
        number = auth_cache.number(head, parameters.credentials, segment)
        known = auth_cache.find(number)
    if known is not None:
        caller, target, reading = known.caller, known.target, known.reading
        lease = _lease(scope, head, caller, parameters.asked)
        if event is not None:
            event.worksheet = target.worksheet.title
    else:
        caller, spreadsheet, lease = await recognise(scope, head, parameters, operation)
        title = decode_title(segment)
        if event is not None:
            event.worksheet = title
        target, reading = _authorised(caller, spreadsheet, title, operation)
        if number:
            auth_cache.issue(number, caller, target, reading)
    if event is not None:
        event.spreadsheet = target.worksheet.spreadsheet
    if reading:
        note_reading(reading, worksheet=target.worksheet.title)
    return Admitted(caller, target, parameters.asked, lease, head)


async def recognise(
    scope: Scope, head: Head, parameters: Sifted, operation: Operation
) -> Recognised:
    """Find out whose key it is, charge them, and see whether it may come from this origin."""
    state: State = scope["state"]
    credentials = find_credentials(
        head, parameters.credentials, is_write=operation is Operation.WRITE
    )
    caller = await state["gatekeeper"].identify(
        credentials.key, lambda: client_address(scope, state["proxies"])
    )
    lease = _lease(scope, head, caller, parameters.asked)
    if b"origin" in head.lines:
        for origin in head.values(b"origin"):  # a browser sends one; each of several must count
            check_origin(caller, origin)
    return Recognised(caller, credentials.spreadsheet, lease)


def _authorised(
    caller: Caller, spreadsheet: str | None, title: str, operation: Operation
) -> tuple[Target, str]:
    """The worksheet that the caller may use of this name, or of a second reading of it."""
    try:
        return authorise(caller, spreadsheet=spreadsheet, worksheet=title, operation=operation), ""
    except NotGranted:
        for reading, other in other_titles(title):
            if other in (caller.grants.worksheets or ()):
                target = authorise(
                    caller, spreadsheet=spreadsheet, worksheet=other, operation=operation
                )
                return target, reading
        raise


def _lease(scope: Scope, head: Head, caller: Caller, asked: bytes) -> RateLease:
    """Charge a caller for the request."""
    event = current_event()
    if event is not None:
        event.key_id = caller.key_id
    lease: RateLease = scope["state"]["rates"].lease(caller)
    scope[RATE_LEASE] = lease
    try:
        lease.enter()
    except RateLimited:
        # A request that is not parsed, but looks as if it would cost more than others: it is
        # raised anew, with the wait for all that it will cost.
        may_be_fresh = asks_for_fresh(head) or b"no-cache=" in asked
        if may_be_fresh and scope["method"] in ("GET", "HEAD"):
            lease.charge(FRESH_PRICE)
        raise
    return lease
