"""Tests of `RecordQuota`, the disk space for records of idempotent writes."""

from collections.abc import Mapping

import pytest

from gateway.errors import QueueFull
from gateway.storage.write_ledger import SHARE, SLACK, RecordQuota

PER_KEY = 3200
IN_ALL = SHARE * PER_KEY
AFTER = PER_KEY - PER_KEY // SLACK
"""Bytes of a key's records after a deletion."""


def room(completed: Mapping[str, int], open_sizes: Mapping[str, int]) -> RecordQuota:
    made = RecordQuota(IN_ALL)
    for key_id, size in completed.items():
        made.completed(key_id, size)
    for key_id, size in open_sizes.items():
        made.opened(key_id, size)
    return made


@pytest.mark.parametrize(
    ("completed", "open_sizes", "kept"),
    [
        pytest.param({"a": PER_KEY}, {}, {}, id="just full"),
        pytest.param({"a": PER_KEY + 1, "b": 5}, {}, {"a": AFTER}, id="a key over its part"),
        pytest.param({"a": 3000}, {"a": 300}, {"a": AFTER - 300}, id="with what is open"),
        pytest.param({"a": 10}, {"a": 5000}, {"a": 0}, id="nothing left beside what is open"),
        pytest.param({}, {"a": 5000}, {}, id="open ones never go"),
        pytest.param(
            {"a": 3200, "b": 3200, "c": 3200, "d": 3200, "e": 600},
            {},
            dict.fromkeys("abcd", 2950),
            id="in all: those that have most",
        ),
        pytest.param(
            {"a": 3000, "b": 3000, "c": 3000, "d": 2000, "e": 1000, "f": 1000},
            {},
            dict.fromkeys("abc", 2800),
            id="in all: not those that have less",
        ),
    ],
)
def test_limits_of_keys_above_the_quota(
    completed: Mapping[str, int], open_sizes: Mapping[str, int], kept: Mapping[str, int]
) -> None:
    """Only keys above their part of the disk space lose records."""
    made = room(completed, open_sizes)

    assert made.is_over == bool(kept)
    assert not kept or made.limits() == kept


def test_measured_sizes_replace_the_counts() -> None:
    """Measured sizes replace the counts. Then the key can store records until its part is full
    again.
    """
    made = room({}, {})
    for _ in range(2):
        made.completed("a", PER_KEY - 100)
    was_over = made.is_over
    made.measured({"a": AFTER})
    made.completed("a", PER_KEY // SLACK)
    has_room = not made.is_over
    made.completed("a", 1)

    assert (was_over, has_room, made.is_over) == (True, True, True)


def refuses(made: RecordQuota, key_id: str) -> bool:
    try:
        made.check(key_id)
    except QueueFull:
        return True
    return False


def test_a_full_quota_has_a_retry_time() -> None:
    """The error for a full quota has `Retry-After`, after which the outcomes of open records
    are known.
    """
    with pytest.raises(QueueFull) as caught:
        room({}, {"a": PER_KEY}).check("a")

    assert (caught.value.outcome, caught.value.retry_after_seconds) == ("not_applied", 185)


def test_open_records_that_fill_the_quota() -> None:
    """Open records that fill a key's part block this key. If they fill the whole quota, all
    keys are blocked.
    """
    made = room({"e": 10 * IN_ALL}, {"a": PER_KEY})
    own = [refuses(made, key_id) for key_id in "ae"]
    for key_id in "bcd":
        made.opened(key_id, PER_KEY)
    everybody = [refuses(made, key_id) for key_id in "ae"]
    made.opened("a", -PER_KEY)
    after = [refuses(made, key_id) for key_id in "abe"]

    assert own == [True, False]
    assert everybody == [True, True]
    assert after == [False, True, False]


def test_open_records_without_a_size() -> None:
    """Open records without a size, from an earlier version, end like other records."""
    made = room({}, {})
    for _ in range(2):
        made.opened("a", 0)
    for _ in range(2):
        made.opened("a", -0)
    made.opened("a", PER_KEY)
    before = refuses(made, "a")
    made.opened("a", -PER_KEY)

    assert (before, refuses(made, "a")) == (True, False)
