"""Recordings of Google and the API contract, which are files outside the repository.

Tests that need a missing file are skipped.
"""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"
EXCHANGES = SHARED / "recordings" / "visible.jsonl"
ERRORS = SHARED / "recordings" / "google_errors.json"
CONTRACT = SHARED / "api.md"


def needs(file: Path, words: str) -> pytest.MarkDecorator:
    """Return a mark that skips tests if a file is missing. `words` name the file in the reason."""
    return pytest.mark.skipif(not file.exists(), reason=f"{words} not beside this checkout")


needs_exchanges = needs(EXCHANGES, "the recorded exchanges are")
needs_errors = needs(ERRORS, "the recorded errors are")
needs_contract = needs(CONTRACT, "the contract is")
