"""Tests of `check_grants`, which compares a key's grants with Google."""

import asyncio

from gateway.access.grant_check import Names, check_grants
from gateway.storage.key_store import Grants


async def test_a_check_without_answers_of_google_times_out() -> None:
    """All spreadsheets share one timeout. Spreadsheets without an answer are listed, and
    this is not an error.
    """
    grants = Grants(spreadsheets=frozenset("abc"), worksheets=frozenset({"Cities"}))
    asked: list[str] = []

    async def names_in(spreadsheet: str) -> Names:
        asked.append(spreadsheet)
        if spreadsheet != "a":
            await asyncio.Event().wait()
        return set(), set()

    looked = await check_grants(grants, names_in, seconds=0.01)

    assert looked.problems == []
    assert looked.unchecked == [
        f"spreadsheet {each}: Google did not answer in time." for each in "bc"
    ]
    assert asked == ["a", "b", "c"]
