"""What `check` finds about the room in a spreadsheet's developer metadata."""

import pytest

from gateway.commands.doctor.reasons import CheckContext, Finding
from gateway.commands.doctor.spreadsheet import check_metadata
from gateway.google.sheets import Fence
from tests.fakes import BOOK, FakeSheets
from tests.worksheets.scripted_sheets import Cost, ScriptedSheets

CONTEXT = CheckContext(account="a@example.org", project=None, key_file=None, endpoint="https://x")
OWN = "gw-0123456789ab"


async def findings(*fences: Fence) -> list[Finding]:
    fake = FakeSheets()
    fake.fences += fences
    sheets = ScriptedSheets(fake)
    found = await check_metadata(sheets, BOOK, CONTEXT)
    assert sheets.cost() == Cost(1, 0)
    return found


async def test_metadata_with_room_is_not_mentioned() -> None:
    """There is nothing to do."""
    assert await findings(Fence.random(OWN, 0)) == []


@pytest.mark.parametrize(("characters", "level"), [(25_000, "warning"), (29_905, "problem")])
async def test_shares_of_metadata_are_named(characters: int, level: str) -> None:
    """The keys of gateways with their number and size, and the share of others."""
    own = [Fence.random(OWN, 0), Fence.random(OWN, 0)]
    rest = characters - 2 * 31 - len("editor")

    (finding,) = await findings(*own, Fence(id=7, key="editor", token="x" * rest))

    assert finding.level == level
    assert f"{characters} of 30000 characters" in finding.text
    assert f'Entries of gateways by key (characters): "{OWN}" 2 (62); ' in finding.text
    assert f'of others: "editor" 1 ({characters - 62}). ' in finding.text
