"""The Requests page: lines of the log with filters and pages, without values and secrets."""

import asyncio
import json
import subprocess
import sys
from io import StringIO
from urllib.parse import quote

import pytest

from gateway.telemetry.events import (
    KEPT_REQUESTS,
    RequestEvent,
    configure_logging,
    request_done,
    reset_logging,
    tallies,
)
from tests.admin.conftest import Console, odd_tags
from tests.admin.test_usage_pages import mixed_requests

CANARY = "Canary58c1"


@pytest.fixture(autouse=True)
def no_requests(console: Console) -> None:
    """Clear the recorded requests before each test."""
    tallies.recent.clear()


def test_requests_equal_the_log(console: Console) -> None:
    """The list has the log's lines with all members, newest first, without the console's
    own requests.
    """
    lines = mixed_requests(console)
    console.page("/usage")
    found = console.json("/requests")

    assert found["requests"] == lines[::-1]
    assert (found["total"], found["next"]) == (len(lines), None)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 9),
        ("code=any", 4),
        ("code=0", 5),
        ("code=4034", 1),
        ("code=4999", 0),
        ("key=paid", 5),
        ("key=free&code=any", 1),
        ("key=free&code=0&since=5m", 1),
        ("key=key_unknown", 0),
        ("since=1h", 9),
        ("since=2999-01-01", 0),
        ("until=2020-01-01", 0),
        ("code=x", 400),
        ("code=-1", 400),
        ("code=%D9%A3", 400),
        ("since=x", 400),
        ("until=x", 400),
        ("skip=-1", 400),
        ("limit=1", 400),
    ],
)
def test_requests_are_filtered(console: Console, query: str, count: int) -> None:
    """Requests are filtered by key, code and time, and the page shows the same number as
    the API.
    """
    if count < 400:
        mixed_requests(console)
    for name in ("paid", "free"):
        query = query.replace(f"key={name}", f"key={console.key_id(name)}")

    answer = console.send("GET", f"/admin/v1/requests?{query}")
    page = console.send("GET", f"/requests?{query}").content.decode()

    if count == 400:
        assert (answer.status_code, answer.json()["code"]) == (400, 4002)
        return
    assert answer.json()["total"] == len(answer.json()["requests"]) == count
    assert f"of <b>{count}</b> request" in page
    assert odd_tags(page) == []
    if "code=any" in query:
        assert '<option value="any" selected>' in page


def test_pages_have_each_line_once_despite_new_requests(console: Console) -> None:
    """The links to older requests give each line once while new requests arrive."""
    for number in range(2_500):
        request_done(RequestEvent(f"r{number}", "GET", "/v2", 200), 0.001)
    seen: list[str] = []
    following: dict[str, str] | None = {}
    while following is not None:
        found = console.json("/requests", **following)
        seen += [each["id"] for each in found["requests"]]
        following = found["next"]
        request_done(RequestEvent("later", "GET", "/v2", 200), 0.001)
    page = console.page("/requests")

    assert seen == [f"r{number}" for number in reversed(range(2_500))]
    assert "50 of <b>2,503</b> requests" in page
    assert "Older" in page


def test_requests_contain_no_value_and_no_secret(console: Console) -> None:
    """Recorded requests have no parameter values, cells, bodies, keys or session cookies."""
    key, ask = console.surface.keys["paid"], console.surface.send
    where = quote(json.dumps({"name": CANARY}))
    console.surface.sheets.add("Secret", [["name"], [CANARY]])
    ask("GET", "Secret?limit=5")
    ask("GET", f"Cities?where={where}&order={CANARY}&{CANARY}={CANARY}")
    ask("POST", "Cities", body=json.dumps({"name": CANARY}).encode())
    ask("GET", f"Cities?apiKey={key}", key=None)
    ask("GET", f"/v2/sheets/Cities/apiKey={key}", key=None)
    ask("GET", f"/{quote(key)}/{console.admin_key}", key=None)
    ask("GET", f"/{console.admin_key}", key=None)
    ask("GET", f"/v2/sheets/{console.session}")
    ask("GET", f"/https://user:{CANARY}@host/v2")
    ask("GET", f"Cities/%73gw_{CANARY}", headers=[("Cookie", f"a={CANARY}")])
    texts = [console.page("/requests"), console.page("/"), json.dumps(console.json("/requests"))]

    assert len(tallies.recent) == 10
    for text in texts:
        for secret in (CANARY, key, key[4:20], console.admin_key, console.session):
            assert secret not in text
    assert "***" in texts[0]


def test_requests_are_recorded_with_a_console_only(console: Console) -> None:
    """A console has the latest KEPT_REQUESTS requests; a gateway without a console records none."""
    for number in range(KEPT_REQUESTS + 5):
        request_done(RequestEvent(str(number), "GET", "/v2", 200), 0.001)
    kept = len(tallies.recent)
    program = (
        "import sys, gateway.commands.serve\n"
        "from gateway.telemetry.events import RequestEvent, request_done, tallies\n"
        "request_done(RequestEvent('r', 'GET', '/v2', 200), 0.001)\n"
        "sys.exit(len(tallies.recent) or 'jinja2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)  # noqa: S603

    assert kept == KEPT_REQUESTS
    assert done.returncode == 0


def test_a_recorded_request_is_the_event_of_the_log(console: Console) -> None:
    """The list of requests holds the same event object as the log, without a copy."""
    written = StringIO()
    configure_logging(written, form="json")
    event = RequestEvent("r1", "GET", "/v2/sheets/x", 200)
    try:
        request_done(event, 0.001)
        console.call(asyncio.sleep, 0.0)
    finally:
        reset_logging()

    assert tallies.recent[-1] is event
    assert json.loads(written.getvalue())["id"] == "r1"
