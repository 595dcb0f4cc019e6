"""Tests of number formats for numbers, dates and texts."""

import math
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.formats.pattern import default_pattern, is_date, written, written_text
from sheets_emulator.formats.serial import from_moment, from_time

MOMENT = from_moment(datetime(2016, 4, 5, 16, 8, 53, 528_000))
SPAN = from_time(hour=3, minute=13, second=41, millisecond=255)
ACCOUNTING = '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)'
ALPHABET = '0#?.,%;@/eE+-()$ "\\_*[]<>=1yYmMdDhHsSap€rRned'


@pytest.mark.parametrize(
    ("number", "pattern", "text"),
    [
        pytest.param(12345.125, "####.#", "12345.1", id="Google's guide, number signs"),
        pytest.param(12.34, "000.0000", "012.3400", id="Google's guide, zeros"),
        pytest.param(12, "#.0#", "12.0", id="Google's guide, both"),
        pytest.param(12000, "#,###", "12,000", id="Google's guide, groups"),
        pytest.param(1230000, '0.0,,"M"', "1.2M", id="Google's guide, millions"),
        pytest.param(1234500000, "0.00e+00", "1.23e+09", id="Google's guide, scientific"),
        pytest.param(2.5, "0", "3", id="half away from zero"),
        pytest.param(-2.5, "0", "-3", id="negative half away from zero"),
        pytest.param(1.005, "0.00", "1.01", id="half of the decimal, not of the double"),
        pytest.param(0.999, "0.00", "1.00", id="carry"),
        pytest.param(-0.001, "0.00", "0.00", id="no minus before zero"),
        pytest.param(0, "#", "", id="zero shows no number sign"),
        pytest.param(0, "#.##", ".", id="zero shows the point"),
        pytest.param(0.5, ".00", ".50", id="no place before the point"),
        pytest.param(12.5, ".00", "12.50", id="no place for the digits before the point"),
        pytest.param(5, "?0.0?", " 5.0 ", id="blanks for missing digits"),
        pytest.param(12, "???,??0", "    12", id="no separator between blanks"),
        pytest.param(1.5, "0.0##", "1.5", id="optional decimals"),
        pytest.param(12, "0000,000", "0,000,012", id="groups of zeros"),
        pytest.param(1234567, "#,##0,", "1,235", id="groups and thousands"),
        pytest.param(1234567, "0.0,", "1234.6", id="thousands with decimals"),
        pytest.param(5, "0,x", "0x", id="thousands before a literal"),
        pytest.param(5, "x,0", "x,5", id="comma after a literal"),
        pytest.param(0.125, "0%", "13%", id="percent"),
        pytest.param(0.125, "%0.0", "%12.5", id="percent first"),
        pytest.param(0.5, "0%%", "5000%%", id="two percents"),
        pytest.param(-1234.5, '"$"#,##0.00', "-$1,234.50", id="minus before the currency"),
        pytest.param(5, "[$€]#,##0", "€5", id="currency in brackets"),
        pytest.param(5, "[$€-407] 0", "€ 5", id="currency with a locale"),
        pytest.param(5, "[$-409]0", "5", id="locale only"),
        pytest.param(5551234567, "(000) 000-0000", "(555) 123-4567", id="literals between digits"),
        pytest.param(5, r"0\x\"", '5x"', id="escapes"),
        pytest.param(5, "_(0_)", " 5 ", id="widths"),
        pytest.param(5, "0*x", "5", id="fill"),
        pytest.param(5, '"day "0', "day 5", id="letters of a date in quotes"),
        pytest.param(5, '"five', "five", id="open quote"),
        pytest.param(-5, '"five"', "-five", id="no digits"),
        pytest.param(5, "[Red]0", "5", id="colour"),
        pytest.param(5, "[color 12]0", "5", id="numbered colour"),
        pytest.param(0.00001234, "0.0E-0", "1.2E-5", id="exponent, sign if negative"),
        pytest.param(1234, "0.0E-0", "1.2E3", id="exponent, no plus"),
        pytest.param(999999, "0.00E+00", "1.00E+06", id="exponent after a carry"),
        pytest.param(1234567, "##0.0E+0", "1.2E+6", id="exponent of three"),
        pytest.param(123456, "##0.0E+0", "123.5E+3", id="exponent of three, three digits"),
        pytest.param(999999, "##0E+0", "1E+6", id="exponent of three after a carry"),
        pytest.param(0, "0.00E+00", "0.00E+00", id="exponent of zero"),
        pytest.param(-1234, "0E+0", "-1E+3", id="negative with an exponent"),
        pytest.param(1e30, "0.00", "1" + "0" * 30 + ".00", id="large number"),
        pytest.param(5e-324, "0.0", "0.0", id="smallest number"),
    ],
)
def test_number_is_formatted(number: float, pattern: str, text: str) -> None:
    """Digits, groups, decimals, percent, exponents and literals follow the pattern."""
    assert written(float(number), pattern) == text


