"""Tests of the warning about keys that can use any spreadsheet."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from gateway.access.keys import (
    may_use_any_spreadsheet,
    warn_of_any_spreadsheet_keys,
)
from gateway.storage.key_store import Grants, KeyRecord, KeyStore
from tests.access.conftest import NOW

ANY = KeyRecord(
    id="key_any",
    name="any",
    last4="wxyz",
    plan="paid",
    grants=Grants(spreadsheets=None),
    created_at=NOW,
)


@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        pytest.param({}, True, id="any"),
        pytest.param(
            {"grants": replace(ANY.grants, worksheets=frozenset({"Cities"}))},
            True,
            id="one worksheet of any",
        ),
        pytest.param({"expires_at": NOW + timedelta(seconds=1)}, True, id="not expired yet"),
        pytest.param(
            {"grants": replace(ANY.grants, spreadsheets=frozenset({"one"}))}, False, id="one"
        ),
        pytest.param({"revoked_at": NOW}, False, id="revoked"),
        pytest.param({"expires_at": NOW}, False, id="expired"),
    ],
)
def test_keys_that_can_use_any_spreadsheet(change: dict[str, object], is_told: bool) -> None:
    """Active keys that are allowed to use any spreadsheet are listed, whatever their
    worksheets or operations.
    """
    record = replace(ANY, **change)  # type: ignore[arg-type]

    assert may_use_any_spreadsheet(record, NOW) is is_told


@pytest.mark.parametrize(
    ("ids", "lines"),
    [
        pytest.param([], [], id="none"),
        pytest.param(
            ["key_1", "key_2"],
            [
                {
                    "event": "any-spreadsheet-keys",
                    "log_level": "warning",
                    "keys": ["key_1", "key_2"],
                    "count": 2,
                }
            ],
            id="two",
        ),
    ],
)
async def test_unlimited_keys_are_logged_in_one_line(
    store: KeyStore, ids: Sequence[str], lines: Sequence[dict[str, object]]
) -> None:
    """One log line lists the IDs of all keys that can use any spreadsheet; without such
    keys there is no line.
    """
    grants = replace(ANY.grants, spreadsheets=frozenset({"one"}))
    await store.add(replace(ANY, id="key_0", grants=grants), b"0")
    for key_id in ids:
        await store.add(replace(ANY, id=key_id), key_id.encode())

    with capture_logs() as captured:
        await warn_of_any_spreadsheet_keys(store, NOW)

    assert captured == lines
