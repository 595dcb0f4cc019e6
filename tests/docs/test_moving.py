"""Requests in the how-to on moving from other services."""

import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

import httpx2
import pytest

from gateway.commands.demo import Demo, running_demo
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.server.sockets import bind
from tests.docs.blocks import TOP

PAGE = (TOP / "docs" / "how-to" / "move-from-other-services.md").read_text("utf-8")
ROWS = [
    line.split(" | ")[1]
    for line in PAGE.splitlines()
    if re.match(r"\| `?(?:GET|POST|PUT|PATCH|DELETE) ", line.replace("`", "", 1))
]
_REQUEST = re.compile(r"`(GET|POST|PATCH|DELETE) (/\w+)(?:\?([^`]*))?`(?: with `([^`]+)`)?")
REQUESTS = sorted({found.groups() for row in ROWS for found in _REQUEST.finditer(row)}, key=str)
NONE = ("the same `PATCH`", "add `max-affected=1`")
"""Starts of table cells that describe no request."""


@pytest.fixture
def demo() -> Iterator[Demo]:
    with running_demo(bind("127.0.0.1", 0), {}) as running:
        yield running


def test_every_line_has_a_counterpart() -> None:
    """Each line of the page has a request, or says why there is none."""
    without = [row for row in ROWS if not _REQUEST.search(row) and not row.startswith(NONE)]

    assert without == []
    assert len(ROWS) == 18
    assert len(REQUESTS) == 12


@pytest.mark.parametrize(("method", "path", "query", "body"), REQUESTS)
def test_a_counterpart_works(
    demo: Demo, method: str, path: str, query: str | None, body: str | None
) -> None:
    """Each documented request succeeds on the demo and gives rows."""
    answer = httpx2.request(
        method,
        f"{demo.url}/v2/sheets{path}",
        params=dict(parse_qsl(query or "")),
        headers={"API-Key": demo.full_key, "X-Spreadsheet-Id": DEMO_SPREADSHEET},
        json=None if body is None else json.loads(body),
    )

    assert answer.is_success, answer.text
    found = answer.json()["results"]
    assert found or dict(parse_qsl(query or "")).get("skip")


def test_an_update_over_max_affected_is_rejected(demo: Demo) -> None:
    """An update with `max-affected` below the number of matching rows gets 400."""
    answer = httpx2.patch(
        f"{demo.url}/v2/sheets/Orders",
        params={"where": '{"state":"open"}', "max-affected": "1"},
        headers={"API-Key": demo.full_key},
        json={"state": "paid"},
    )

    assert (answer.status_code, answer.json()["code"]) == (400, 4005)
