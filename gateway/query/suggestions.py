"""Suggestions in error messages for words of other query languages."""

import re
from collections.abc import Callable, Collection, Mapping

from gateway.query.operators import OPERATORS

_MEANT: Mapping[str, str] = {
    word: name
    for name, words in {
        "$eq": "eq equal equals equalto is = == ===",
        "$ne": "ne neq notequal notequals noteq isnot != !== <>",
        "$lt": "lt less lessthan below before <",
        "$lte": "lte le lessthanorequal lessthanorequalto lessorequal max atmost until <= =<",
        "$gt": "gt greater greaterthan above after >",
        "$gte": "gte ge greaterthanorequal greaterthanorequalto greaterorequal min atleast >= =>",
        "$in": "in oneof anyof",
        "$nin": "nin notin noneof",
        "$text": "text contains icontains contain includes like ilike match matches regex regexp "
        "search substring startswith istartswith beginswith endswith iendswith prefix suffix ~ %",
        "$exists": "exists isnull isnotnull notnull isempty notempty empty isset isblank",
        "$and": "and every && &",
        "$or": "or some || |",
        "$not": "not nor !",
        "$gte and $lte": "between range",
    }.items()
    for word in words.split()
}
"""Operator by the word of another query language, in lower case."""

_DIRECTED = re.compile(
    r"[\s:.=](asc|desc|ascending|descending)(?:[\s.]nulls\s?(?:first|last))?\Z", re.IGNORECASE
)
_WAYS = frozenset({"asc", "desc", "ascending", "descending"})


def operator_like(word: str, allowed: Collection[str]) -> str:
    """Returns a sentence, after a space, that suggests an allowed operator for a word, or ""."""
    letters = "".join(filter(str.isalnum, word.lower()))
    name = "$in" if letters.isdecimal() else _MEANT.get(letters or word.strip())
    if name is None or name.split()[0] not in allowed:
        return ""
    operator = OPERATORS.get(name)
    return f" Did you mean {name}{f' ({operator.description})' if operator else ''}?"


def field_like(parameter: str, name: str, is_field: Callable[[str], bool]) -> str:
    """Returns a sentence, after a space, that explains an unknown field name, or ""."""
    if parameter == "where" and name in OPERATORS:
        return f' Operators stand inside a field, as in {{"FIELD":{{"{name}":1}}}}.'
    if parameter != "order":
        return ""
    directed = _DIRECTED.search(name)
    field = name[: directed.start()].rstrip(" :.").removeprefix("-") if directed else name[1:]
    if is_field(field) and (directed or name.startswith("+")):
        is_down = directed is not None and directed[1].lower().startswith("d")
        return f" Did you mean order={'-' if is_down else ''}{field}?"
    return " For descending order write - before a field." if name.lower() in _WAYS else ""
