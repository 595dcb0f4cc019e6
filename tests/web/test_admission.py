"""The cache of authorised reads. Tests of the credentials themselves are in tests/surfaces."""

from dataclasses import replace

import pytest

from gateway.storage.key_store import Grants
from gateway.web.admission import (
    LONGEST_TITLE,
    MAX_KEPT,
    AuthCache,
    CachedCaller,
)
from gateway.web.head import read_head
from gateway.worksheets.access import Target, WorksheetId
from tests.callers import make_caller
from tests.clock import ManualClock

CALLER = make_caller(Grants(spreadsheets=frozenset({"demo"})))
TARGET = Target(WorksheetId("demo", "Cities"))
FRESH_SECONDS = 2.0
HEAD = [(b"host", b"x"), (b"authorization", b"Bearer a"), (b"x-spreadsheet-id", b"demo")]


@pytest.fixture
def auth_cache(clock: ManualClock) -> AuthCache:
    began = clock()
    return AuthCache(lambda: began + FRESH_SECONDS, clock)


def key(
    auth_cache: AuthCache,
    lines: list[tuple[bytes, bytes]],
    credentials: bytes = b"",
    segment: str = "Cities",
) -> bytes:
    return auth_cache.find(read_head(lines), credentials, segment)[0]


def kept(
    auth_cache: AuthCache,
    lines: list[tuple[bytes, bytes]],
    credentials: bytes = b"",
    segment: str = "Cities",
) -> CachedCaller | None:
    return auth_cache.find(read_head(lines), credentials, segment)[1]


def test_an_authorised_read_is_cached_until_keys_are_refreshed(
    auth_cache: AuthCache, clock: ManualClock
) -> None:
    """A cache entry expires when the list of active keys has to be refreshed."""
    auth_cache.put(key(auth_cache, HEAD), CALLER, TARGET)
    clock.advance(FRESH_SECONDS * 0.9)
    found = kept(auth_cache, HEAD)
    clock.advance(FRESH_SECONDS * 0.1)

    assert found is not None
    assert (found.caller, found.target) == (CALLER, TARGET)
    assert kept(auth_cache, HEAD) is None


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([*HEAD[:1], (b"authorization", b"Bearer b"), HEAD[2]], id="another key"),
        pytest.param([*HEAD, (b"authorization", b"Bearer a")], id="the key twice"),
        pytest.param([*HEAD[:1], (b"api-key", b"Bearer a"), HEAD[2]], id="in another header"),
        pytest.param([*HEAD, (b"x-api-key", b"b")], id="a second key"),
        pytest.param([*HEAD, (b"authentication", b"")], id="an empty header"),
        pytest.param([*HEAD[:2], (b"x-spreadsheet-id", b"other")], id="another spreadsheet"),
        pytest.param([*HEAD, (b"x-sheetson-spreadsheet-id", b"x")], id="a second spreadsheet"),
        pytest.param([*HEAD, (b"origin", b"https://a.org")], id="from a page"),
        pytest.param(HEAD[:2], id="no spreadsheet"),
        pytest.param([], id="nothing"),
    ],
)
def test_a_request_with_other_headers_misses_the_cache(
    auth_cache: AuthCache, lines: list[tuple[bytes, bytes]]
) -> None:
    """All headers that decide access are part of the cache key."""
    auth_cache.put(key(auth_cache, HEAD), CALLER, TARGET)

    assert kept(auth_cache, lines) is None


@pytest.mark.parametrize(
    ("credentials", "segment"),
    [(b"apiKey=b", "Cities"), (b"spreadsheetId=x", "Cities"), (b"", "Towns"), (b"", "Cities%20")],
)
def test_other_url_credentials_or_another_worksheet_miss_the_cache(
    auth_cache: AuthCache, credentials: bytes, segment: str
) -> None:
    """Credentials in the URL and the worksheet in the path are part of the cache key."""
    auth_cache.put(key(auth_cache, HEAD), CALLER, TARGET)

    assert kept(auth_cache, HEAD, credentials, segment) is None


def test_unrelated_headers_are_not_in_the_cache_key(auth_cache: AuthCache) -> None:
    """Headers that do not decide access do not change the cache key."""
    auth_cache.put(key(auth_cache, HEAD), CALLER, TARGET)

    assert kept(auth_cache, [*HEAD, (b"accept", b"*/*"), (b"x-request-id", b"1")])


def test_cache_keys_are_secret_digests(auth_cache: AuthCache) -> None:
    """The cache key contains no API key, and each cache computes other digests of equal headers."""
    ours = key(auth_cache, HEAD)

    assert b"Bearer" not in ours
    assert ours != key(AuthCache(lambda: 0.0), HEAD)


def test_expiring_keys_and_long_titles_are_not_cached(auth_cache: AuthCache) -> None:
    """Reads with a key that expires, or of a very long worksheet title, are never cached."""
    endless = Target(WorksheetId("demo", "x" * (LONGEST_TITLE + 1)))
    expiring = replace(CALLER, key=replace(CALLER.key, expires_at=CALLER.key.created_at))
    auth_cache.put(key(auth_cache, HEAD, segment="1"), expiring, TARGET)
    auth_cache.put(key(auth_cache, HEAD, segment="2"), CALLER, endless)

    assert kept(auth_cache, HEAD, segment="1") is None
    assert kept(auth_cache, HEAD, segment="2") is None


def test_clear_removes_fresh_entries(auth_cache: AuthCache) -> None:
    """`clear`, called when keys change, removes even entries that have not expired."""
    auth_cache.put(key(auth_cache, HEAD, segment="1"), CALLER, TARGET)
    auth_cache.clear()

    assert kept(auth_cache, HEAD, segment="1") is None


def test_the_cache_is_emptied_when_it_is_full(auth_cache: AuthCache) -> None:
    """At `MAX_KEPT` entries, the next entry replaces all earlier entries."""
    for each in range(MAX_KEPT + 1):
        auth_cache.put(key(auth_cache, HEAD, segment=f"{each}"), CALLER, TARGET)

    assert kept(auth_cache, HEAD, segment="0") is None
    assert kept(auth_cache, HEAD, segment=f"{MAX_KEPT}") is not None
