"""Number formats that change the display of texts: answers and number of calls."""

import pytest

from tests.journeys.conftest import Api
from tests.simulation.people import make, writing

STATES = ["California", "Illinois"]


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("@", STATES),
        ('@" (US)"', ["California (US)", "Illinois (US)"]),
        ('0;0;0;"<"@">"', ["<California>", "<Illinois>"]),
        ('0;0;0;"n/a"', ["n/a", "n/a"]),
        (";;;", [None, None]),
    ],
)
def test_the_calls_of_columns_with_a_text_format(
    api: Api, pattern: str, shown: list[str | None]
) -> None:
    """A format that changes texts costs 2 additional reads, the first time only."""
    emulator = api.emulator
    place = {"sheetId": [*emulator.everything()].index("Cities"), "startRowIndex": 1}
    cell = {"userEnteredFormat": {"numberFormat": {"type": "TEXT", "pattern": pattern}}}
    format_ = {
        "repeatCell": {
            "range": {**place, "startColumnIndex": 1, "endColumnIndex": 2},
            "cell": cell,
            "fields": "userEnteredFormat.numberFormat",
        }
    }
    make(emulator, {"requests": [format_]})
    calls = []
    for number in range(20):
        make(emulator, writing(emulator, "Cities", 2, 3, f"edit {number}"))
        before = emulator.calls()
        if number % 2:
            answer = api.get("Cities", params={"order": "-population", "limit": "2", "skip": "1"})
            assert [row["state"] for row in answer.json()["results"]] == shown
        else:
            where = {"where": '{"name": "Boston"}'}
            answer = api.send("PATCH", "Cities", params=where, json={"country": "US"})
            assert answer.json()["results"] == []
        assert answer.status_code == 200, answer.text
        calls.append(tuple(now - then for now, then in zip(emulator.calls(), before, strict=True)))

    # That of the sheet ID, too.
    assert calls == [(3 if shown == STATES else 5, 0), *19 * [(2, 0)]]
