"""Warn at startup about any-spreadsheet keys: those without spreadsheet restrictions."""

from datetime import datetime

from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.telemetry.events import any_spreadsheet_keys, damaged_row


async def warn_of_any_spreadsheet_keys(store: KeyStore, now: datetime) -> None:
    """Log the IDs of all active any-spreadsheet keys, and damaged keys, if any."""
    records = await store.list(lambda row: damaged_row(row.table, row.row, row.problem))
    key_ids = [record.id for record in records if may_use_any_spreadsheet(record, now)]
    if key_ids:
        any_spreadsheet_keys(key_ids)


def may_use_any_spreadsheet(record: KeyRecord, now: datetime) -> bool:
    """True for an active key with the grant for any spreadsheet."""
    return record.grants.spreadsheets is None and record.is_active(now)
