"""Admission: authenticate, charge and authorise a request before parameters and body are parsed.

Rules
- To charge a request is to count it for the rate limit of its key. A request with a valid key is
  charged before any later error. Admission makes no call to Google.
- Credentials are the API key and the spreadsheet ID. They are trimmed. An empty value counts as
  absent. All headers and parameters for credentials are read. Two different values are an error, so
  that no proxy or log attributes a request to another key.
- A create-only key can create rows, and do nothing else. `gateway.web.forms` answers its requests.
- Authorised reads are cached. The cache key is a digest of credentials, worksheet and origin, with
  a random secret of the process, so that no API key is stored. A read is charged even if the cache
  has its entry.
- An entry expires when the active keys must be refreshed, or when a change of keys is signalled, so
  that no revocation is delayed.
"""

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from gateway import errors
from gateway.access.caller import Caller, authorise, check_origin
from gateway.access.keys import WhereFrom
from gateway.access.rates import FRESH_PRICE, KeyRates, RateLease
from gateway.settings.address import Proxy
from gateway.storage.key_store import Right
from gateway.telemetry.events import note_reading
from gateway.web.client_address import client_address
from gateway.web.head import Head, asks_for_fresh, decode_title, media_type_of
from gateway.web.lenient import QUERY_IN_NAME, other_titles
from gateway.web.media_types import FORM
from gateway.web.method_override import METHOD, OTHER_OVERRIDE, OVERRIDE, other_method
from gateway.web.parameters import Sifted, asking_of, asks_for_types, sift
from gateway.web.prefer import PREFER, check_preferences
from gateway.web.request import Request
from gateway.web.signature import KEY_PARAMETER, SPREADSHEET_PARAMETER, Signature
from gateway.worksheets.access import Target


class Admitted(msgspec.Struct, frozen=True):
    """An admitted request: caller, granted worksheet, rate-limit lease and parameters."""

    caller: Caller
    target: Target
    lease: RateLease
    asked: bytes
    """Query parameters of the operation, still percent-encoded."""
    unknown: tuple[str, ...]
    """Names of unknown parameters. The request fails if one of these names is a field."""
    is_typed: bool = False
    """True if answers have typed cells, by `values` or by the operator's default."""
    credentials: bytes = b""
    """Query parameters for credentials, still percent-encoded."""


