"""Tests of `authorise` and of the checks of a caller's plan."""

from collections.abc import Sequence

import pytest

from gateway.access.caller import (
    Caller,
    authorise,
    check_conditional,
    check_query,
)
from gateway.errors import (
    GatewayError,
    InvalidSpreadsheetId,
    NotGranted,
    PlanLimit,
    PreconditionRequired,
    ReadOnlyKey,
    SpreadsheetNotFound,
)
from gateway.settings.model import PlanSettings
from gateway.storage.key_store import Grants, Right
from gateway.table.a1 import is_spreadsheet_id
from gateway.table.header import ALL_COLUMNS, ColumnGrant, IfMatch
from gateway.worksheets.access import WorksheetId
from tests.callers import make_caller

ONE = Grants(spreadsheets=frozenset({"one"}))
ANY = Grants(spreadsheets=None)
NARROW = Grants(
    spreadsheets=frozenset({"one", "two"}),
    worksheets=frozenset({"Cities"}),
    may_create=False,
    may_update=False,
)
READ: Sequence[Right] = ()
WRITE: Sequence[Right] = ("create", "update")


def caller(grants: Grants, plan: PlanSettings | None = None) -> Caller:
    """A caller with these grants, on the plan `free`."""
    return make_caller(grants, plan, key_id="key_1", plan_name="free")


@pytest.mark.parametrize(
    ("grants", "spreadsheet", "worksheet", "writes", "expected"),
    [
        pytest.param(ONE, "one", "Cities", READ, "one", id="granted"),
        pytest.param(ONE, "one", "Cities", WRITE, "one", id="granted for writing"),
        pytest.param(ONE, None, "Cities", READ, "one", id="no id, one grant"),
        pytest.param(ONE, "", "Cities", READ, "one", id="blank id, one grant"),
        pytest.param(ANY, "other", "Cities", WRITE, "other", id="any"),
        pytest.param(NARROW, "two", "Cities", READ, "two", id="all that a narrow key may"),
    ],
)
def test_granted_requests_are_authorised(
    grants: Grants, spreadsheet: str | None, worksheet: str, writes: Sequence[Right], expected: str
) -> None:
    """A granted request gets the worksheet that the request named."""
    target = authorise(caller(grants), spreadsheet=spreadsheet, worksheet=worksheet, writes=writes)

    assert target.worksheet == WorksheetId(expected, worksheet)


@pytest.mark.parametrize("writes", [READ, WRITE])
def test_access_has_the_granted_columns_and_worksheets(writes: Sequence[Right]) -> None:
    """The authorised worksheet has the columns and the other worksheets that its caller
    is allowed to see.
    """
    columns = ColumnGrant(frozenset({"a", "b"}), frozenset({"a"}))
    titles = frozenset({"Cities", "New"})
    some = Grants(spreadsheets=None, worksheets=titles, columns=columns)
    narrow, free = (
        authorise(caller(grants), spreadsheet="one", worksheet="Cities", writes=writes).access
        for grants in (some, ANY)
    )

    assert (narrow.titles, narrow.columns) == (titles, columns)
    assert (free.titles, free.columns) == (None, ALL_COLUMNS)
    assert narrow.key_id == "key_1"


# Each row has all the faults of the rows below it as well, so the order of the checks is held.
@pytest.mark.parametrize(
    ("grants", "spreadsheet", "worksheet", "writes", "error"),
    [
        pytest.param(NARROW, None, "x", WRITE, InvalidSpreadsheetId, id="no id, two grants"),
        pytest.param(ANY, None, "x", WRITE, InvalidSpreadsheetId, id="no id, any"),
        pytest.param(NARROW, "../../x", "x", WRITE, InvalidSpreadsheetId, id="malformed id"),
        pytest.param(NARROW, "other", "x", WRITE, SpreadsheetNotFound, id="not granted"),
        pytest.param(NARROW, "one", "x", WRITE, NotGranted, id="worksheet not granted"),
        pytest.param(NARROW, "one", "cities", READ, NotGranted, id="name in other case"),
        pytest.param(NARROW, "one", "Cities", WRITE, ReadOnlyKey, id="read-only key"),
    ],
)
def test_order_of_authorisation_errors(
    grants: Grants,
    spreadsheet: str | None,
    worksheet: str,
    writes: Sequence[Right],
    error: type[GatewayError],
) -> None:
    """Errors of grants come in one order: id, spreadsheet, worksheet, operation."""
    with pytest.raises(GatewayError) as refusal:
        authorise(caller(grants), spreadsheet=spreadsheet, worksheet=worksheet, writes=writes)

    assert type(refusal.value) is error


