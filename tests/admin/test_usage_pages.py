"""The Usage pages: sums by hour and by key, worksheet or code."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest

from gateway.admin.usage import chart, first_hour
from gateway.telemetry.events import configure_logging, reset_logging
from tests.admin.conftest import NASTY, Console, odd_tags

COUNTED = ("requests", "refused", "reads", "writes")
NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def mixed_requests(console: Console) -> list[dict[str, Any]]:
    """Send reads, writes and invalid requests with several keys, and return their log lines."""
    written, ask = StringIO(), console.surface.send
    configure_logging(written, form="json")
    try:
        for _ in range(3):
            ask("GET", "Cities?limit=1")
        ask("GET", "Cities?limit=1&values=typed", key="free")
        ask("POST", "New", body=b'{"name":"x"}')
        ask("GET", "Cities?order=name", key="free")
        ask("GET", "Nowhere")
        ask("GET", "Cities", key=None)
        ask("GET", "/v3")
        console.call(asyncio.sleep, 0.0)  # the log is written at the end of a loop turn
    finally:
        reset_logging()
    return [each for each in map(json.loads, written.getvalue().splitlines()) if "path" in each]


def place(line: Mapping[str, Any], by: str) -> object:
    """Return the group of a log line."""
    if by == "key":
        return line["key"]
    if by == "code":
        return line["code"] or 0
    return (line["spreadsheet"], line["worksheet"] or "") if line["code"] is None else ("", "")


def grouped(found: Mapping[str, Any]) -> Counter[tuple[object, str]]:
    names = {"key": ["key"], "code": ["code"], "sheet": ["spreadsheet", "worksheet"]}[found["by"]]
    return Counter(
        {
            (
                tuple(each[name] for name in names) if len(names) > 1 else each[names[0]],
                count,
            ): each[count]
            for each in found["groups"]
            for count in COUNTED
        }
    )


@pytest.mark.parametrize("by", ["key", "sheet", "code"])
def test_sums_equal_the_log(console: Console, by: str) -> None:
    """Each request is counted at once, in exactly one group and one hour."""
    before = console.json("/usage", by=by)
    lines = mixed_requests(console)
    after = console.json("/usage", by=by)

    expected: Counter[tuple[object, str]] = Counter()
    for line in lines:
        counts = (1, line["code"] is not None, line["reads"], line["writes"])
        for name, count in zip(COUNTED, counts, strict=True):
            expected[place(line, by), name] += count
    added = grouped(after)
    added.subtract(grouped(before))
    assert +added == +expected
    assert sum(expected[each] for each in expected if each[1] == "refused") == 4
    for name in COUNTED:
        total = after["total"][name]
        assert total == sum(each[name] for each in after["hours"])
        assert total == sum(each[name] for each in after["groups"])


def test_groups_have_names_and_are_sorted_by_use(console: Console) -> None:
    """Groups are sorted by requests and have key names with links; `key` filters the usage."""
    mixed_requests(console)
    found, key_id = console.json("/usage"), console.key_id("deleting")
    console.surface.send("GET", "Cities", key="deleting")
    one = console.json("/usage", key=key_id, by="sheet")
    page, narrow = console.page("/usage"), console.page("/usage", key=key_id, by="code")

    counts = [each["requests"] for each in found["groups"]]
    assert counts == sorted(counts, reverse=True)
    assert {"paid", "free", ""} <= {each["name"] for each in found["groups"]}
    assert one["total"]["requests"] == sum(each["requests"] for each in one["groups"])
    assert 0 < one["total"]["requests"] < found["total"]["requests"]
    assert f'href="/requests?key={key_id}">deleting</a>' in page
    assert "of key deleting" in narrow


@pytest.mark.parametrize(
    ("query", "status", "hours"),
    [
        ("", 200, 24),
        ("since=1h", 200, 1),
        ("since=7d", 200, 168),
        ("since=90d", 200, 720),
        ("since=2020-01-01", 200, 720),
        ("since=2999-01-01T00:00:00Z", 200, 1),
        ("since=yesterday", 400, 0),
        ("since=1e9h", 400, 0),
        ("since=0001-01-01T00:00:00%2B14:00", 400, 0),
        ("by=worksheet", 400, 0),
        ("of=key", 400, 0),
    ],
)
def test_usage_covers_whole_hours(console: Console, query: str, status: int, hours: int) -> None:
    """Usage includes the current hour and at most 30 days; an invalid time gets 400."""
    answer = console.send("GET", f"/admin/v1/usage?{query}")

    assert answer.status_code == status
    if hours:
        since = datetime.fromisoformat(answer.json()["since"])
        present = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        assert (present - since) / timedelta(hours=1) + 1 in (hours, hours + 1)
    else:
        assert answer.json()["code"] == 4002


@pytest.mark.parametrize(
    ("ago", "unit", "first", "last", "count"),
    [
        (timedelta(hours=24), "hour", "13:00", "12:00", 24),
        (timedelta(hours=1), "hour", "12:00", "12:00", 1),
        (timedelta(days=30), "day", "30 Jan", "01 Mar", 31),
    ],
)
def test_bars_have_every_hour_or_day(
    ago: timedelta, unit: str, first: str, last: str, count: int
) -> None:
    """The chart has a bar for each hour or day, even without requests, and a round maximum."""
    since = first_hour(NOW - ago, NOW)
    hour = NOW.replace(minute=0).isoformat()
    found = {
        "since": since.isoformat(),
        "hours": [{"hour": hour, "requests": 340, "refused": 40}],
    }

    made = chart(found, NOW)
    bars: Any = made["bars"]

    assert (made["unit"], made["top"], len(bars)) == (unit, 500, count)
    assert (bars[0][0], bars[-1]) == (first, (last, 340, 40))
    assert sum(requests for _, requests, _ in bars) == 340


def test_user_texts_are_shown_as_texts(console: Console) -> None:
    """Names of keys, titles and paths are escaped on every page of usage and requests."""
    quoted = "".join(f"%{byte:02x}" for byte in NASTY.encode())
    console.surface.send("GET", quoted)
    console.surface.send("GET", f"{quoted}/{quoted}", key="narrow")
    console.surface.send("GET", f"/<script>alert(1)</script>{quoted}")
    console.send("POST", "/check")
    pages = [
        console.page("/"),
        *(console.page("/usage", by=by) for by in ("key", "sheet", "code")),
        console.page("/usage", key=console.key_id("narrow")),
        console.page("/usage", key=NASTY),
        console.page("/requests"),
        console.page("/requests", code="any", since="1h"),
        console.page("/requests", key=NASTY),
    ]

    assert [odd for page in pages for odd in odd_tags(page)] == []
    assert [page for page in pages if "<script>alert" in page] == []
    assert all("&lt;script&gt;alert(1)" in page for page in (pages[0], pages[1], pages[2]))
