"""What is remembered of worksheets, how long, and of how many."""

from dataclasses import replace

import pytest

from gateway.settings.model import CacheSettings
from gateway.table.header import parse_header
from gateway.worksheets.header_cache import HeaderCache, SheetExtent
from tests.clock import ManualClock
from tests.worksheets.conftest import WORKSHEET

SEEN = SheetExtent(
    header=parse_header(["a"]),
    last_row=5,
    starts_blank=False,
    grid_rows=9,
    header_as_of=1000.0,
    as_of=5,
)


@pytest.fixture
def header_cache(clock: ManualClock) -> HeaderCache:
    return HeaderCache(CacheSettings(header_ttl_seconds=10.0, max_worksheets=2), clock)


def test_fresh_until_the_ttl(header_cache: HeaderCache, clock: ManualClock) -> None:
    """A sighting is fresh for less than the ttl; after it, it is a hint."""
    header_cache.keep(WORKSHEET, SEEN)
    clock.advance(9.9)
    early = header_cache.fresh(WORKSHEET)
    clock.advance(0.1)

    assert early is SEEN
    assert header_cache.fresh(WORKSHEET) is None
    assert header_cache.last(WORKSHEET) is SEEN


def test_no_ttl_trusts_nothing(clock: ManualClock) -> None:
    """A ttl of 0 reads the header each time."""
    header_cache = HeaderCache(CacheSettings(header_ttl_seconds=0), clock)
    header_cache.keep(WORKSHEET, SEEN)

    assert header_cache.fresh(WORKSHEET) is None


def test_age_is_that_of_the_header(header_cache: HeaderCache, clock: ManualClock) -> None:
    """An end that is newer than its header does not make the header fresh."""
    header_cache.keep(WORKSHEET, replace(SEEN, header_as_of=990.0))

    assert header_cache.fresh(WORKSHEET) is None


@pytest.mark.parametrize(("as_of", "last_row"), [(4, 5), (6, 6)], ids=["older", "newer"])
def test_older_look_never_replaces_newer(
    header_cache: HeaderCache, as_of: int, last_row: int
) -> None:
    """Of two looks the newer one stays, in whatever order they come."""
    header_cache.keep(WORKSHEET, SEEN)

    header_cache.keep(WORKSHEET, replace(SEEN, last_row=6, as_of=as_of))

    kept = header_cache.last(WORKSHEET)
    assert kept is not None
    assert kept.last_row == last_row


def test_number_is_bounded(header_cache: HeaderCache) -> None:
    """Beyond the maximum the worksheet that was not used for longest is forgotten."""
    refs = [replace(WORKSHEET, title=title) for title in "abc"]
    header_cache.keep(refs[0], SEEN)
    header_cache.keep(refs[1], SEEN)
    header_cache.fresh(refs[0])

    header_cache.keep(refs[2], SEEN)

    assert [header_cache.last(ref) is SEEN for ref in refs] == [True, False, True]


def test_forgotten(header_cache: HeaderCache) -> None:
    """A forgotten sighting is gone, and forgetting twice is no error."""
    header_cache.keep(WORKSHEET, SEEN)
    header_cache.forget(WORKSHEET)
    header_cache.forget(WORKSHEET)

    assert header_cache.last(WORKSHEET) is None


def test_worksheets_are_told_apart(header_cache: HeaderCache) -> None:
    """Title and spreadsheet tell worksheets apart."""
    header_cache.keep(WORKSHEET, SEEN)

    assert header_cache.last(replace(WORKSHEET, title="cities")) is None
    assert header_cache.last(replace(WORKSHEET, spreadsheet="other")) is None


def test_a_look_from_before_the_forgetting_is_not_kept(header_cache: HeaderCache) -> None:
    """What began before a change is not remembered, however late it comes; what began after is."""
    before = header_cache.moment()
    header_cache.forget(WORKSHEET)
    after = header_cache.moment()

    header_cache.keep(WORKSHEET, replace(SEEN, as_of=before))
    early = header_cache.last(WORKSHEET)
    header_cache.keep(WORKSHEET, replace(SEEN, as_of=after))

    assert early is None
    assert header_cache.last(WORKSHEET) is not None
