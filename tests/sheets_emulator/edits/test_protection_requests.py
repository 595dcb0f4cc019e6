"""batchUpdate: adding, changing and deleting protections, and how they are shown."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.requests_of import Request, dimension, grid_range

CELL = {"startRowIndex": 1, "endRowIndex": 2, "startColumnIndex": 1, "endColumnIndex": 2}
ADDRESS = "someone@example.com"


def added(bench: Bench, **members: object) -> Any:
    """The ProtectedRange of the reply to adding one."""
    answer = bench.edit({"addProtectedRange": {"protectedRange": members}})
    return answer.json()["replies"][0]["addProtectedRange"]["protectedRange"]


def shown(bench: Bench, sheet: int = 0) -> Any:
    """The protections of a worksheet, as the account sees them."""
    sheets = bench.described(fields="sheets.protectedRanges")["sheets"]
    return sheets[sheet].get("protectedRanges", [])


def updated(bench: Bench, number: int, fields: str, **members: object) -> Any:
    protection = {"protectedRangeId": number, **members}
    request = {"updateProtectedRange": {"protectedRange": protection, "fields": fields}}
    return bench.edit(request)


def test_who_adds_a_protection_may_edit(bench: Bench) -> None:
    """Recorded: the reply has the editors as given, a read has the account among them."""
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


def test_owners_protection_is_shown_without_its_editors(bench: Bench) -> None:
    """Editors are shown only to editors."""
    editors = {"users": [ADDRESS]}
    protection = {"range": {"sheetId": 0, **CELL}, "description": "d", "editors": editors}
    bench.owner_edits({"addProtectedRange": {"protectedRange": protection}})
    found = shown(bench)[0]

    assert found == {
        "protectedRangeId": found["protectedRangeId"],
        "range": CELL,
        "description": "d",
    }


def test_given_editors_are_shown_with_the_account(bench: Bench) -> None:
    """Users, groups and the domain are kept."""
    editors = {"users": [ADDRESS], "groups": ["g@example.com"], "domainUsersCanEdit": True}
    reply = added(bench, range={"sheetId": 0, **CELL}, editors=editors)

    assert reply["editors"] == editors
    assert shown(bench)[0]["editors"] == {
        **editors,
        "users": [ADDRESS, bench.account["client_email"]],
    }


def test_warning_has_no_editors_of_its_own(bench: Bench) -> None:
    """Reported: a protection that only warns is refused if editors come with it."""
    members = {"range": {"sheetId": 0}, "warningOnly": True, "editors": {"users": [ADDRESS]}}
    answer = bench.edit({"addProtectedRange": {"protectedRange": members}})

    assert message(answer) == (
        "Invalid requests[0].addProtectedRange: ProtectedRange is warningOnly. "
        "Editors cannot be set on it."
    )


def test_worksheet_is_protected_once(bench: Bench) -> None:
    """Reported: a second protection of the whole worksheet is refused, one of a part is not."""
    whole = {"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0}}}}
    part = {"addProtectedRange": {"protectedRange": {"range": {"sheetId": 0, **CELL}}}}
    answers = [bench.edit(request) for request in (whole, part, whole)]

    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert message(answers[2]).endswith('Sheet "Data" already has sheet protection.')
    assert [each["range"] for each in shown(bench)] == [{}, CELL]


def test_update_sets_what_the_mask_names(bench: Bench) -> None:
    """The description changes; the range, which is sent too, does not."""
    number = added(bench, range={"sheetId": 0, **CELL}, description="old")["protectedRangeId"]
    updated(bench, number, "description", description="new", range={"sheetId": 0})
    first = shown(bench)[0]
    updated(bench, number, "range,description", range={"sheetId": 0})
    second = shown(bench)[0]

    assert (first["description"], first["range"]) == ("new", CELL)
    assert ("description" in second, second["range"]) == (False, {})


def test_update_keeps_the_account_among_the_editors(bench: Bench) -> None:
    """An editor cannot remove itself."""
    number = added(bench, range={"sheetId": 0, **CELL})["protectedRangeId"]
    updated(bench, number, "editors", editors={"users": [ADDRESS]})

    assert shown(bench)[0]["editors"]["users"] == [ADDRESS, bench.account["client_email"]]
    assert bench.update("Data!B2", [["x"]]).status_code == 200


def test_owners_protection_is_not_changed_or_deleted(bench: Bench) -> None:
    """Only who may edit what is protected may free it."""
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
    """The id of the reply deletes it; another one is refused."""
    number = added(bench, range={"sheetId": 0, **CELL})["protectedRangeId"]
    wrong = bench.edit({"deleteProtectedRange": {"protectedRangeId": number + 1}})
    bench.edit({"deleteProtectedRange": {"protectedRangeId": number}})

    assert message(wrong).endswith(f"No protected range with id: {number + 1}")
    assert shown(bench) == []


def test_protection_of_a_named_range_goes_with_it(bench: Bench) -> None:
    """It has the range of the name, follows it, and stays when the name is deleted."""
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


def test_deleted_cells_take_their_protection_along(bench: Bench) -> None:
    """A protection of which no cell is left is gone."""
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
    """A missing place, and members that Google does not have, are 400."""
    answer = bench.edit({"addProtectedRange": {"protectedRange": protection}})

    assert answer.status_code == 400
    assert complaint in message(answer)


def test_id_may_be_chosen_but_not_taken(bench: Bench) -> None:
    """Google's definition: the id is optional, and an error where a protection has it."""
    first = added(bench, protectedRangeId=5, range={"sheetId": 0, **CELL})
    second = bench.edit(
        {"addProtectedRange": {"protectedRange": {"protectedRangeId": 5, "range": {}}}}
    )

    assert first["protectedRangeId"] == 5
    assert second.status_code == 400
