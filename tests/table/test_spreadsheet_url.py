"""Ids within the URLs that people paste."""

import pytest

from gateway.table.spreadsheet_url import id_in, is_published

ID = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"


@pytest.mark.parametrize(
    "given",
    [
        f"https://docs.google.com/spreadsheets/d/{ID}/edit?gid=0#gid=0",
        f"docs.google.com/spreadsheets/u/1/d/{ID}",
        f"https://drive.google.com/open?id={ID}",
        f"https://spreadsheets.google.com/ccc?key={ID}&hl=de",
    ],
)
def test_the_id_is_found(given: str) -> None:
    """It stands behind /d/, or in a parameter of older URLs."""
    assert id_in(given) == ID


@pytest.mark.parametrize(
    "given",
    ["", ID, "Sales 2024", "/d/", "https://example.org/d", f"/d/{'x' * 101}", "/d/ä"],
)
def test_nothing_else_is_taken_for_one(given: str) -> None:
    """What has no such part, or one too long to be an id, has none."""
    assert id_in(given) is None


def test_a_published_copy_has_none() -> None:
    """What stands behind /d/e/ is of no use to the Sheets API."""
    given = "https://docs.google.com/spreadsheets/d/e/2PACX-1vQ/pub?id=x"

    assert is_published(given)
    assert id_in(given) is None
    assert not is_published(f"/d/{ID}")
