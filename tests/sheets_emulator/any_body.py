"""Request bodies for Hypothesis, drawn from Google's discovery document.

Rules
- A tame body has the right types and small numbers, so that many requests take effect.
- In a wild body, any value can be replaced by an invalid one (junk). So all code that parses a
  member also gets wrong types, huge numbers and unknown names.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from sheets_emulator.edits.batch import KINDS
from tests.discovery_schema import Json, document

DEEPEST = 8
JUNK_IN = 12  # one of so many values of a wild body is invalid
ROOT = "/v4/spreadsheets"
BODIES = {
    f"{ROOT}": "Spreadsheet",
    f"{ROOT}/book:batchUpdate": "BatchUpdateSpreadsheetRequest",
    f"{ROOT}/book/values:batchUpdate": "BatchUpdateValuesRequest",
    f"{ROOT}/book/values:batchClear": "BatchClearValuesRequest",
    f"{ROOT}/book/values/Data!A1:append": "ValueRange",
    f"{ROOT}/book/sheets/0:copyTo": "CopySheetToAnotherSpreadsheetRequest",
    f"{ROOT}/book/developerMetadata:search": "SearchDeveloperMetadataRequest",
    f"{ROOT}/book:getByDataFilter": "GetSpreadsheetByDataFilterRequest",
    f"{ROOT}/book/values:batchGetByDataFilter": "BatchGetValuesByDataFilterRequest",
    f"{ROOT}/book/values:batchUpdateByDataFilter": "BatchUpdateValuesByDataFilterRequest",
    f"{ROOT}/book/values:batchClearByDataFilter": "BatchClearValuesByDataFilterRequest",
}
"""Schema of the body of a POST, by path."""

ONE_OF = ("Request", "ExtendedValue")  # objects with exactly one member
NEEDED = (
    *("sheetId", "range", "ranges", "source", "destination", "cell", "rows", "start", "values"),
    *("fields", "requests", "properties", "dimension", "startIndex", "endIndex", "startRowIndex"),
    *("endRowIndex", "startColumnIndex", "endColumnIndex", "valueInputOption", "name", "rule"),
    *("condition", "type", "find", "length", "sourceSheetId", "sortSpecs", "namedRange", "data"),
    *("protectedRange", "filter", "userEnteredValue", "destinationSpreadsheetId", "mergeType"),
    *("shiftDimension", "pasteType", "destinationIndex", "rowIndex", "columnIndex", "dimensions"),
    *("developerMetadata", "metadataKey", "visibility", "location", "dataFilter", "dataFilters"),
    *("dimensionGroup", "depth", "namedRangeId", "protectedRangeId", "delimiterType", "delimiter"),
    *("developerMetadataLookup", "table", "tableId"),
)
"""Members that a tame body always has, because few requests take effect without them."""

NOT_TOGETHER = (  # pairs of members; a tame body has only the first one
    *(("start", "range"), ("sheetId", "allSheets"), ("range", "sheetId"), ("range", "allSheets")),
    ("source", "useAlternateSeries"),
    *(("sheetId", "spreadsheet"), ("sheetId", "dimensionRange")),
    *(("developerMetadataLookup", "a1Range"), ("developerMetadataLookup", "gridRange")),
)
LACKING: Mapping[str, Sequence[str]] = {  # members that a tame object never has
    "BasicFilter": ("sortSpecs", "tableId"),
    "DimensionProperties": ("developerMetadata",),
    "ProtectedRange": ("namedRangeId", "tableId"),
}
FOREIGN = ("dataSource", "comment", "chip", "pivot")  # prefixes of members that are never tame
MASKS = (
    *("*", "*", "userEnteredValue", "note", "title", "userEnteredFormat.textFormat", "name"),
    *("gridProperties.hideGridlines", "gridProperties.frozenRowCount", "pixelSize"),
    "userEnteredFormat",
    "index,hidden",
    "metadataValue",
)
SEEN: Mapping[str, st.SearchStrategy[Any]] = {
    "fields": st.sampled_from(MASKS),
    "sheetId": st.sampled_from([0, 0, 0, 0, 9]),
    **dict.fromkeys(["startIndex", "startRowIndex", "startColumnIndex"], st.integers(0, 2)),
    **dict.fromkeys(["endIndex", "endRowIndex"], st.integers(3, 5)),
    "endColumnIndex": st.sampled_from([3, 3, 4, 5]),
    "sourceSheetId": st.just(0),
    "depth": st.just(1),
    "namedRangeId": st.sampled_from(["n", "m"]),
    "protectedRangeId": st.sampled_from([7, 8]),
    "metadataId": st.sampled_from([1, 1, 1, 2]),
    "metadataKey": st.sampled_from(["fence", "fence", "k"]),
    "metadataValue": st.sampled_from(["token", "token", "v"]),
    "tableId": st.sampled_from(["t", "t", "u"]),
    "title": st.sampled_from(["Data", "New", "It's"]),
    "name": st.sampled_from(["one", "two", "A1"]),
    "destinationSpreadsheetId": st.just("book"),
    "find": st.sampled_from(["a", "1", "", "(", "="]),
    "formulaValue": st.sampled_from(["=A1", "=SUM(A1:B9)", "=1/0", "x"]),
}
"""Values of members of a tame body, by name."""

RANGES = st.sampled_from(["Data", "Data!A1", "Data!B2:C3", "'Data'!A:B", "A1:ZZ", "Nope!A1"])
TEXTS = st.sampled_from(
    ["", "x", "Data", "=A1", "=SUM(A1:B9)", "=" * 50, "1/1/2020", "#ff0000", "\0", "*", "a(b", "🙂"]
)
SMALL = st.integers(0, 5)
HUGE = st.sampled_from([2**31 - 1, -(2**31), 2**53, 10**30, -(10**400)])
NUMBERS = st.one_of(st.floats(0, 1), st.floats(allow_nan=False, allow_infinity=False))
CELLS = st.one_of(st.none(), TEXTS, st.booleans(), st.integers(-9, 9), NUMBERS)
JUNK: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, True, "x", "", [], {}, [[]], [None], {"": {}}, 1.5, -1, 1e308]),
    st.just([[[[[[[[]]]]]]]]),
    SMALL,
    HUGE,
)
SCALARS: Mapping[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "integer": SMALL,
    "number": NUMBERS,
    "boolean": st.booleans(),
    "any": CELLS,
}


@st.composite
def requests_of(draw: st.DrawFn, kind: str, *, is_wild: bool) -> Any:
    """A batchUpdate request of this kind, such as `addSheet`."""
    described = document()["schemas"]["Request"]["properties"][kind]
    return {kind: draw(_values(described, kind, is_wild=is_wild, depth=2))}


@st.composite
def bodies(draw: st.DrawFn, schema: str, *, is_wild: bool, depth: int = 0) -> Any:
    """An object of a schema with some of the members of the schema."""
    if is_wild and draw(st.integers(0, JUNK_IN)) == 0:
        return draw(JUNK)
    properties: Mapping[str, Json] = document()["schemas"][schema]["properties"]
    names = draw(_names(schema, sorted(properties), is_wild=is_wild, depth=depth))
    return {
        name: draw(_values(properties[name], name, is_wild=is_wild, depth=depth + 1))
        for name in names
    }


def _names(
    schema: str, names: list[str], *, is_wild: bool, depth: int
) -> st.SearchStrategy[list[str]]:
    """Names of the members that an object has."""
    if schema in ONE_OF:
        known = sorted(KINDS) if schema == "Request" else names
        one = st.sampled_from([*known, *known, *names] if is_wild else known)
        return one.map(lambda name: [name])
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)
    if is_wild:
        return some
    names = [name for name in names if not name.startswith(FOREIGN)]
    names = [name for name in names if name not in LACKING.get(schema, ())]
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)
    needed = [name for name in names if name in NEEDED]
    if depth >= DEEPEST - 2:
        return st.just(needed)
    return some.map(lambda chosen: _compatible([*dict.fromkeys([*needed, *chosen])]))


def _compatible(names: list[str]) -> list[str]:
    dropped = {last for first, last in NOT_TOGETHER if first in names}
    return [name for name in names if name not in dropped]


def _values(described: Json, name: str, *, is_wild: bool, depth: int) -> st.SearchStrategy[Any]:
    """Values of the member with this name."""
    if depth > DEEPEST:
        return JUNK if is_wild else st.just({})
    if "$ref" in described:
        return bodies(described["$ref"], is_wild=is_wild, depth=depth)
    kind = described["type"]
    if kind == "array":
        item = _values(described["items"], name, is_wild=is_wild, depth=depth + 1)
        return st.lists(item, min_size=1, max_size=1 + (depth > 1))
    if kind == "object":
        return st.dictionaries(TEXTS, JUNK, max_size=2)
    if "enum" in described:
        known = [each for each in described["enum"] if not each.endswith("UNSPECIFIED")]
        return st.sampled_from([*known, "NONE_SUCH"] if is_wild else known)
    if name in ("range", "ranges"):
        return RANGES
    tame = SEEN.get(name, SCALARS[kind])
    return st.one_of(tame, tame, TEXTS, JUNK) if is_wild else tame
