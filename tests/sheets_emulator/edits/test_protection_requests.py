"""Tests of requests that add, change and delete protected ranges."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

CELL = {"startRowIndex": 1, "endRowIndex": 2, "startColumnIndex": 1, "endColumnIndex": 2}
ADDRESS = "someone@example.com"


def added(bench: Bench, **members: object) -> Any:
    """Add a protected range, and return the ProtectedRange of the reply."""
    answer = bench.edit({"addProtectedRange": {"protectedRange": members}})
    return answer.json()["replies"][0]["addProtectedRange"]["protectedRange"]


def shown(bench: Bench, sheet: int = 0) -> Any:
    """Return the ProtectedRanges of the worksheet at index `sheet`, as the account reads them."""
    sheets = bench.described(fields="sheets.protectedRanges")["sheets"]
    return sheets[sheet].get("protectedRanges", [])


def updated(bench: Bench, number: int, fields: str, **members: object) -> Any:
    protection = {"protectedRangeId": number, **members}
    request = {"updateProtectedRange": {"protectedRange": protection, "fields": fields}}
    return bench.edit(request)


def test_an_account_can_edit_cells_that_it_protects(bench: Bench) -> None:
    """The reply has the editors as sent, and a read adds the account (recorded from Google)."""
    members: dict[str, Any] = {
        "range": {"sheetId": 0, **CELL},
        "description": None,
        "warningOnly": False,
        "requestingUserCanEdit": False,
        "editors": {"users": [], "groups": []},
    }
    reply = added(bench, **members)
    number = reply["protectedRangeId"]
    common = {"protectedRangeId": number, "range": CELL, "requestingUserCanEdit": True}
    account = bench.account["client_email"]

    assert reply == {**common, "editors": {}}
    assert shown(bench) == [{**common, "editors": {"users": [account]}}]
    assert bench.update("Data!B2", [["x"]]).status_code == 200


def test_owners_protection_is_returned_without_its_editors(bench: Bench) -> None:
    """An account that is not an editor of a protection cannot read the list of editors."""
    editors = {"users": [ADDRESS]}
    protection = {"range": {"sheetId": 0, **CELL}, "description": "d", "editors": editors}
    bench.owner_edits({"addProtectedRange": {"protectedRange": protection}})
    found = shown(bench)[0]

    assert found == {
        "protectedRangeId": found["protectedRangeId"],
        "range": CELL,
        "description": "d",
    }


def test_given_editors_are_returned_with_the_account(bench: Bench) -> None:
    """A read returns the users, groups and domain flag as sent, and adds the account."""
    editors = {"users": [ADDRESS], "groups": ["g@example.com"], "domainUsersCanEdit": True}
    reply = added(bench, range={"sheetId": 0, **CELL}, editors=editors)

    assert reply["editors"] == editors
    assert shown(bench)[0]["editors"] == {
        **editors,
        "users": [ADDRESS, bench.account["client_email"]],
    }


def test_a_warning_cannot_have_editors(bench: Bench) -> None:
    """A protection with `warningOnly` and editors is an error (reported by users)."""
    members = {"range": {"sheetId": 0}, "warningOnly": True, "editors": {"users": [ADDRESS]}}
    answer = bench.edit({"addProtectedRange": {"protectedRange": members}})

    assert message(answer) == (
        "Invalid requests[0].addProtectedRange: ProtectedRange is warningOnly. "
        "Editors cannot be set on it."
    )


def test_a_worksheet_can_be_protected_only_once(bench: Bench) -> None:
    """A protection of a part of a protected worksheet is accepted (reported by users)."""
    whole = {"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0}}}}
    part = {"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0, **CELL}}}}
    answers = [bench.edit(request) for request in (whole, part, whole)]

    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert message(answers[2]).endswith('Sheet "Data" already has sheet protection.')
    assert [each["range"] for each in shown(bench)] == [{}, CELL]


def test_update_of_a_protection_sets_the_fields_of_its_mask(bench: Bench) -> None:
    """Fields outside the mask are ignored, and a field of the mask without a value is cleared."""
    number = added(bench, range={"sheetId": 0, **CELL}, description="old")["protectedRangeId"]
    updated(bench, number, "description", description="new", range={"sheetId": 0})
    first = shown(bench)[0]
    updated(bench, number, "range,description", range={"sheetId": 0})
    second = shown(bench)[0]

    assert (first["description"], first["range"]) == ("new", CELL)
    assert ("description" in second, second["range"]) == (False, {})


def test_update_keeps_the_account_among_the_editors(bench: Bench) -> None:
    """An update of the editors cannot remove the account that sends the update."""
    number = added(bench, range={"sheetId": 0, **CELL})["protectedRangeId"]
    updated(bench, number, "editors", editors={"users": [ADDRESS]})

    assert shown(bench)[0]["editors"]["users"] == [ADDRESS, bench.account["client_email"]]
    assert bench.update("Data!B2", [["x"]]).status_code == 200


def test_owners_protection_cannot_be_changed_or_deleted(bench: Bench) -> None:
    """An account that cannot edit the protected cells gets 400 and still cannot write there."""
    protection = {"range": {"sheetId": 0, **CELL}}
    bench.owner_edits({"addProtectedRange": {"protectedRange": protection}})
    number = shown(bench)[0]["protectedRangeId"]
    answers = [
        updated(bench, number, "editors", editors={"users": [bench.account["client_email"]]}),
        bench.edit({"deleteProtectedRange": {"protectedRangeId": number}}),
    ]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert bench.update("Data!B2", [["x"]]).status_code == 400


def test_deleted_protection_is_gone(bench: Bench) -> None:
    """A deletion by the ID of the reply removes the protection. An unknown ID is an error."""
    number = added(bench, range={"sheetId": 0, **CELL})["protectedRangeId"]
    wrong = bench.edit({"deleteProtectedRange": {"protectedRangeId": number + 1}})
    bench.edit({"deleteProtectedRange": {"protectedRangeId": number}})

    assert message(wrong).endswith(f"No protected range with id: {number + 1}")
    assert shown(bench) == []


def test_protection_follows_its_named_range(bench: Bench) -> None:
    """The protection moves with the named range, and stays if the name is deleted."""
    bench.edit({"addSheet": {"properties": {"sheetId": 7}}})
    named = {"namedRangeId": "n", "name": "Total", "range": {"sheetId": 0, **CELL}}
    bench.edit({"addNamedRange": {"namedRange": named}})
    added(bench, namedRangeId="n")
    first = shown(bench)[0]
    moved = {**named, "range": {"sheetId": 7, **CELL}}
    bench.edit({"updateNamedRange": {"namedRange": moved, "fields": "range"}})
    second = shown(bench), shown(bench, 1)
    bench.edit({"deleteNamedRange": {"namedRangeId": "n"}})
    last = shown(bench, 1)[0]

    assert (first["range"], first["namedRangeId"]) == (CELL, "n")
    assert second[0] == []
    assert second[1][0]["range"] == {"sheetId": 7, **CELL}
    assert (last["range"], "namedRangeId" in last) == ({"sheetId": 7, **CELL}, False)


def test_protection_is_deleted_with_its_cells(bench: Bench) -> None:
    """Deleting the only row of a protected range deletes the protection."""
    added(bench, range={"sheetId": 0, **CELL})
    bench.edit(dimension("deleteDimension", "ROWS", 1, 2))

    assert shown(bench) == []


@pytest.mark.parametrize(
    ("protection", "complaint"),
    [
        pytest.param({}, "exactly one of range or namedRangeId", id="no place"),
        pytest.param({"range": {}, "namedRangeId": "x"}, "exactly one of", id="two places"),
        pytest.param({"namedRangeId": "x"}, "No NamedRange with id: x", id="no such name"),
        pytest.param({"range": {"sheetId": 9}}, "No grid with id: 9", id="no such worksheet"),
        pytest.param(
            {"range": grid_range(1, 1, 2, 2), "unprotectedRanges": [grid_range(1, 1, 2, 2)]},
            "only supported on protected sheets",
            id="opening in a range",
        ),
        pytest.param({"range": {}, "editors": {"people": []}}, "Unknown name", id="unknown member"),
    ],
)
def test_malformed_protection_is_refused(bench: Bench, protection: Request, complaint: str) -> None:
    """A protection without exactly one existing range or name, or with unknown fields, gets 400."""
    answer = bench.edit({"addProtectedRange": {"protectedRange": protection}})

    assert answer.status_code == 400
    assert complaint in message(answer)


def test_protection_id_can_be_chosen_but_not_reused(bench: Bench) -> None:
    """`protectedRangeId` is optional and must not be in use (Google's definition)."""
    first = added(bench, protectedRangeId=5, range={"sheetId": 0, **CELL})
    second = bench.edit(
        {"addProtectedRange": {"protectedRange": {"protectedRangeId": 5, "range": {}}}}
    )

    assert first["protectedRangeId"] == 5
    assert second.status_code == 400
