"""Endpoints that read: fresh data, headers about freshness, and counts by operation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from starlette.testclient import TestClient

from gateway.query.place import Seal
from gateway.query.query import Query
from gateway.settings.model import PlanSettings
from gateway.storage.key_store import Grants
from gateway.telemetry.events import RequestKind, tallies
from gateway.worksheets.access import Target
from gateway.worksheets.answers import Encoded, Encoder, Freshness, Paging, Served, with_digests
from tests.callers import make_caller
from tests.web.endpoints import opened

RECORD = {"rowIndex": 7, "name": "Boston", "state": None}
FRESHNESS = Freshness(age_seconds=1.5, ttl_seconds=3.5, is_hit=True)
CALLER = make_caller(Grants(spreadsheets=frozenset({"demo"})), PlanSettings(max_limit=50))
PLACES = [pytest.param("Cities", id="list"), pytest.param("Cities/7", id="row")]


@dataclass
class FakeRows:
    """Fake service: it records how it is called and always finds the same row."""

    encoders: set[object] = field(default_factory=set)
    fresh: list[bool] = field(default_factory=list)

    async def list_rows(
        self,
        target: Target,
        query: Query,
        encoder: Encoder,
        *,
        no_cache: bool = False,
        unknown: Sequence[str] = (),
        seal: Seal | None = None,
        text_bytes: int = 0,
    ) -> Served:
        self.encoders.add(encoder)
        self.fresh.append(no_cache)
        total = 1 if query.wants_total else None
        page = encoder.page(with_digests([encoder.row(RECORD)]), Paging(False, total))
        return Served(page, FRESHNESS)

    async def read_row(
        self,
        target: Target,
        row: int,
        keys: Sequence[str] | None,
        encoder: Encoder,
        *,
        no_cache: bool = False,
        unknown: Sequence[str] = (),
        text_bytes: int = 0,
    ) -> Served:
        self.encoders.add(encoder)
        self.fresh.append(no_cache)
        return Served(Encoded(encoder.row(RECORD), '"row"'), FRESHNESS)


@pytest.fixture
def rows() -> FakeRows:
    """The fake service behind the endpoints."""
    return FakeRows()


@pytest.fixture
def client(rows: FakeRows) -> Iterator[TestClient]:
    """Test client of the worksheet endpoints, on the fake service."""
    with opened(rows, CALLER) as client:
        yield client


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("query", "headers", "no_cache"),
    [
        ("", {}, False),
        ("?no-cache=true", {}, True),
        ("?no-cache=false", {}, False),
        ("", {"Cache-Control": "No-Cache"}, True),
        ("?no-cache=false", {"Cache-Control": "no-cache"}, True),
        ("", {"Cache-Control": "no-store"}, False),
    ],
    ids=["nothing", "parameter", "false", "header", "both", "another directive"],
)
def test_clients_can_ask_for_fresh_data(
    client: TestClient,
    rows: FakeRows,
    place: str,
    query: str,
    headers: dict[str, str],
    no_cache: bool,
) -> None:
    """`no-cache=true` or `Cache-Control: no-cache` asks for fresh data, of a list or of one row."""
    assert client.get(place + query, headers=headers).status_code == 200
    assert rows.fresh == [no_cache]


@pytest.mark.parametrize("place", PLACES)
def test_answers_have_headers_about_freshness(client: TestClient, place: str) -> None:
    """200 and 304 have `Age`, `Cache-Status`, the ETag and the common headers."""
    full = client.get(place)
    known = client.get(place, headers={"If-None-Match": full.headers["etag"]})

    assert (full.status_code, known.status_code) == (200, 304)
    assert known.content == b""
    assert "content-length" not in known.headers
    for answer in (full, known):
        assert answer.headers["age"] == "1"
        assert answer.headers["cache-status"] == "sheets-gateway; hit; ttl=3"
        assert answer.headers["cache-control"] == "private, no-cache"
        assert answer.headers["etag"] == full.headers["etag"]
        assert answer.headers["vary"] == "Accept, Accept-Encoding, Origin"
        assert answer.headers["server-timing"] == "google;dur=0.0"


@pytest.mark.parametrize("place", PLACES)
def test_answers_are_always_encoded_by_the_same_function(
    client: TestClient, rows: FakeRows, place: str
) -> None:
    """All answers of a setting share one encoder, because cached answers are keyed by encoder."""
    for query in ("", "?keys=name", "?limit=3"):
        client.get(place + query)

    assert len(rows.encoders) == 1


@pytest.mark.parametrize(
    ("method", "place", "kind"),
    [
        ("GET", "Cities", "list"),
        ("HEAD", "Cities/7", "read"),
        ("POST", "Cities", "create"),
        ("PATCH", "Cities/7", "update"),
        ("DELETE", "Cities/7", "other"),
    ],
)
def test_requests_are_counted_by_operation(
    client: TestClient, method: str, place: str, kind: RequestKind
) -> None:
    """The metrics count a request, also if it is refused, as the operation of its endpoint."""
    before = {each: sum(tally.statuses) for each, tally in tallies.requests.items()}

    client.request(method, place)

    after = {each: sum(tally.statuses) for each, tally in tallies.requests.items()}
    assert {each for each in after if after[each] > before[each]} == {kind}
