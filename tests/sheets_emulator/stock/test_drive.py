"""Tests of unmodified gspread: methods that find, create, copy and delete files in Drive."""

from datetime import datetime

import gspread
import pytest

from tests.sheets_emulator.stock.served import Served


def test_spreadsheet_is_created_found_and_deleted(client: gspread.Client) -> None:
    """A spreadsheet is listed and opened by title until it is deleted."""
    made = client.create("Budget")
    client.create("Other")
    listed = client.list_spreadsheet_files("Budget")

    assert [file["id"] for file in listed] == [made.id]
    assert client.open("Budget").id == made.id
    assert {each.title for each in client.openall()} >= {"Budget", "Other"}
    assert [each.id for each in client.openall("Budget")] == [made.id]
    client.del_spreadsheet(made.id)
    with pytest.raises(gspread.SpreadsheetNotFound):
        client.open("Budget")
    with pytest.raises(gspread.SpreadsheetNotFound):
        client.open_by_key(made.id)


def test_only_writes_change_the_modified_time(client: gspread.Client) -> None:
    """A read does not change the modified time of a spreadsheet."""
    made = client.create("Times")
    created = datetime.fromisoformat(made.creationTime)
    before = made.get_lastUpdateTime()
    made.sheet1.get_all_values()
    after_read = made.get_lastUpdateTime()
    made.sheet1.update_acell("A1", "x")
    after_write = datetime.fromisoformat(made.get_lastUpdateTime())
    metadata = client.get_file_drive_metadata(made.id)

    assert before == after_read == made.creationTime
    assert after_write > created
    assert metadata == {
        "id": made.id,
        "name": "Times",
        "createdTime": made.creationTime,
        "modifiedTime": made.get_lastUpdateTime(),
    }


def test_copy_of_a_spreadsheet_is_independent(client: gspread.Client) -> None:
    """Values are copied, and later writes to the original do not change the copy."""
    made = client.create("Original")
    made.sheet1.update([["a", 1]])
    copied = client.copy(made.id, title="Twin")
    made.sheet1.update_acell("A1", "changed")

    assert copied.title == "Twin"
    assert copied.id != made.id
    assert copied.sheet1.get_all_values() == [["a", "1"]]


def test_owner_is_the_only_one_with_permissions(client: gspread.Client, served: Served) -> None:
    """The service account that created a spreadsheet has the only permission, as owner."""
    made = client.create("Mine")
    permissions = made.list_permissions()

    assert [(each["role"], each["type"]) for each in permissions] == [("owner", "user")]
    assert permissions[0]["emailAddress"] == served.credentials().service_account_email


def test_sharing_is_not_implemented(client: gspread.Client) -> None:
    """`share` raises an APIError that names the part of Google Drive that is missing."""
    made = client.create("Alone")

    with pytest.raises(gspread.exceptions.APIError, match="/permissions' of Google Drive"):
        made.share("someone@example.com", perm_type="user", role="reader")


def test_renamed_spreadsheet_is_found_by_its_new_title(client: gspread.Client) -> None:
    """After `update_title`, Drive finds the spreadsheet by the new title only."""
    made = client.create("Before")
    made.update_title("After")

    assert client.open("After").id == made.id
    assert client.list_spreadsheet_files("Before") == []