def test_the_id_in_a_url_is_reported() -> None:
    """If a spreadsheet ID is a pasted URL, the message names the ID in the URL and quotes
    nothing else of the URL.
    """
    url = "https://docs.google.com/spreadsheets/d/1BxiMVs0/edit?gid=0#secret"

    with pytest.raises(InvalidSpreadsheetId) as refusal:
        authorise(caller(ONE), spreadsheet=url, worksheet="Cities")

    assert refusal.value.message == (
        "This is the URL of a spreadsheet. Send only its ID, the part between /d/ and "
        "/edit: 1BxiMVs0"
    )


@pytest.mark.parametrize("text", ["a", "a" * 128, "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms_-"])
def test_valid_spreadsheet_ids(text: str) -> None:
    """A spreadsheet ID has 1 to 128 letters, digits, `-` and `_`."""
    assert is_spreadsheet_id(text)


@pytest.mark.parametrize(
    ("uses_where", "uses_order", "named"),
    [
        (True, False, "include 'where'\\."),
        (False, True, "include 'order'\\."),
        (True, True, "include 'where' and 'order'\\."),
    ],
)
def test_a_plan_without_where_and_order(uses_where: bool, uses_order: bool, named: str) -> None:
    """The error of a plan without queries names the parameter and the plan."""
    poor = caller(ANY, PlanSettings(where_and_order=False))

    with pytest.raises(PlanLimit, match=f"plan 'free' .*{named}"):
        check_query(poor, uses_where=uses_where, uses_order=uses_order)


@pytest.mark.parametrize("condition", [None, IfMatch(tags=None)], ids=["none", "any state"])
def test_a_plan_can_require_if_match(condition: IfMatch | None) -> None:
    """The error of a plan that requires conditional updates names the plan and the header."""
    careful = caller(ANY, PlanSettings(require_if_match=True))

    with pytest.raises(PreconditionRequired, match=r"plan 'free' .* If-Match"):
        check_conditional(careful, condition)


@pytest.mark.parametrize(
    ("require_if_match", "condition"),
    [
        pytest.param(True, IfMatch(tags=frozenset({'"a"'})), id="required, given"),
        pytest.param(True, IfMatch(tags=frozenset()), id="required, malformed: it matches no row"),
        pytest.param(False, IfMatch(tags=frozenset({'"a"'})), id="given"),
        pytest.param(False, IfMatch(tags=None), id="any state"),
        pytest.param(False, None, id="neither"),
    ],
)
def test_updates_that_satisfy_the_plan(require_if_match: bool, condition: IfMatch | None) -> None:
    """An update with a condition is allowed on any plan; an update without a condition
    only where the plan requires none.
    """
    check_conditional(caller(ANY, PlanSettings(require_if_match=require_if_match)), condition)


def test_a_plan_without_writes() -> None:
    """Writes on a plan without writes get 403 code 4034 that names the plan; reads
    succeed. A missing grant is reported first.
    """
    reading = PlanSettings(writes=False)

    assert authorise(caller(ANY, reading), spreadsheet="one", worksheet="x")
    with pytest.raises(PlanLimit, match=r"plan 'free' .*writes"):
        authorise(caller(ANY, reading), spreadsheet="one", worksheet="x", writes=("update",))
    with pytest.raises(ReadOnlyKey):
        authorise(
            caller(NARROW, reading), spreadsheet="one", worksheet="Cities", writes=("update",)
        )
