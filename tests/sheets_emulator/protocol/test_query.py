"""Query parameters parsed by Google's definition."""

import pytest

from sheets_emulator.protocol.query import input_option, is_pretty, read_query
from sheets_emulator.refusal import Refusal

RENDER_OPTION = "type.googleapis.com/google.apps.sheets.v4.ValueRenderOption"


def refused(query: bytes, call: str) -> Refusal:
    """The error that `read_query` raises for an invalid query string."""
    with pytest.raises(Refusal) as caught:
        read_query(query, call)
    return caught.value


@pytest.mark.parametrize(
    ("query", "call", "message"),
    [
        pytest.param(
            b"majorDimension=ROW",
            "values.get",
            "Invalid value at 'major_dimension' "
            '(type.googleapis.com/google.apps.sheets.v4.Dimension), "ROW"',
            id="enumeration",
        ),
        pytest.param(
            b"responseValueRenderOption=ZZ",
            "values.update",
            f"Invalid value at 'response_value_render_option' ({RENDER_OPTION}), \"ZZ\"",
            id="enumeration without effect",
        ),
        pytest.param(
            b"includeGridData=maybe",
            "spreadsheets.get",
            "Invalid value at 'include_grid_data' (TYPE_BOOL), \"maybe\"",
            id="boolean",
        ),
        pytest.param(
            b"prettyPrint=ZZ",
            "values.get",
            "Invalid value at 'pretty_print' (TYPE_BOOL), \"ZZ\"",
            id="boolean of every call",
        ),
        pytest.param(
            b"colour=red",
            "values.get",
            'Invalid JSON payload received. Unknown name "colour": Cannot bind query parameter. '
            "Field 'colour' could not be found in request message.",
            id="unknown name",
        ),
        pytest.param(
            b"alt=json&fields=range&fields=values",
            "values.get",
            'Invalid JSON payload received. Unknown name "fields": Proto field is not repeating, '
            "cannot start list.",
            id="twice",
        ),
    ],
)
def test_a_wrong_parameter_is_reported_in_googles_words(
    query: bytes, call: str, message: str
) -> None:
    """An invalid value, an unknown name or a repeated parameter gets 400 with Google's message."""
    refusal = refused(query, call)

    assert (refusal.code, refusal.message) == (400, message)


@pytest.mark.parametrize(
    ("query", "call"),
    [
        pytest.param(b"alt=ZZ", "values.get", id="alt"),
        pytest.param(b"$.xgafv=ZZ", "values.get", id="error format"),
        pytest.param(b"commentsViewMode=ZZ", "spreadsheets.get", id="comments"),
        pytest.param(b"excludeTablesInBandedRanges=ZZ", "spreadsheets.get", id="tables"),
        pytest.param(b"insertDataOption=ZZ", "values.append", id="insert"),
        pytest.param(b"insertDataOption=OVERWRITE", "values.update", id="of another call"),
        pytest.param(b"includeGridData=true", "values.get", id="of another resource"),
        pytest.param(b"valueInputOption=RAW", "values.batchUpdate", id="member of the body"),
    ],
)
def test_unknown_values_and_parameters_are_rejected(query: bytes, call: str) -> None:
    """A value or a parameter name that Google's definition does not have for the call gets 400."""
    assert refused(query, call).code == 400


def test_all_invalid_parameters_are_reported_at_once() -> None:
    """The error for two invalid parameters has two lines."""
    refusal = refused(b"colour=red&majorDimension=ROW", "values.get")

    assert len(refusal.message.splitlines()) == 2


@pytest.mark.parametrize("query", [b"alt=media", b"alt=proto", b"$.xgafv=1", b"callback=f"])
def test_unsupported_answer_formats_get_501(query: bytes) -> None:
    """A parameter for an answer in bytes or JavaScript gets 501 with the parameter."""
    refusal = refused(query, "values.get")

    assert refusal.code == 501
    assert query.decode() in refusal.message


@pytest.mark.parametrize(
    ("query", "call"),
    [
        pytest.param(
            b"alt=json&$.xgafv=2&prettyPrint=False&key=k&quotaUser=u", "values.get", id="system"
        ),
        pytest.param(b"uploadType=x&upload_protocol=raw&callback=", "values.get", id="rare"),
        pytest.param(
            b"commentsViewMode=COMMENTS_VIEW_MODE_INCLUDED&excludeTablesInBandedRanges=true",
            "spreadsheets.get",
            id="of what is not here",
        ),
        pytest.param(b"ranges=A&ranges=B&include_grid_data=T", "spreadsheets.get", id="list"),
        pytest.param(b"majorDimension=&value_render_option=", "values.batchGet", id="empty"),
    ],
)
def test_all_parameters_of_googles_definition_are_accepted(query: bytes, call: str) -> None:
    """A parameter in Google's definition is accepted, even if it has no effect in the emulator."""
    assert read_query(query, call).given


@pytest.mark.parametrize(
    ("query", "choice"),
    [
        pytest.param(b"", "ROWS", id="absent"),
        pytest.param(b"majorDimension=", "ROWS", id="empty"),
        pytest.param(b"majorDimension=DIMENSION_UNSPECIFIED", "ROWS", id="none"),
        pytest.param(b"major_dimension=COLUMNS", "COLUMNS", id="snake_case"),
    ],
)
def test_an_enumeration_has_a_default(query: bytes, choice: str) -> None:
    """An absent, empty or unspecified enumeration means the default of the enumeration."""
    assert read_query(query, "values.get").choice("majorDimension") == choice


@pytest.mark.parametrize(
    ("value", "is_set"),
    [("true", True), ("TRUE", True), ("1", True), ("", True), ("False", False), ("n", False)],
)
def test_booleans_are_parsed_in_any_case(value: str, is_set: bool) -> None:
    """`true`, `TRUE`, `1` and an empty value are true. `False` and `n` are false."""
    query = read_query(f"includeGridData={value}".encode(), "spreadsheets.get")

    assert query.flag("includeGridData") is is_set


@pytest.mark.parametrize("value", ["", "INPUT_VALUE_OPTION_UNSPECIFIED"])
def test_the_input_option_has_no_default(value: str) -> None:
    """Reported by users of Google: a write without `valueInputOption` is an error."""
    with pytest.raises(Refusal, match="'valueInputOption' is required but not specified"):
        input_option(value)


@pytest.mark.parametrize(
    ("query", "pretty"),
    [
        (b"", True),
        (b"prettyPrint=false", False),
        (b"prettyPrint=FALSE", False),
        (b"prettyPrint=ZZ", True),
    ],
)
def test_answers_are_indented_unless_pretty_print_is_false(query: bytes, pretty: bool) -> None:
    """Only `prettyPrint=false` in any case turns indentation off. An invalid value does not."""
    assert is_pretty(query) is pretty