@dataclass(frozen=True)
class Admission:
    """Authenticates, charges and authorises requests.

    `identify` (`Gatekeeper.identify`) returns the caller of an API key. `proxies` are the trusted
    reverse proxies.
    """

    identify: Callable[[str | None, WhereFrom], Awaitable[Caller]]
    rates: KeyRates
    auth_cache: "AuthCache"
    proxies: Sequence[Proxy]

    async def admit(self, request: Request, operation: Signature) -> Admitted:
        """Authenticate, charge and authorise a request. Raises the error of the first failure."""
        event, head = request.event, request.head
        event.operation = operation.kind
        parameters = sift(request.scope["query_string"], operation)
        if parameters.is_odd:
            if parameters.refusal:
                await self.recognise(request, parameters, operation)  # raises the error
            note_reading(QUERY_IN_NAME)
        lines, method = head.lines, parameters.method
        if method or OVERRIDE in lines or METHOD in lines or OTHER_OVERRIDE in lines:
            override = other_method(request, method, operation.kind)
            if override:
                await self.recognise(request, parameters, operation)
                raise errors.InvalidRequest(override)
        known, cache_key = None, b""
        if not operation.is_write:
            cache_key, known = self.auth_cache.find(head, parameters.credentials, request.title)
        if known is not None:
            caller, target, reading = known.caller, known.target, known.reading
            lease = await self._charge(request, parameters, caller)
            event.worksheet = target.worksheet.title
        else:
            caller, spreadsheet, lease = await self.recognise(request, parameters, operation)
            title = event.worksheet = decode_title(request.title)  # "" for a spreadsheet
            target, reading = _authorised(caller, spreadsheet, title, operation.writes)
            if cache_key:
                self.auth_cache.put(cache_key, caller, target, reading)
        event.spreadsheet = target.worksheet.spreadsheet
        if reading:
            note_reading(reading, worksheet=target.worksheet.title)
        if PREFER in lines and operation.is_write:
            check_preferences(head, operation)
        asked, is_typed = parameters.asked, None
        if b"values" in asked:
            is_typed = asks_for_types(asked)
        if is_typed is None:
            is_typed = request.state["api"].values == "typed"
        # Names of parameters must not reveal fields to a create-only key.
        unknown = parameters.unknown if caller.key.grants.may_read else ()
        credentials = parameters.credentials
        return Admitted(caller, target, lease, asked, unknown, is_typed, credentials)

    async def has_right(self, request: Request, right: Callable[[Caller], bool]) -> bool:
        """True if `right` returns True for the caller. False without a valid key.

        Also True for a create-only key, so that `admit` refuses it with `CreateOnlyKey`. The
        request is not charged. Raises KeysUnavailable.
        """
        scope = request.scope
        try:
            key = _find_key(request.head, sift(scope["query_string"]).credentials)
            caller = await self.identify(key, lambda: client_address(scope, self.proxies))
        except (
            errors.AmbiguousCredentials,
            errors.Unauthorized,
            errors.TooManyAuthFailures,
            errors.PlanLimit,
        ):
            return False
        return right(caller) or not caller.key.grants.may_read

    async def recognise(
        self, request: Request, parameters: Sifted, operation: Signature
    ) -> tuple[Caller, str | None, RateLease]:
        """Authenticate and charge a request, and check its origin and its parameters.

        Returns the caller, the spreadsheet ID of the request (None without one), and the rate-limit
        lease. Raises an error if a check fails.
        """
        head, scope, is_write = request.head, request.scope, operation.is_write
        key, spreadsheet = find_credentials(head, parameters.credentials)
        if is_write and key is None and media_type_of(head).startswith(FORM):
            raise errors.MissingApiKey(
                "An API key in a form body is not accepted. To write, send it as 'Authorization: "
                "Bearer KEY'. To list with curl, add -G, so that the parameters go into the URL."
            )
        caller = await self.identify(key, lambda: client_address(scope, self.proxies))
        is_in_url = parameters.credentials and not _in_headers(head, KEY_HEADERS)
        if is_write and is_in_url and caller.key.grants.may_read:
            raise errors.KeyNotAllowedInUrl()
        lease = await self._charge(request, parameters, caller)
        if not caller.key.grants.may_read:
            request.state["forms"].count(request, caller, lease)
            if not operation.is_for_create_only:
                raise errors.CreateOnlyKey
        for origin in head.values(b"origin"):  # a browser sends one; each must be allowed
            check_origin(caller, origin)
        if parameters.refusal:
            raise errors.InvalidQuery(parameters.refusal)
        return caller, spreadsheet, lease

    async def _charge(self, request: Request, parameters: Sifted, caller: Caller) -> RateLease:
        """Charge the request, and return its lease. Raises RateLimited or TooManyInFlight."""
        request.event.key = caller.key.id
        lease = request.lease = self.rates.lease(caller)
        if lease.usage.shared is not None:  # a single process does not wait
            await lease.exchange()
        try:
            lease.enter()
        except errors.RateLimited:
            # A request with `no-cache` has a higher price, which sets the seconds to wait.
            may_be_fresh = asks_for_fresh(request.head) or b"no-cache=" in parameters.asked
            if may_be_fresh and request.event.method in ("GET", "HEAD"):
                lease.charge(FRESH_PRICE)
            raise
        return lease


def _authorised(
    caller: Caller, spreadsheet: str | None, title: str, writes: Sequence[Right]
) -> tuple[Target, str]:
    """Authorise access to a worksheet by its title, or by another decoding of the title.

    Returns the target and the name of the decoding, which is "" for the title as it is. Raises
    the errors of `authorise`.
    """
    try:
        return authorise(caller, spreadsheet=spreadsheet, worksheet=title, writes=writes), ""
    except errors.NotGranted:
        for reading, other in other_titles(title, caller.key.grants.worksheets or ()):
            target = authorise(caller, spreadsheet=spreadsheet, worksheet=other, writes=writes)
            return target, reading
        raise


def find_credentials(head: Head, parameters: bytes) -> tuple[str | None, str | None]:
    """Find API key and spreadsheet ID in headers and in `parameters`, an encoded query string.

    An absent one is None. Raises AmbiguousCredentials for two different values.
    """
    key = _find_key(head, parameters)
    spreadsheets = _in_headers(head, SPREADSHEET_HEADERS)
    if parameters:
        spreadsheets += _in_url(parameters, SPREADSHEET_PARAMETER)
    return key, _only(spreadsheets, "spreadsheet IDs")


