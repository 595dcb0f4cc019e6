"""The open creates of all worksheets, in memory."""

import pytest

from gateway.storage.open_creates import CONTESTED_SECONDS, OpenCreates
from gateway.worksheets.idempotency import LAST_ROW, RowInterval


def spans(
    creates: OpenCreates, *taken: tuple[int, int], now: float = 0.0
) -> dict[str, list[RowInterval]]:
    """Recorded rows by scope when rows of the worksheet are taken."""
    found = creates.take("book/Cities", [RowInterval(*each) for each in taken], now)
    return {scope: list(all_spans) for scope, all_spans in found}


@pytest.fixture
def creates() -> OpenCreates:
    """One open create in each of two worksheets."""
    creates = OpenCreates()
    creates.add("a", "book/Cities", 0.0)
    creates.add("b", "book/Other", 0.0)
    return creates


def test_rows_are_kept_from_the_creates_of_their_worksheet(creates: OpenCreates) -> None:
    """Another worksheet's rows of the same number are others."""
    assert spans(creates, (5, 5)) == {"a": [RowInterval(5, 5)]}


def test_rows_that_follow_each_other_are_one_span(creates: OpenCreates) -> None:
    """Appends mostly lie below each other, so what is noted stays short."""
    spans(creates, (5, 5))

    assert spans(creates, (6, 8), (9, 9), (20, 21)) == {
        "a": [RowInterval(5, 9), RowInterval(20, 21)]
    }


def test_what_is_taken_late_takes_all_below(creates: OpenCreates) -> None:
    """After the time in which an open create could land, one note is enough for ever."""
    spans(creates, (5, 5))
    late = spans(creates, (7, 7), now=CONTESTED_SECONDS)
    later = spans(creates, (8, 8), now=CONTESTED_SECONDS + 1)

    assert late == {"a": [RowInterval(5, 5), RowInterval(7, LAST_ROW)]}
    assert later == {}


def test_a_renewed_create_is_young_again(creates: OpenCreates) -> None:
    """The time in which it may land counts from then."""
    creates.renew("a", CONTESTED_SECONDS)
    creates.renew("unknown", CONTESTED_SECONDS)

    assert spans(creates, (7, 7), now=CONTESTED_SECONDS + 1) == {"a": [RowInterval(7, 7)]}


def test_a_create_that_is_not_open_any_more_takes_no_notes(creates: OpenCreates) -> None:
    """Neither one that ended nor one that is too old."""
    creates.add("c", "book/Cities", 100.0)
    creates.add("d", "book/Cities", 200.0)
    creates.drop("d")
    creates.drop("d")
    creates.drop_older(50.0)

    assert spans(creates, (5, 5)) == {"c": [RowInterval(5, 5)]}


def test_a_create_that_is_sent_again_starts_anew(creates: OpenCreates) -> None:
    """Rows taken before it was sent again lie above its new place."""
    spans(creates, (5, 5))
    creates.add("a", "book/Cities", 10.0)

    assert spans(creates, (9, 9)) == {"a": [RowInterval(9, 9)]}
