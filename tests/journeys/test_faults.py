"""Writes that Google fails halfway or carries out late: what is answered is true."""

from tests.journeys.conftest import Api
from tests.journeys.waiting import until


def test_a_grid_that_cannot_grow(api: Api) -> None:
    """Where Google fails to make room for a row the row was not written, and is not."""
    before = api.emulator.texts("BlankFirst")
    api.emulator.faults({"call": "spreadsheets.batchUpdate", "status": 503, "apply": True})
    answer = api.post("BlankFirst", json={"name": "n"})

    assert answer.status_code >= 500
    assert answer.json()["outcome"] == "not_applied"
    assert api.emulator.texts("BlankFirst") == before
    assert "values.append" not in api.emulator.stats()["calls"]


def test_a_row_that_lands_late_overwrites_nothing(api: Api) -> None:
    """A create that Google carries out after all lands below the rows of the meantime."""
    api.emulator.faults({"call": "values.append", "drop": True, "late_ms": 200})
    late = api.post("Cities", json={"name": "late"})
    api.emulator.faults()
    quick = api.post("Cities", json={"name": "quick"})
    is_there = until(lambda: len(api.emulator.texts("Cities")) == 13)

    assert is_there
    assert late.json()["outcome"] == "unknown"
    assert quick.json()["rowIndex"] == 12
    assert api.emulator.texts("Cities")[11:] == [["quick"], ["late"]]
    assert api.get("Cities/12").json()["name"] == "quick"
