"""JSON values printed in protobuf's text format, as in Google's errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sheets_emulator.values.value_text import MAX_LENGTH, value_text

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        pytest.param("x", 'string_value: "x"', id="text"),
        pytest.param(1, "number_value: 1.0", id="number"),
        pytest.param(-0.5, "number_value: -0.5", id="fraction"),
        pytest.param(10**400, "number_value: Infinity", id="past all doubles"),
        pytest.param(True, "bool_value: true", id="true"),
        pytest.param(False, "bool_value: false", id="false"),
        pytest.param(None, "null_value: NULL_VALUE", id="null"),
        pytest.param('a"b\\c\n', r'string_value: "a\"b\\c\n"', id="escapes"),
        pytest.param("é\x01", r'string_value: "\303\251\001"', id="bytes outside of ASCII"),
        pytest.param("\ud800", r'string_value: "\355\240\200"', id="half a character"),
    ],
)
def test_kind_of_a_value_is_the_name_of_its_field(value: object, line: str) -> None:
    """A value is printed with a field name for the JSON type, such as `string_value`."""
    assert value_text([value]) == f"list_value {{\n  values {{\n    {line}\n  }}\n}}\n"


def test_messages_are_indented_by_their_depth() -> None:
    """Each nested list and map is indented by two more blanks."""
    assert value_text([{"k": []}]).splitlines() == [
        "list_value {",
        "  values {",
        "    struct_value {",
        "      fields {",
        '        key: "k"',
        "        value {",
        "          list_value {",
        "          }",
        "        }",
        "      }",
        "    }",
        "  }",
        "}",
    ]


def test_text_of_a_huge_value_is_short() -> None:
    """The text of many values, of a long value and of deeply nested lists is limited in length."""
    deep: object = []
    for _ in range(5000):
        deep = [deep]

    for value in (["x"] * 10**6, ["x" * 10**6], deep):
        assert len(value_text(value)) < 2 * MAX_LENGTH


@given(JSON_VALUES)
def test_text_of_any_value_is_ascii(value: object) -> None:
    """The text of any JSON value has only printable ASCII characters and line breaks."""
    text = value_text(value)

    assert text.isascii()
    assert text.replace("\n", "").isprintable()
