"""Operations of the API for the console, with the grants and the plan of a key.

Rules
- An operation runs as every request of the API does (`gateway.web.frame.respond`), in process and
  with the same refusals; only its caller is given. So the console shows nothing that the key may
  not see.
- It is not charged to the key's rate. Its calls to Google are counted for the page's log line, with
  the key and the administrator.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from starlette.types import Message

from gateway.access.caller import Caller
from gateway.access.keys import WhereFrom, caller_of
from gateway.access.pepper import row_tag_key
from gateway.access.rates import KeyRates
from gateway.errors import PlanLimit
from gateway.settings.plans import PlanSettings
from gateway.storage.key_store import KeyRecord
from gateway.telemetry.events import RequestEvent
from gateway.web.admission import Admission, AuthCache
from gateway.web.frame import respond
from gateway.web.head import HEAD, read_head
from gateway.web.request import Request
from gateway.web.state import State

MOST_KEYS = 100
"""Maximum number of keys to choose from."""
_NO_LIMIT = {"requests_per_minute": 0, "max_concurrent": 0}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The answer to an operation; `headers` have names in lower case."""

    body: Any
    headers: Mapping[str, str]


class ActingAs:
    """Runs operations for a page of the console."""

    def __init__(self, request: Request, plans: Mapping[str, PlanSettings], pepper: bytes) -> None:
        self._request = request
        self._plans = plans
        self._pepper = pepper

    async def keys(self) -> Sequence[KeyRecord]:
        """The first `MOST_KEYS` active keys, oldest first."""
        store, now = self._request.state["store"], self.now()
        found, _ = await store.page(lambda _: None, limit=MOST_KEYS, active_first_at=now)
        return [each for each in found if each.is_active(now)]

    @staticmethod
    def now() -> datetime:
        return datetime.now(UTC)

    def caller(self, record: KeyRecord) -> Caller:
        """The caller with a key. Raises PlanLimit if its plan is not configured."""
        caller = caller_of(record, self._plans, row_tag_key(self._pepper))
        if caller is None:
            raise PlanLimit(f"The plan '{record.plan}' of this key is not configured.")
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
        """Run a request below `/v2/sheets`. Raises the GatewayError of a refusal."""
        page, sent = self._request, b"" if body is None else json.dumps(body).encode()
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
            page.event.key, page.event.cache = caller.key_id, event.cache
            page.event.spreadsheet, page.event.worksheet = event.spreadsheet, event.worksheet
        content = answer.body if isinstance(answer.body, bytes) else b""
        return Reply(
            body=json.loads(content) if content else None,
            headers={name.decode(): value.decode("latin-1") for name, value in answer.headers},
        )


def _admission_of(caller: Caller) -> Admission:
    """Make an admission of every request as this caller, without a rate limit."""

    async def identify(_key: str | None, _where_from: WhereFrom) -> Caller:
        return caller

    plan = caller.plan.model_copy(update=_NO_LIMIT)
    rates = KeyRates({caller.plan_name: plan})
    return Admission(identify, rates, AuthCache(lambda: 0.0), proxies=())
