"""Authenticate and authorise a request before parsing it.

Rules: no call to Google. A valid key is charged for its request, whatever the result, before
anything else can be refused.
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
from gateway.telemetry.events import Kind, current_event, note_reading
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
    """The caller, and the worksheet that they may use."""

    caller: Caller
    target: Target
    asked: bytes
    """The parameters of reads, still encoded."""
    lease: RateLease
    head: Head


class Recognised(NamedTuple):
    """The caller, the requested spreadsheet if any, and the rate-limit lease."""

    caller: Caller
    spreadsheet: str | None
    lease: RateLease


async def admit(request: Request[State], kind: Kind) -> Admitted:
    """Authenticate, charge and authorise a request."""
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
    """Authenticate and charge a request, and check its origin."""
    state: State = scope["state"]
    credentials = find_credentials(
        head, parameters.credentials, is_write=operation is Operation.WRITE
    )
    caller = await state["gatekeeper"].identify(
        credentials.key, lambda: client_address(scope, state["proxies"])
    )
    lease = _lease(scope, head, caller, parameters.asked)
    if b"origin" in head.lines:
        for origin in head.values(b"origin"):  # a browser sends one; each must be allowed
            check_origin(caller, origin)
    return Recognised(caller, credentials.spreadsheet, lease)


def _authorised(
    caller: Caller, spreadsheet: str | None, title: str, operation: Operation
) -> tuple[Target, str]:
    """The caller's worksheet of this name or of its second reading."""
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
    """A lease for the request."""
    event = current_event()
    if event is not None:
        event.key_id = caller.key_id
    lease: RateLease = scope["state"]["rates"].lease(caller)
    scope[RATE_LEASE] = lease
    try:
        lease.enter()
    except RateLimited:
        # The request may cost more than others; it is charged again later, with the wait for the
        # whole price.
        may_be_fresh = asks_for_fresh(head) or b"no-cache=" in asked
        if may_be_fresh and scope["method"] in ("GET", "HEAD"):
            lease.charge(FRESH_PRICE)
        raise
    return lease
