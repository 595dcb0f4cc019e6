"""Requests to the console and the admin API, and the results that handlers return.

Rules for API requests that a page runs with the rights and the plan of a key
- `AdminRequest.run` calls `gateway.web.frame.respond` in this process, as a request over HTTP does,
  but with a known caller. So the console shows nothing that the key is not allowed to see.
- The API request does not count for the rate of the key. The log line of the page has its calls to
  Google, the key and the administrator.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.types import Message

from gateway.access.caller import Caller
from gateway.access.keys import WhereFrom, caller_of
from gateway.access.pepper import row_tag_key
from gateway.access.rates import KeyRates
from gateway.errors import GatewayError, InvalidQuery, PlanLimit
from gateway.settings.model import Settings
from gateway.storage.admin_secrets import AdminSecret
from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.table.quoting import quoted
from gateway.telemetry.events import RequestEvent
from gateway.web.admission import Admission, AuthCache
from gateway.web.frame import respond
from gateway.web.head import HEAD, read_head
from gateway.web.request import Request
from gateway.web.state import State

if TYPE_CHECKING:
    from gateway.admin.status import Checks

MOST_KEYS = 100
"""Maximum number of keys in the selection list of a page."""
_NO_LIMIT = {"requests_per_minute": 0, "max_concurrent": 0}
_HEADER = re.compile("(?:the time in |as many seconds as )?'?Retry-After'?(?: says)?")
"""Reference to the header in a message of the API. Browsers do not show headers."""
_AGO = re.compile("([0-9]{1,5})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Answer to `AdminRequest.run`: decoded JSON body or None, and headers by lower-case name."""

    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class AdminRequest:
    """Authenticated request of an administrator to the console or the admin API."""

    request: Request
    settings: Settings
    pepper: bytes = field(repr=False)
    admin: AdminSecret
    id: str
    """Value of `{id}` in the path; "" if the path has no `{id}`."""
    query: Sequence[tuple[str, str]]
    form: Sequence[tuple[str, str]] = ()
    """Names and values of the form that a page sent."""
    members: Mapping[str, Any] = field(default_factory=dict)
    """Decoded JSON body of a request to the admin API, valid for the struct in `OPERATIONS`."""
    api_url: str
    checks: "Checks"
    started: datetime
    """Time at which this process created the console."""

    @property
    def store(self) -> KeyStore:
        return self.request.state["store"]

    @property
    def author(self) -> str:
        """Author of edits in the key store: name and ID of the admin key."""
        return f"{self.admin.name} ({self.admin.key_id})"

    def asked(self, name: str) -> str:
        """Return the first value of a query parameter, or "" if the parameter is missing."""
        return next((value for known, value in self.query if known == name), "")

    async def keys(self) -> Sequence[KeyRecord]:
        """Return at most `MOST_KEYS` active keys, the oldest first."""
        now = self.now()
        found, _ = await self.store.page(lambda _: None, limit=MOST_KEYS, active_first_at=now)
        return [each for each in found if each.is_active(now)]

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC)

    def caller(self, record: KeyRecord) -> Caller:
        """Return the caller of a key. Raises PlanLimit if the key's plan is not configured."""
        caller = caller_of(record, self.settings.plans, row_tag_key(self.pepper))
        if caller is None:
            raise PlanLimit(
                f"The plan '{record.plan}' of this key is not in the settings. Add the plan, or "
                "give the key another plan."
            )
        return caller

    async def run(
        self,
        caller: Caller,
        method: str,
        *path: str,
        spreadsheet: str,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Reply:
        """Run an API request as this caller. Raises GatewayError.

        `path` has the segments after `/v2/sheets`, not yet encoded. `body` is sent as JSON.
        """
        page, sent = self.request, b"" if body is None else json.dumps(body).encode()
        raw_path = "/".join(["/v2/sheets", *(quote(each, safe="") for each in path)])
        lines = {"X-Spreadsheet-Id": spreadsheet, "Content-Type": "application/json"}
        pairs = [
            (name.lower().encode(), value.encode())
            for name, value in {**lines, **(headers or {})}.items()
            if value
        ]
        scope = {
            **page.scope,
            "method": method,
            "path": raw_path,
            "raw_path": raw_path.encode(),
            "query_string": urlencode(parameters or {}).encode(),
            "headers": pairs,
        }
        scope.pop(HEAD, None)

        async def receive() -> Message:
            return {"type": "http.request", "body": sent, "more_body": False}

        state: State = {**page.state, "admission": _admission_of(caller)}
        event = RequestEvent(page.event.id, method, raw_path)
        inner = Request(scope, receive, read_head(pairs), event, state, ())
        try:
            answer = await respond(inner)
        finally:
            if inner.lease is not None:
                inner.lease.leave()
            page.event.key, page.event.cache = caller.key.id, event.cache
            page.event.spreadsheet, page.event.worksheet = event.spreadsheet, event.worksheet
        content = answer.body if isinstance(answer.body, bytes) else b""
        return Reply(
            body=json.loads(content) if content else None,
            headers={name.decode(): value.decode("latin-1") for name, value in answer.headers},
        )


def _admission_of(caller: Caller) -> Admission:
    """Create an admission that accepts every request as this caller, without a rate limit."""

    async def identify(_key: str | None, _where_from: WhereFrom) -> Caller:
        return caller

    plan = caller.plan.model_copy(update=_NO_LIMIT)
    rates = KeyRates({caller.key.plan: plan})
    return Admission(identify, rates, AuthCache(lambda: 0.0), proxies=())


@dataclass(frozen=True, kw_only=True)
class Page:
    template: str
    values: Mapping[str, object]
    status: int = 200


@dataclass(frozen=True, kw_only=True)
class Json:
    """JSON answer of the admin API. `content` is the body, not yet encoded."""

    content: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Redirect:
    """Redirect to another page of the console."""

    location: str


def url(path: str, **parameters: object) -> str:
    """Return a URL of the console, without parameters that are "" or None."""
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path


def message_of(error: GatewayError) -> str:
    """Return the message for a page, with the seconds instead of the header `Retry-After`."""
    seconds = error.retry_after_seconds
    if seconds is None:
        return error.message
    return _HEADER.sub(f"{seconds} {'second' if seconds == 1 else 'seconds'}", error.message)


def instant(text: str, now: datetime) -> datetime:
    """Parse an ISO 8601 time, by default UTC, or a duration before now, such as `24h`.

    Raises InvalidQuery.
    """
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidQuery(
            f"{quoted(text)} is not a time. Send a time such as 2026-02-01T10:30:00Z, or a "
            "duration before now, such as 24h."
        ) from error


def moment(kind: str, text: str) -> str:
    """Add seconds that browsers omit to a date-time or time. Returns other texts unchanged."""
    try:
        if kind == "date-time":
            found: datetime | time = datetime.fromisoformat(text)
        elif kind == "time":
            found = time.fromisoformat(text)
        else:
            return text
    except ValueError:
        return text
    return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds")
