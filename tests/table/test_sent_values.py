"""Tests of values in typed writes: comparison with cells, and storage by kind of column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.table.column_types import (
    CellForm,
    ColumnKind,
    Kind,
    NumberFormat,
    SeenCell,
    SheetForms,
)
from gateway.table.moments import moment_in
from gateway.table.record import Stored
from gateway.table.sent_values import (
    OffsetSent,
    is_held,
    is_open,
    may_be_stored_as,
    stored_value,
)
from gateway.table.typed import ERROR, typed_answer
from sheets_emulator.formats.pattern import written

PATTERNS = [
    "0", "0.00", "#,##0", "0%", '"$"#,##0.00', "00000", "0.0E+00", "yyyy-mm-dd", "m/d/yyyy",
    "dd.mm.yyyy hh:mm", "d mmm", "mmm yyyy", "h:mm am/pm", "hh:mm:ss", "[h]:mm:ss", "[mm]:ss",
    "yyyy-mm-dd hh:mm:ss.000",
]  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-(2**53), 2**53),
    st.floats(-3e6, 3e6),
    st.integers(0, 10**11).map(lambda milliseconds: milliseconds / 86_400_000),
)
TEXTS = st.one_of(
    st.text(), st.sampled_from(["5", "TRUE", "2026-02-01", "10:30", "#N/A", "", "on"])
)
DATE = NumberFormat("DATE", "d mmm")
TIME = NumberFormat("TIME", "[h]:mm")
FORMS = {
    name: SheetForms(rows=[[SeenCell(CellForm(*form), value)]])
    for name, form, value in [
        ("date", (DATE, ""), None),
        ("time", (TIME, ""), None),
        ("number", (NumberFormat("NUMBER"), ""), None),
        ("values", (None, ""), 5),
        ("checkbox", (None, "BOOLEAN"), None),
        ("text", (NumberFormat("TEXT", "@"), ""), None),
        ("nothing", (None, ""), None),
    ]
}


@given(number=NUMBERS, pattern=st.sampled_from(PATTERNS))
def test_the_typed_value_of_a_number_equals_its_cell(number: float, pattern: str) -> None:
    """The typed value of a number equals its cell, so that sending it back writes nothing."""
    text = written(number, pattern) or str(number)
    answer = typed_answer(text, number)

    assert isinstance(answer, str | int | float)
    assert is_held(answer, text, number, is_form=False)
    assert is_held(text, text, number, is_form=False) or moment_in(text) is not None


@given(value=st.one_of(TEXTS, st.booleans()))
def test_the_typed_value_of_other_cells_equals_the_cell(value: str | bool) -> None:
    """The typed value of a text, boolean, error or empty cell equals its cell."""
    text = str(value).upper() if isinstance(value, bool) else value
    answer = typed_answer(text, value)
    sent: Stored = None if answer is ERROR else answer  # type: ignore[assignment]

    assert is_held(sent, text, value, is_form=False)


@pytest.mark.parametrize(
    ("sent", "text", "value"),
    [
        (5, "5", "5"),
        (5, "5", True),
        (1, "TRUE", True),
        (True, "1", 1),
        ("5.0", "5", 5),
        (46054, "2026-02-01", 46054),
        ("2026-02-01", "46054", 46054),
        ("2026-02-01T00:00Z", "2026-02-01", 46054),
        ("10:30", "2026-02-01", 46054),
        ("2026-02-01", "2026-02-01", 46054.25),
        ("10:30", "10:30", (10 * 60 + 30.75) / 1440),
        (12.3, "12", 12.4),
        ("true", "TRUE", True),
        (None, "5", 5),
        ("", "#N/A", "#N/A"),
        (0, "", None),
        (None, "", 5),
        ("", "", 5),
        (False, "", None),
    ],
)
def test_a_value_of_another_kind_differs_from_the_cell(
    sent: Stored, text: str, value: object
) -> None:
    """A sent value equals a cell only if kind and value are equal. 5 differs from "5" and from
    TRUE.
    """
    assert not is_held(sent, text, value, is_form=False)


@pytest.mark.parametrize(
    ("sent", "text", "value", "is_same"),
    [
        ("12", "12", 12.3, False),
        ("12.3", "12", 12.3, True),
        ("$12", "$12", 12.3, True),
        ("1e3", "1e3", 1000.1, True),
        ("on", "TRUE", True, True),
        ("off", "TRUE", True, False),
    ],
)
def test_a_form_is_compared_by_values(sent: str, text: str, value: object, is_same: bool) -> None:
    """A plain number from a form is compared with the typed value, not with the displayed text."""
    assert is_held(sent, text, value, is_form=True) is is_same


def test_a_text_equals_a_cell_by_value_or_display() -> None:
    """A sent text equals a cell if the cell has this typed value or displays this text."""
    assert is_held("x", "Item x", "x", is_form=False)
    assert is_held("Item x", "Item x", "x", is_form=False)
    assert not is_held("Item", "Item x", "x", is_form=False)


@pytest.mark.parametrize(
    ("sent", "column", "stored"),
    [
        ("2026-02-01", "date", (46054, DATE)),
        ("2026-02-01T06:00", "date", (46054.25, DATE)),
        ("10:30", "date", ("10:30", None)),
        ("36:00:00", "time", (1.5, TIME)),
        ("2026-02-01", "time", ("2026-02-01", None)),
        ("2026-02-01", "number", ("2026-02-01", None)),
        ("2026-02-01", "text", ("2026-02-01", None)),
        ("5", "number", ("5", None)),
        ("true", "checkbox", ("true", None)),
        (5, "date", (5, None)),
    ],
)
def test_stored_values(sent: Stored, column: str, stored: tuple[Stored, object]) -> None:
    """A date or time is stored as a number in a column of its kind. Other values do not change."""
    assert stored_value(sent, FORMS[column].kind(0), is_form=False) == stored


@pytest.mark.parametrize(
    ("sent", "column", "stored"),
    [
        ("5", "number", 5),
        ("5", "values", 5),
        ("5.50", "number", 5.5),
        ("5", "nothing", "5"),
        ("5", "text", "5"),
        ("1e3", "number", "1e3"),
        ("9007199254740993", "number", "9007199254740993"),
        ("9007199254740994.0", "number", "9007199254740994.0"),
        ("9" * 400, "number", "9" * 400),
        ("-0", "number", 0),
        ("on", "checkbox", True),
        ("off", "checkbox", False),
        ("on", "number", "on"),
        ("=1", "number", "=1"),
    ],
)
def test_stored_values_of_forms(sent: str, column: str, stored: Stored) -> None:
    """A text from a form is stored as a number or boolean if the column has this kind."""
    found, number_format = stored_value(sent, FORMS[column].kind(0), is_form=True)

    assert (found, type(found), number_format) == (stored, type(stored), None)


@given(sent=TEXTS, column=st.sampled_from([*FORMS]), is_form=st.booleans())
def test_possible_stored_values_of_a_sent_text(sent: str, column: str, is_form: bool) -> None:
    """`may_be_stored_as` is True only for the sent text and for its converted value."""
    stored, _ = stored_value(sent, FORMS[column].kind(0), is_form=is_form)

    assert may_be_stored_as(sent, stored, is_form=is_form)
    assert may_be_stored_as(sent, sent, is_form=is_form)
    assert not may_be_stored_as(sent, f"{sent}!", is_form=is_form)
    assert is_open(sent, is_form=is_form) or stored == sent


def test_a_time_with_an_offset_is_rejected_by_date_columns() -> None:
    """In a date column, a time with a UTC offset raises OffsetSent with the local time. A text
    column stores it.
    """
    with pytest.raises(OffsetSent, match=r"^2026-02-01T10:30:00$"):
        stored_value("2026-02-01T10:30:00.000Z", ColumnKind(Kind.DATE), is_form=False)
    text = "2026-02-01T10:30:00+02:00"

    assert stored_value(text, ColumnKind(Kind.TEXT), is_form=False) == (text, None)


def test_a_date_without_a_format_gets_the_format_of_the_locale() -> None:
    """A date in a column with a date type but no number format gets the locale's default format."""
    column = SheetForms(types={0: "DATE"}).kind(0)
    ruled = SheetForms(rows=[[SeenCell(CellForm(rule="DATE_AFTER"))]]).kind(0)

    assert column == ColumnKind(Kind.DATE, NumberFormat("DATE"))
    assert stored_value("2026-02-01", ruled, is_form=False) == (46054, NumberFormat("DATE"))
    assert stored_value("2026-02-01T12:00", ruled, is_form=False) == (
        46054.5,
        NumberFormat("DATE_TIME"),
    )


def test_precedence_of_the_kind_of_a_column() -> None:
    """The first known kind counts: cell format, column format, native table, validation, value."""
    blank = SeenCell()
    dated = SeenCell(CellForm(DATE))
    timed = SeenCell(CellForm(TIME))
    ruled = SeenCell(CellForm(rule="NUMBER_GREATER"), True)

    assert SheetForms(rows=[[timed], [dated]]).kind(0, [blank]).kind is Kind.CLOCK
    assert SheetForms(rows=[[timed], [dated]]).kind(0, [dated]).kind is Kind.DATE
    assert SheetForms(rows=[[ruled], [dated]], types={0: "TEXT"}).kind(0).kind is Kind.DATE
    assert SheetForms(rows=[[ruled]], types={0: "TEXT"}).kind(0).kind is Kind.TEXT
    assert SheetForms(rows=[[ruled]]).kind(0).kind is Kind.NUMBER
    assert SheetForms(rows=[[SeenCell(value=True)]]).kind(0).kind is Kind.BOOLEAN
    assert SheetForms().kind(3).kind is None