@pytest.mark.parametrize(
    ("number", "pattern", "text"),
    [
        pytest.param(5, "0.0;(0)", "5.0", id="positive"),
        pytest.param(-5, "0.0;(0)", "(5)", id="negative, no minus of its own"),
        pytest.param(0, "0.0;(0)", "0.0", id="zero with two sections"),
        pytest.param(0, '0.0;(0);"none"', "none", id="zero with three sections"),
        pytest.param(-5, "0;", "", id="empty section"),
        pytest.param(5, ";;;", "", id="nothing is shown"),
        pytest.param(-5, "0;@", "-5", id="last section is for texts"),
        pytest.param(1234.5, ACCOUNTING, " $1,234.50 ", id="accounting, positive"),
        pytest.param(-1234.5, ACCOUNTING, " $(1,234.50)", id="accounting, negative"),
        pytest.param(0, ACCOUNTING, " $-   ", id="accounting, zero"),
        pytest.param(50, '[<100]"low";[>500]"high";000', "low", id="first condition"),
        pytest.param(501, '[<100]"low";[>500]"high";000', "high", id="second condition"),
        pytest.param(200, '[<100]"low";[>500]"high";000', "200", id="no condition"),
        pytest.param(-5, "[Red][<=-5]0.0;0", "-5.0", id="colour and condition"),
        pytest.param(5, "[=5]0.0;0", "5.0", id="equal"),
        pytest.param(6, "[<>5]0.0;0", "6.0", id="not equal"),
        pytest.param(5, "[>100]0", None, id="no section for the number"),
        pytest.param(5, "yyyy-mm-dd;@", "1900-01-04", id="date and text"),
    ],
)
def test_section_is_chosen_by_the_number(number: float, pattern: str, text: str | None) -> None:
    """Sections are for positive and negative numbers, zero and texts, or have conditions."""
    assert written(float(number), pattern) == text


