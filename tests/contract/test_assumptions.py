"""Assumptions about Google, shared by the fake and the emulator.

`open_facts` checks them against Google.
"""

import pytest

from tests.contract.conftest import EMULATOR, FAKE
from tests.contract.subject import Subject, at

pytestmark = pytest.mark.parametrize("place", [FAKE, EMULATOR], indirect=True)


async def test_titles_match_in_any_letter_case(subject: Subject) -> None:
    """A range can have the title in any case; the returned range has the real title."""
    title = await subject.worksheet([["a"]], title="Cities_{}")

    [values] = await subject.sheets.read_ranges(subject.spreadsheet, [at(title.upper(), "A1")])

    assert values.range == f"{title}!A1"
    assert values.cells == (("a",),)
