"""Latest requests to this process: the members of their log lines, without cells and secrets."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from gateway.admin.pages import AdminRequest, Page, instant
from gateway.errors import InvalidQuery
from gateway.telemetry.events import RequestEvent, encoded_lines, tallies

PAGE_LINES, SHOWN_LINES = 1_000, 50
ANY = "any"
"""Value of `code` that matches every refused request. The value 0 matches successful requests."""
_NUMBER = re.compile("[0-9]{1,5}")
_SPANS = {"": "any time", "5m": "5 minutes", "1h": "1 hour", "24h": "24 hours"}


async def requests(asked: AdminRequest, limit: int = PAGE_LINES) -> dict[str, Any]:
    """Return `requests` (at most `limit`, the newest first), their `total`, and `next`.

    The query parameters `key`, `code`, `since` and `until` select requests. `next` has the
    parameters `until` and `skip` of the next page, or is None on the last page.
    """
    now = asked.now()
    key_id, code, skip = asked.asked("key"), asked.asked("code"), asked.asked("skip") or "0"
    if not _NUMBER.fullmatch(code) and code not in ("", ANY):
        raise InvalidQuery(
            'code must be the code of an error, 0 for successful requests, or the word "any".'
        )
    if not _NUMBER.fullmatch(skip):
        raise InvalidQuery("skip must be a number of requests, 0 or more.")
    since, until = (instant(asked.asked(name) or "0s", now) for name in ("since", "until"))
    if not asked.asked("since"):
        since = datetime.min.replace(tzinfo=UTC)

    def is_wanted(event: RequestEvent) -> bool:
        number, at = event.code or 0, event.timestamp or now
        has_code = not code or (number > 0 if code == ANY else number == int(code))
        return has_code and key_id in ("", event.key) and since <= at <= until

    found = [event for event in reversed(tallies.recent) if is_wanted(event)]
    first, last = int(skip), int(skip) + limit
    lines = [json.loads(encoded_lines([each])) for each in found[first:last]]
    going_on = {"until": f"{until:%Y-%m-%dT%H:%M:%S.%fZ}", "skip": str(last)}
    return {"requests": lines, "total": len(found), "next": going_on if last < len(found) else None}


async def requests_page(asked: AdminRequest) -> Page:
    found = await requests(asked, SHOWN_LINES)
    view = {name: asked.asked(name) for name in ("key", "code", "since")}
    seen = {event.key for event in tallies.recent if event.key} | ({view["key"]} - {""})
    names = await asked.store.names(seen)
    codes = {str(event.code) for event in tallies.recent if event.code is not None}
    values = {
        **found,
        "names": names,
        "view": view,
        "keys": sorted((names.get(key_id, key_id), key_id) for key_id in seen),
        "codes": sorted(codes | ({view["code"]} - {"", "0", ANY}), key=int),
        "spans": {**_SPANS, view["since"]: _SPANS.get(view["since"], view["since"])},
        "kept": tallies.recent.maxlen,
        "is_first": not asked.asked("skip"),
    }
    return Page(template="requests.html", values=values)