@pytest.mark.parametrize(
    ("number", "pattern", "text"),
    [
        pytest.param(MOMENT, "h:mm:ss.00 a/p", "4:08:53.53 p", id="Google's guide 1"),
        pytest.param(MOMENT, 'hh:mm A/P".M."', "04:08 P.M.", id="Google's guide 2"),
        pytest.param(MOMENT, "yyyy-mm-dd", "2016-04-05", id="Google's guide 3"),
        pytest.param(MOMENT, r"mmmm d \[dddd\]", "April 5 [Tuesday]", id="Google's guide 4"),
        pytest.param(MOMENT, "h PM, ddd mmm dd", "4 PM, Tue Apr 05", id="Google's guide 5"),
        pytest.param(
            MOMENT, "dddd, m/d/yy at h:mm", "Tuesday, 4/5/16 at 16:08", id="Google's guide 6"
        ),
        pytest.param(SPAN, "[hh]:[mm]:[ss].000", "03:13:41.255", id="Google's guide 7"),
        pytest.param(SPAN, "[mmmm]:[ss].000", "0193:41.255", id="Google's guide 8"),
        pytest.param(MOMENT, "mmmmm y yyy yyyyy", "A 16 2016 2016", id="lengths of year and month"),
        pytest.param(MOMENT, "d ddddd mmmmmm", "5 Tuesday April", id="many letters"),
        pytest.param(MOMENT, "m:ss", "8:54", id="minute before a second"),
        pytest.param(MOMENT, "hh m", "16 8", id="minute after an hour"),
        pytest.param(MOMENT, "hh M", "16 4", id="capital month after an hour"),
        pytest.param(MOMENT, "h/d/m", "16/5/4", id="month after a day"),
        pytest.param(MOMENT, "H:mm:SS AM/PM", "4:08:54 PM", id="capitals"),
        pytest.param(MOMENT, "s.0", "53.5", id="tenths"),
        pytest.param(MOMENT, "ss.00000", "53.52800", id="more than milliseconds"),
        pytest.param(MOMENT, "yyyy年m月d日", "2016年4月5日", id="Chinese letters"),
        pytest.param(
            MOMENT, 'd. mmmm yyyy" um "HH:mm" Uhr"', "5. April 2016 um 16:08 Uhr", id="um"
        ),
        pytest.param(1.5, '[h]"h" mm"m"', "36h 00m", id="units of a duration"),
        pytest.param(0.0, "h:mm am/pm", "12:00 AM", id="twelve at night"),
        pytest.param(0.5, "h:mm am/pm", "12:00 PM", id="twelve at noon"),
        pytest.param(0.999999, "h:mm:ss", "0:00:00", id="no second 60"),
        pytest.param(43831.999999, "yyyy-mm-dd h:mm:ss", "2020-01-02 0:00:00", id="carried day"),
        pytest.param(43831.999999, "yyyy-mm-dd h:mm", "2020-01-01 23:59", id="minutes are cut"),
        pytest.param(43831.999999, "yyyy-mm-dd", "2020-01-01", id="days are cut"),
        pytest.param(1.5, "[h]:mm:ss", "36:00:00", id="more than a day"),
        pytest.param(-1.5, "[h]:mm:ss", "-36:00:00", id="negative duration"),
        pytest.param(-0.0625, "[h]:mm", "-1:30", id="negative duration of less than a day"),
        pytest.param(-1e-7, "[h]:mm:ss", "0:00:00", id="no minus before no duration"),
        pytest.param(1.5, "[ss]", "129600", id="elapsed seconds"),
        pytest.param(0.9999999, "[m]", "1439", id="elapsed minutes are cut"),
        pytest.param(-0.25, "yyyy-mm-dd h:mm", "1899-12-29 18:00", id="before the epoch"),
        pytest.param(1e12, "yyyy-mm-dd", None, id="no such date"),
        pytest.param(2958465.9999999, "yyyy h:mm:ss", None, id="carried past the last date"),
        pytest.param(1e308, "h:mm", None, id="no such time"),
    ],
)
def test_date_or_time_is_formatted(number: float, pattern: str, text: str | None) -> None:
    """Letters stand for parts of a date, time or duration. Other characters are literals."""
    assert written(number, pattern) == text


