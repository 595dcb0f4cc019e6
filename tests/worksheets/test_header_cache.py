"""What is remembered of worksheets, how long, and of how many."""

from dataclasses import replace

import pytest

from gateway.settings.model import CacheSettings
from gateway.table.header import parse_header
from gateway.worksheets.header_cache import Sighting, Sightings
from tests.clock import ManualClock
from tests.worksheets.conftest import REF

SEEN = Sighting(
    header=parse_header(["a"]),
    last_row=5,
    starts_blank=False,
    grid_rows=9,
    header_as_of=1000.0,
    as_of=5,
)


@pytest.fixture
def sightings(clock: ManualClock) -> Sightings:
    return Sightings(CacheSettings(header_ttl_seconds=10.0, max_worksheets=2), clock)


def test_fresh_until_the_ttl(sightings: Sightings, clock: ManualClock) -> None:
    """A sighting is fresh for less than the ttl; after it, it is a hint."""
    sightings.keep(REF, SEEN)
    clock.advance(9.9)
    early = sightings.fresh(REF)
    clock.advance(0.1)

    assert early is SEEN
    assert sightings.fresh(REF) is None
    assert sightings.last(REF) is SEEN


def test_no_ttl_trusts_nothing(clock: ManualClock) -> None:
    """A ttl of 0 reads the header each time."""
    sightings = Sightings(CacheSettings(header_ttl_seconds=0), clock)
    sightings.keep(REF, SEEN)

    assert sightings.fresh(REF) is None


def test_age_is_that_of_the_header(sightings: Sightings, clock: ManualClock) -> None:
    """An end that is newer than its header does not make the header fresh."""
    sightings.keep(REF, replace(SEEN, header_as_of=990.0))

    assert sightings.fresh(REF) is None


@pytest.mark.parametrize(("as_of", "last_row"), [(4, 5), (6, 6)], ids=["older", "newer"])
def test_older_look_never_replaces_newer(sightings: Sightings, as_of: int, last_row: int) -> None:
    """Of two looks the newer one stays, in whatever order they come."""
    sightings.keep(REF, SEEN)

    sightings.keep(REF, replace(SEEN, last_row=6, as_of=as_of))

    kept = sightings.last(REF)
    assert kept is not None
    assert kept.last_row == last_row


def test_number_is_bounded(sightings: Sightings) -> None:
    """Beyond the maximum the worksheet that was not used for longest is forgotten."""
    refs = [replace(REF, title=title) for title in "abc"]
    sightings.keep(refs[0], SEEN)
    sightings.keep(refs[1], SEEN)
    sightings.fresh(refs[0])

    sightings.keep(refs[2], SEEN)

    assert [sightings.last(ref) is SEEN for ref in refs] == [True, False, True]


def test_forgotten(sightings: Sightings) -> None:
    """A forgotten sighting is gone, and forgetting twice is no error."""
    sightings.keep(REF, SEEN)
    sightings.forget(REF)
    sightings.forget(REF)

    assert sightings.last(REF) is None


def test_worksheets_are_told_apart(sightings: Sightings) -> None:
    """Title and spreadsheet tell worksheets apart; what the key may see does not."""
    sightings.keep(REF, SEEN)

    assert sightings.last(replace(REF, visible=frozenset())) is SEEN
    assert sightings.last(replace(REF, title="cities")) is None
    assert sightings.last(replace(REF, spreadsheet="other")) is None


def test_a_look_from_before_the_forgetting_is_not_kept(sightings: Sightings) -> None:
    """What began before a change is not remembered, however late it comes; what began after is."""
    before = sightings.moment()
    sightings.forget(REF)
    after = sightings.moment()

    sightings.keep(REF, replace(SEEN, as_of=before))
    early = sightings.last(REF)
    sightings.keep(REF, replace(SEEN, as_of=after))

    assert early is None
    assert sightings.last(REF) is not None
