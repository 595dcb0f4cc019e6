"""Warn at startup about keys without spreadsheet restrictions."""

from collections.abc import Sequence
from datetime import datetime

from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.telemetry.events import damaged_row, unbounded_keys


async def warn_of_unbounded_keys(store: KeyStore, now: datetime) -> None:
    """Log the IDs of all active keys without spreadsheet restrictions, and damaged keys, if any."""
    records = await store.list(lambda row: damaged_row(row.table, row.row, row.problem))
    key_ids = [record.id for record in unbounded(records, now)]
    if key_ids:
        unbounded_keys(key_ids)


def unbounded(records: Sequence[KeyRecord], now: datetime) -> Sequence[KeyRecord]:
    """Active keys with the grant for any spreadsheet."""
    return [
        record
        for record in records
        if record.spreadsheets is None
        and record.revoked_at is None
        and (record.expires_at is None or now < record.expires_at)
    ]
