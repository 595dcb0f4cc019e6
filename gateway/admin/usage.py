"""Requests, rows, bytes and Google calls of keys by the hour, in the last 30 days."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from gateway.admin.pages import AdminRequest, Page, instant
from gateway.errors import InvalidQuery
from gateway.storage.usage import HOUR, KEPT, SUMMED, begin_of_hour

BY: Mapping[str, Sequence[str]] = {
    "key": ("key_id",),
    "sheet": ("spreadsheet", "worksheet"),
    "code": ("code",),
}
MOST_GROUPS, SHOWN_GROUPS = 1_000, 100
_KINDS = {"key": "By key", "sheet": "By worksheet", "code": "By code"}
_SPANS = {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}
_HOURLY = timedelta(hours=48)
"""Longest time of a chart with a bar for each hour. A longer chart has a bar for each day."""


async def usage(asked: AdminRequest) -> dict[str, Any]:
    """Return the result of `use_by_hour`, and `groups`: sums by key, worksheet or error code.

    The query parameter `by` selects the groups. Only the `MOST_GROUPS` largest are returned.
    """
    by = asked.asked("by") or "key"
    if by not in BY:
        raise InvalidQuery(f"by must be one of {', '.join(BY)}.")
    store, hours = asked.store, await use_by_hour(asked)
    since = datetime.fromisoformat(hours["since"])
    groups = await store.usage(BY[by], since, asked.asked("key") or None, MOST_GROUPS)
    if by == "key":
        names = await store.names([each["key_id"] for each in groups])
        for each in groups:
            each["name"] = names.get(each["key_id"], "")
            each["key"] = each.pop("key_id") or None
    return {**hours, "by": by, "groups": groups}


async def use_by_hour(asked: AdminRequest) -> dict[str, Any]:
    """Return `since` (a full hour), `total` (sums since then), and `hours` (sums of each hour).

    Before that, stores this process's counts.
    """
    now = asked.now()
    since = first_hour(instant(asked.asked("since") or "24h", now), now)
    await asked.request.state["flush_usage"]()
    hours = await asked.store.usage(["hour"], since, asked.asked("key") or None)
    return {
        "since": since.isoformat(),
        "total": {name: sum(each[name] for each in hours) for name in SUMMED},
        "hours": sorted(hours, key=itemgetter("hour")),
    }


def first_hour(since: datetime, now: datetime) -> datetime:
    """Return the first full hour at or after `since`, or after `now - KEPT` if that is later.

    The result is at most the hour of `now`.
    """
    since = max(since, now - KEPT)
    hour = begin_of_hour(since)
    return min(hour if hour == since else hour + HOUR, begin_of_hour(now))


def chart(found: Mapping[str, Any], now: datetime) -> dict[str, object]:
    """Return template values of a bar chart of `found`, a result of `use_by_hour`.

    The values are `bars`, `top` (the scale's maximum) and `unit` ("hour" or "day", the time of a
    bar). A bar is a label, the number of requests, and the number of refused requests.
    """
    since = datetime.fromisoformat(found["since"])
    is_hourly = now - since <= _HOURLY
    length, form = (13, "%H:00") if is_hourly else (10, "%d %b")
    sums: dict[str, list[int]] = {}
    at = since
    while at <= now:
        sums.setdefault(at.isoformat()[:length], [0, 0])
        at += HOUR
    for each in found["hours"]:
        place = sums.setdefault(each["hour"][:length], [0, 0])
        place[0] += each["requests"]
        place[1] += each["refused"]
    highest = max(10, *(requests for requests, _ in sums.values()))
    steps = (step * 10**power for power in range(18) for step in (1, 2, 5))
    bars = [
        (f"{datetime.fromisoformat(begin):{form}}", requests, refused)
        for begin, (requests, refused) in sums.items()
    ]
    unit = "hour" if is_hourly else "day"
    return {"bars": bars, "top": next(each for each in steps if each >= highest), "unit": unit}


async def usage_page(asked: AdminRequest) -> Page:
    found, key_id = await usage(asked), asked.asked("key")
    names = await asked.store.names([key_id])
    values = {
        **found,
        "view": {"since": asked.asked("since") or "24h", "by": found["by"], "key": key_id},
        "groups": found["groups"][:SHOWN_GROUPS],
        "more": len(found["groups"]) > SHOWN_GROUPS,
        "name": names.get(key_id, key_id),
        "chart": chart(found, asked.now()),
        "choices": {"since": _SPANS, "by": _KINDS},
    }
    return Page(template="usage.html", values=values)
