"""Strategies of Hypothesis for any spreadsheet that an emulator can store.

Members are found by their type hints, so new members are drawn without a change here.
"""

import collections.abc
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook

ODD_TEXTS = ("", "'", "=1+1", "007", "\0", "🙂", "é\u0301", "\u2028\r\n", '"', "\\", "null")
TEXTS = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=4))
INTEGERS = st.integers(-(2**31), 2**31 - 1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(st.none(), st.booleans(), INTEGERS, NUMBERS, TEXTS)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    NoneType: st.none(),
    bool: st.booleans(),
    int: INTEGERS,
    float: NUMBERS,
    str: TEXTS,
}


def instances(kind: type[Any], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of a dataclass. Members with a leading underscore (caches) are not drawn."""
    hints = get_type_hints(kind)
    members = {
        field.name: given[field.name] if field.name in given else of_hint(hints[field.name])
        for field in fields(kind)
        if not field.name.startswith("_")
    }
    return st.builds(kind, **members)


def of_hint(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type hint, as in members of a spreadsheet."""
    if hint in PLAIN:
        return PLAIN[hint]
    if is_dataclass(hint):
        return st.deferred(lambda: instances(hint))  # type: ignore[arg-type]
    found: st.SearchStrategy[Any] = CONTAINERS[get_origin(hint)](*get_args(hint))
    return found


def _tuples(item: Any, *_: Any) -> st.SearchStrategy[Any]:
    return st.lists(of_hint(item), max_size=3).map(tuple)


def _lists(item: Any) -> st.SearchStrategy[Any]:
    return st.lists(of_hint(item), max_size=3)


def _sets(item: Any) -> st.SearchStrategy[Any]:
    return st.frozensets(of_hint(item), max_size=3)


def _dicts(key: Any, value: Any) -> st.SearchStrategy[Any]:
    return st.dictionaries(of_hint(key), of_hint(value), max_size=2)


def _objects(*_: Any) -> st.SearchStrategy[Any]:
    return st.dictionaries(TEXTS, JSON_VALUES, max_size=2)


def _unions(*hints: Any) -> st.SearchStrategy[Any]:
    return st.one_of(*map(of_hint, hints))


CONTAINERS: dict[Any, Any] = {
    tuple: _tuples,
    list: _lists,
    frozenset: _sets,
    dict: _dicts,
    collections.abc.Mapping: _objects,
    Union: _unions,
    UnionType: _unions,
}
ROWS: st.SearchStrategy[list[Row]] = of_hint(list[Row])


def sheets(sheet_ids: st.SearchStrategy[int] = INTEGERS) -> st.SearchStrategy[list[Sheet]]:
    """Lists of worksheets with different ids."""
    drawn = instances(Sheet, sheet_id=sheet_ids)
    return st.lists(drawn, max_size=3, unique_by=lambda sheet: sheet.sheet_id)


def workbooks(spreadsheet_id: str = "book") -> st.SearchStrategy[Workbook]:
    """Spreadsheets with this id. Two drawn spreadsheets often share ids of worksheets."""
    drawn = sheets(st.integers(0, 4))
    return instances(Workbook, spreadsheet_id=st.just(spreadsheet_id), sheets=drawn)
