"""Edits of seeded spreadsheets, for features that .csv and .xlsx files lack, such as tables."""

from dataclasses import replace

from sheets_emulator.edits.batch import edit
from sheets_emulator.formulas.spill import spill
from sheets_emulator.protocol.payload import read_body
from sheets_emulator.refusal import Refusal
from sheets_emulator.state.seed import Seed, SeedError
from sheets_emulator.state.store import OWNER


def edited(seed: Seed) -> Seed:
    """Return the seed with its edits applied. Raises SeedError if an edit is invalid."""
    workbooks = dict(seed.workbooks)
    for spreadsheet_id, edits in seed.edits.items():
        draft = workbooks[spreadsheet_id].copy()
        try:
            edit(draft, read_body(edits.body, "BatchUpdateSpreadsheetRequest"), account=OWNER)
        except Refusal as refusal:
            raise SeedError(f"{edits.path}: {refusal.message}") from refusal
        spill(draft)
        workbooks[spreadsheet_id] = draft
    return replace(seed, workbooks=workbooks, edits={})