@pytest.mark.parametrize(
    ("number", "pattern", "text"),
    [
        pytest.param(1.5, "# ?/?", "1 1/2", id="whole and fraction"),
        pytest.param(0.5, "# ?/?", " 1/2", id="no whole number"),
        pytest.param(0.5, "0 ?/?", "0 1/2", id="whole zero"),
        pytest.param(2.5, "?/?", "5/2", id="improper"),
        pytest.param(1 / 12, "# ??/??", "  1/12", id="two digits"),
        pytest.param(0.3333, "?/??", "1/3 ", id="nearest, padded"),
        pytest.param(math.pi, "# ???/???", "3  16/113", id="three digits"),
        pytest.param(5.25, "# ??/16", "5  4/16", id="denominator of the format"),
        pytest.param(0.5, "# ??/100", " 50/100", id="hundredths"),
        pytest.param(2, "# ?/?", "2    ", id="fraction of zero"),
        pytest.param(2, "0 0/0", "2 0/1", id="fraction of zero with zeros"),
        pytest.param(0, "# ?/?", "0    ", id="zero"),
        pytest.param(0.999, "# ?/?", "1    ", id="carry"),
        pytest.param(-1.25, "# ?/?", "-1 1/4", id="negative"),
        pytest.param(-0.001, "# ?/?", "0    ", id="no minus before zero"),
        pytest.param(1.5, '"about "0" and "0/0" feet"', "about 1 and 1/2 feet", id="literals"),
        pytest.param(0.005, "?/?%", "1/2%", id="percent"),
    ],
)
def test_number_is_formatted_as_a_fraction(number: float, pattern: str, text: str) -> None:
    """The pattern sets the digits or value of the denominator, and can have a whole number."""
    assert written(float(number), pattern) == text


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ('0;-0;0;"<"@">"', "<x>"),
        ('yyyy-mm-dd;@"!"@', "x!x"),
        ("@", "x"),
        ("0;0;0;", ""),
        ("0;0;0", "x"),
        ("yyyy-mm-dd", "x"),
        ("[Foo]@@", "x"),
        (None, "x"),
    ],
)
def test_text_is_formatted_by_the_section_for_texts(pattern: str | None, shown: str) -> None:
    """The fourth section, or a last section with `@`, is for texts. Otherwise texts stay."""
    assert written_text("x", pattern) == shown


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("yyyy-mm-dd", True, id="date"),
        pytest.param("h:mm", True, id="time"),
        pytest.param("[h]:mm:ss", True, id="duration"),
        pytest.param("[ss]", True, id="elapsed seconds"),
        pytest.param("yyyy;@", True, id="date with a section for texts"),
        pytest.param("0.00", False, id="number"),
        pytest.param("[Red]0", False, id="colour"),
        pytest.param('0 "days"', False, id="quoted letters"),
        pytest.param(r"0 \d", False, id="escaped letter"),
        pytest.param("0_d*s", False, id="width and fill"),
        pytest.param("[$USD] 0", False, id="currency"),
        pytest.param("0.00E+00", False, id="scientific"),
        pytest.param("@", False, id="text"),
        pytest.param("General", False, id="automatic"),
        pytest.param("y" * 10_000, False, id="too long"),
        pytest.param(None, False, id="no format"),
    ],
)
def test_date_formats_are_recognised(pattern: str | None, expected: bool) -> None:
    """Date letters outside quotes and brackets, and elapsed time, make a date format."""
    assert is_date(pattern) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "#,# ?/?",
        "?/ ?",
        "?/01",
        "?.?/?",
        "?/?/?",
        "?/??????????",
        "@",
        "General",
        "0;0;0;0;0",
        "[Foo]0",
        ".0E+0",
        "0" * 501,
        "",
    ],
)
def test_unknown_format_gives_no_text(pattern: str) -> None:
    """`written` returns None for an unknown format and "" for an empty format."""
    assert not written(1.5, pattern)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("pattern", ["0", "yyyy", "[h]"])
def test_nan_and_infinity_are_not_formatted(number: float, pattern: str) -> None:
    """`written` returns None for numbers that no cell can hold."""
    assert written(number, pattern) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("NUMBER", "1,000.12"),
        ("PERCENT", "100012.00%"),
        ("CURRENCY", "$1,000.12"),
        ("DATE", "9/26/1902"),
        ("TIME", "2:52:48 AM"),
        ("DATE_TIME", "9/26/02 2:52:48"),
        ("SCIENTIFIC", "1.00E+03"),
    ],
)
def test_type_without_a_pattern_has_a_default(kind: str, text: str) -> None:
    """The default patterns are those of Google's discovery document."""
    assert written(1000.12, default_pattern(kind) or "") == text


def test_text_has_no_default_pattern() -> None:
    """A number of the type TEXT is displayed in the automatic format."""
    assert default_pattern("TEXT") is None


@given(
    st.one_of(
        st.text(alphabet=ALPHABET, max_size=30),
        st.from_regex(r"[#0? ]*[?0]/[?05]+%?", fullmatch=True),
    ),
    st.floats(allow_nan=True, allow_infinity=True),
)
def test_any_format_and_number_are_accepted(pattern: str, number: float) -> None:
    """Formatting raises no exception and returns None or a text of limited length."""
    text = written(number, pattern)

    assert text is None or len(text) < 20_000
    assert is_date(pattern) in (True, False)


@pytest.mark.parametrize(
    "part", ["0", "[", "%", "0,", "[h]", "y", "0.", '"', "#,#", "0%E+0", ";", "# ?/"]
)
@pytest.mark.parametrize("number", [1e308, -5e-324, 43831.75])
@pytest.mark.parametrize("length", [490, 10_000])
def test_long_formats_give_texts_of_limited_length(part: str, number: float, length: int) -> None:
    """A format of up to 10,000 characters gives None or fewer than 100,000 characters."""
    pattern = (part * length)[:length]
    text = written(number, pattern)

    assert text is None or len(text) < 100_000
