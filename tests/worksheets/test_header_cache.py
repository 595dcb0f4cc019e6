"""Cached headers: lifetime, and the effect of later reads."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.google.sheets import SheetView
from gateway.table.column_types import SheetForms
from gateway.table.header import Header, parse_header
from gateway.worksheets.snapshot import HeaderCache, SheetExtent
from tests.clock import ManualClock

Moment = Callable[[], int]

SEEN = SheetExtent(header=parse_header(["a"]), last_row=5, header_as_of=1000.0, as_of=5)
OLD, NEW = parse_header(["name", "state"]), parse_header(["state", "name"])


@pytest.fixture
def moment() -> Moment:
    return itertools.count().__next__


@pytest.fixture
def header_cache(clock: ManualClock, moment: Moment) -> HeaderCache:
    return HeaderCache(ttl_seconds=10.0, clock=clock, moment=moment)


def extent(header: Header, as_of: int) -> SheetExtent:
    return replace(SEEN, header=header, as_of=as_of)


def test_fresh_until_the_ttl(header_cache: HeaderCache, clock: ManualClock) -> None:
    """A cached header is fresh until its lifetime ends; later it is a hint."""
    header_cache.keep(SEEN)
    clock.advance(9.9)
    early = header_cache.fresh()
    clock.advance(0.1)

    assert early is SEEN
    assert header_cache.fresh() is None
    assert header_cache.extent is SEEN


def test_no_ttl_trusts_nothing(clock: ManualClock, moment: Moment) -> None:
    """With a lifetime of 0 each request reads the header."""
    header_cache = HeaderCache(ttl_seconds=0.0, clock=clock, moment=moment)
    header_cache.keep(SEEN)

    assert header_cache.fresh() is None


def test_age_is_that_of_the_header(header_cache: HeaderCache, clock: ManualClock) -> None:
    """A later read of the end does not make the header fresh."""
    header_cache.keep(replace(SEEN, header_as_of=990.0))

    assert header_cache.fresh() is None


@pytest.mark.parametrize(("as_of", "last_row"), [(4, 5), (6, 6)], ids=["older", "newer"])
def test_older_look_never_replaces_newer(
    header_cache: HeaderCache, as_of: int, last_row: int
) -> None:
    """The newer of two reads stays, in any order of arrival."""
    header_cache.keep(SEEN)

    header_cache.keep(replace(SEEN, last_row=6, as_of=as_of))

    kept = header_cache.extent
    assert kept is not None
    assert kept.last_row == last_row


def test_forgotten(header_cache: HeaderCache) -> None:
    """A deleted entry is gone, and deleting it twice is no error."""
    header_cache.keep(SEEN)
    header_cache.forget()
    header_cache.forget()

    assert header_cache.extent is None


def test_a_look_from_before_the_forgetting_is_not_kept(
    header_cache: HeaderCache, moment: Moment
) -> None:
    """Reads that began before a change are not cached; later reads are."""
    before = moment()
    header_cache.forget()
    after = moment()

    header_cache.keep(replace(SEEN, as_of=before))
    early = header_cache.extent
    header_cache.keep(replace(SEEN, as_of=after))

    assert early is None
    assert header_cache.extent is not None


def test_another_header_ends_trust(header_cache: HeaderCache, moment: Moment) -> None:
    """A later read with another header deletes the extent; one with the same header keeps it."""
    header_cache.keep(extent(OLD, moment()))
    header_cache.compare(OLD, as_of=moment())
    same = header_cache.extent
    header_cache.compare(NEW, as_of=moment())

    assert same is not None
    assert header_cache.extent is None


def test_an_older_read_changes_nothing(header_cache: HeaderCache, moment: Moment) -> None:
    """The header of the read that began later stays, in any order of arrival."""
    older, newer = moment(), moment()
    header_cache.compare(NEW, as_of=newer)
    header_cache.keep(extent(NEW, newer))

    header_cache.compare(OLD, as_of=older)
    header_cache.keep(extent(OLD, moment()))

    kept = header_cache.extent
    assert kept is not None
    assert kept.header is NEW


def test_the_read_that_saw_the_change_is_kept(header_cache: HeaderCache, moment: Moment) -> None:
    """The extent of the read that shows another header is cached."""
    header_cache.keep(extent(OLD, moment()))
    later = moment()
    header_cache.compare(OLD, as_of=0)
    header_cache.compare(NEW, as_of=later)

    header_cache.keep(extent(NEW, later))

    kept = header_cache.extent
    assert kept is not None
    assert kept.header is NEW


def test_a_header_known_to_have_changed_is_not_kept(
    header_cache: HeaderCache, moment: Moment
) -> None:
    """A create that ends after another read saw a new header does not restore the old one."""
    header_cache.compare(NEW, as_of=moment())

    header_cache.keep(extent(OLD, moment()))

    assert header_cache.extent is None


FORMS = SheetForms(types={0: "DATE"})
TAB = SheetView(sheet_id=1, title="T", rows=9, blocks=())


def test_forms_are_as_fresh_as_a_header(header_cache: HeaderCache, clock: ManualClock) -> None:
    """Formats are fresh for the lifetime, and longer for a write whose read came before."""
    header_cache.seen_sheet(TAB, 1000.0, forms=FORMS, header=OLD)
    clock.advance(9.9)
    early = header_cache.fresh_forms(OLD)
    clock.advance(0.1)

    assert early is FORMS
    assert header_cache.fresh_forms(OLD) is None
    assert header_cache.fresh_forms(OLD, since=1000.0) is FORMS
    assert header_cache.fresh_forms(OLD, since=1000.1) is None


def test_forms_are_those_of_one_header(header_cache: HeaderCache) -> None:
    """With another header, the columns may be different ones."""
    header_cache.seen_sheet(TAB, 1000.0, forms=FORMS, header=OLD)

    assert header_cache.fresh_forms(NEW) is None
    assert header_cache.fresh_forms(OLD) is FORMS


@pytest.mark.parametrize("sheet_id", [1, 2])
def test_forms_are_those_of_one_tab(header_cache: HeaderCache, sheet_id: int) -> None:
    """Another tab with the title has other columns."""
    header_cache.seen_sheet(TAB, 1000.0, forms=FORMS, header=OLD)
    header_cache.seen_sheet(replace(TAB, sheet_id=sheet_id), 1001.0)

    assert header_cache.fresh_forms(OLD) is (FORMS if sheet_id == 1 else None)


def test_forms_are_forgotten_with_the_header(header_cache: HeaderCache) -> None:
    """Header and formats are deleted together."""
    header_cache.seen_sheet(TAB, 1000.0, forms=FORMS, header=OLD)
    header_cache.forget()

    assert header_cache.fresh_forms(OLD) is None
