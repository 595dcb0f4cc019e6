"""The table generated from Google's API definition, and functions that look up types in it."""

from collections.abc import Mapping
from importlib.resources import files

import pytest

from sheets_emulator.edits.batch import KINDS
from sheets_emulator.edits.merge_requests import PARTS
from sheets_emulator.edits.paste_requests import PASTES
from sheets_emulator.grid.color import THEME
from sheets_emulator.operations import OPERATIONS
from sheets_emulator.protocol.definition import DEFINITION, Type, choices, members, method
from sheets_emulator.resources.validation import COUNTS
from tests.sheets_emulator.definition import made_definition


def schemas_in(kind: Type) -> set[str]:
    """The names of the schemas within a type, at any depth."""
    found: set[str] = set()
    inner = members(kind) or {}
    names = {each for each in map(plain, inner.values()) if each in DEFINITION.schemas}
    for name in names:
        found |= {name} | schemas_in(name)
    return found


def plain(kind: Type) -> str:
    """The name of a type. For a list or map, the name of the type of its items."""
    if isinstance(kind, str):
        return kind
    return plain(kind["map"] if isinstance(kind, dict) else kind[0])


def test_table_is_made_from_the_discovery_document() -> None:
    """`definition.json` equals the table generated from the installed discovery document."""
    kept = (files("sheets_emulator.protocol") / "definition.json").read_text(encoding="utf-8")

    assert kept == made_definition()


def test_no_schema_is_within_itself() -> None:
    """No schema contains itself at any depth, so parsing of a body always ends."""
    deepest = {name for name in DEFINITION.schemas if name in schemas_in(name)}

    assert deepest == set()


def test_every_call_and_batch_update_kind_is_in_googles_definition() -> None:
    """Each call is a method of Google's definition. Each batchUpdate kind is in `Request`."""
    assert all(method(call) for call in OPERATIONS)
    assert set(KINDS) <= set(DEFINITION.schemas["Request"])


@pytest.mark.parametrize(
    ("enumeration", "table"),
    [
        ("ConditionType", COUNTS),
        ("MergeType", PARTS),
        ("PasteType", PASTES),
        ("ThemeColorType", THEME),
    ],
)
def test_tables_have_every_value_of_their_enumerations(
    enumeration: str, table: Mapping[str, object]
) -> None:
    """A table that is keyed by an enumeration has all values of Google's enumeration."""
    assert set(table) == set(choices(enumeration))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        pytest.param("GridCoordinate", {"sheetId", "rowIndex", "columnIndex"}, id="schema"),
        pytest.param(["RowData"], {"values"}, id="list"),
        pytest.param("int32", set(), id="number"),
        pytest.param([["any"]], set(), id="cells"),
        pytest.param("Dimension", set(), id="enumeration"),
    ],
)
def test_members_are_the_fields_of_a_schema(kind: Type, names: set[str]) -> None:
    """`members` returns the fields of a schema or of a list of schemas, and {} for plain types."""
    assert set(members(kind) or {}) == names


def test_a_map_has_no_fixed_members() -> None:
    """`members` returns None for a map, because a map can have any key."""
    assert members({"map": "FilterCriteria"}) is None


@pytest.mark.parametrize(
    ("enumeration", "first"),
    [
        ("Dimension", "ROWS"),
        ("ValueInputOption", "RAW"),
        ("ValueRenderOption", "FORMATTED_VALUE"),
        ("ComparisonType", "ABSOLUTE_DIFFERENCE"),
    ],
)
def test_choices_begin_with_the_default(enumeration: str, first: str) -> None:
    """`choices` starts with the default, without the unspecified value."""
    assert choices(enumeration)[0] == first