def _find_key(head: Head, parameters: bytes) -> str | None:
    in_url = _in_url(parameters, KEY_PARAMETER) if parameters else []
    return _only(_in_headers(head, KEY_HEADERS) + in_url, "API keys")


def _without_scheme(value: str) -> str:
    scheme, _, key = value.strip().partition(" ")
    return key.strip() if scheme.lower() == "bearer" else value.strip()


KEY_HEADERS: Mapping[bytes, Callable[[str], str]] = {
    b"authorization": _without_scheme,
    b"authentication": _without_scheme,
    b"api-key": str.strip,
    b"x-api-key": str.strip,
}
SPREADSHEET_HEADERS: Mapping[bytes, Callable[[str], str]] = {
    b"x-spreadsheet-id": str.strip,
    b"x-sheetson-spreadsheet-id": str.strip,
}


def _in_headers(head: Head, places: Mapping[bytes, Callable[[str], str]]) -> list[str]:
    """Return the values of headers that are not empty. `places` has a parser by header name."""
    found: list[str] = []
    for name, read in places.items():
        for value in head.lines.get(name, ()):
            if text := read(value.decode("latin-1")):
                found.append(text)
    return found


def _in_url(parameters: bytes, name: str) -> list[str]:
    given = asking_of(parameters).parameters.get(name, ())
    return [text for value in given if (text := value.strip())]


def _only(values: Sequence[str], what: str) -> str | None:
    """Return the only value, or None without a value.

    Raises AmbiguousCredentials for different values, which the message calls `what`.
    """
    if not values:
        return None
    if len(values) > 1 and len(set(values)) > 1:
        raise errors.AmbiguousCredentials(f"The request has different {what}. Send only one.")
    return values[0]


MAX_KEPT = 4096
LONGEST_TITLE = 256
"""Maximum characters of a title in the cache. A read with a longer title is not cached."""

_CREDENTIAL_HEADERS = frozenset((*KEY_HEADERS, *SPREADSHEET_HEADERS, b"origin"))
"""Headers that can change the rights of a read, and so are part of the cache key."""

_DIGEST_BYTES = 16


class CachedCaller(NamedTuple):
    """Cache entry: an authorised caller and worksheet.

    `until_seconds` is the expiry of the entry, in seconds of the cache's timer.
    """

    caller: Caller
    target: Target
    until_seconds: float
    reading: str
    """Name of the lenient decoding of the worksheet's title; "" for the plain title."""


@dataclass(frozen=True)
class AuthCache:
    """Cache of authorised reads.

    `fresh_until` returns the time when the active keys must be refreshed, in seconds of `timer`.
    """

    fresh_until: Callable[[], float]
    timer: Callable[[], float] = time.monotonic
    _secret: bytes = field(default_factory=partial(secrets.token_bytes, 16), repr=False)
    _kept: dict[bytes, CachedCaller] = field(default_factory=dict, repr=False)

    def find(
        self, head: Head, credentials: bytes, segment: str
    ) -> tuple[bytes, CachedCaller | None]:
        """Return the cache key of a request, and its valid entry or None.

        `credentials` are the encoded query parameters for credentials. `segment` is the encoded
        name of the worksheet from the path.
        """
        # No header or URL contains the separators: line feed and NUL.
        parts = [self._secret, credentials, segment.encode("latin-1", "replace")]
        for name, values in head.lines.items():
            if name in _CREDENTIAL_HEADERS:
                parts += (name, b"\0".join(values))
        key = blake2b(b"\n".join(parts), digest_size=_DIGEST_BYTES).digest()
        found = self._kept.get(key)
        is_valid = found is not None and self.timer() < found.until_seconds
        return key, found if is_valid else None

    def put(self, key: bytes, caller: Caller, target: Target, reading: str = "") -> None:
        """Cache an authorised read, unless its API key has an expiry or its title is too long.

        `key` is the cache key from `find`, `reading` the name of the title's lenient decoding. A
        full cache is cleared.
        """
        if caller.key.expires_at or len(target.worksheet.title) > LONGEST_TITLE:
            return
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[key] = CachedCaller(caller, target, self.fresh_until(), reading)

    def clear(self) -> None:
        self._kept.clear()
