"""The same question in the query language of each server, and the names in the answer."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote, urlencode

from benchmarks.questions import PAGE, Operator, Question, Test

WORKSHEET = "Cities"
SMALL_WORKSHEET = "Small"
TABLE = "cities"
DATABASE = "bench"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """Functions that build the path of a question and parse the rows of an answer."""

    path: Callable[[Question], str]
    rows: Callable[[bytes], Sequence[Mapping[str, object]]]

    def names(self, body: bytes) -> list[str]:
        """Return the names of the cities in an answer, in order."""
        return [str(row["name"]) for row in self.rows(body)]


def _gateway_path(question: Question) -> str:
    base = f"/v2/sheets/{WORKSHEET}"
    if question.row is not None:
        return f"{base}/{question.row}"
    where = _where(question.tests)
    if question.choices:
        where["$or"] = [_where(choice) for choice in question.choices]
    parameters = {
        "where": json.dumps(where, separators=(",", ":")) if where else "",
        "order": f"-{question.falling}" if question.falling else "",
        "skip": str(question.skip or ""),
        "values": "typed" if question.is_typed else "",
    }
    return _with_parameters(base, parameters.items())


def _where(tests: Iterable[Test]) -> dict[str, object]:
    grouped = groupby(tests, key=lambda test: test.field)
    return {
        field: {f"${test.operator}": test.value for test in of_field} for field, of_field in grouped
    }


def _gateway_rows(body: bytes) -> Sequence[Mapping[str, object]]:
    answer = json.loads(body)
    found: Sequence[Mapping[str, object]] = answer.get("results", [answer])
    return found


def _datasette_path(question: Question) -> str:
    """Return a question as SQL, which Datasette answers twice as fast as its table API.

    Values are literals, because Datasette searches for the names of parameters first.
    """
    tests = question.tests if question.row is None else (Test("id", "eq", question.row),)
    choices = " or ".join(f"({_condition(choice)})" for choice in question.choices)
    where = _condition(tests) + (f" and ({choices})" if choices else "")
    order = f" order by {question.falling} desc" if question.falling else ""
    sql = f"select * from {TABLE} where {where}{order} limit {PAGE}"  # noqa: S608 - our own words
    return _with_parameters(f"/{DATABASE}.json", [("sql", sql), ("_shape", "array")])


def _condition(tests: Iterable[Test]) -> str:
    return " and ".join(f"{test.field} {_SQL[test.operator]} {_sql_value(test)}" for test in tests)


def _sql_value(test: Test) -> str:
    return f"'%{test.value}%'" if test.operator == "text" else _literal(test)


_SQL: Mapping[Operator, str] = {"eq": "=", "gte": ">=", "lte": "<=", "text": "like"}


def _roapi_path(question: Question) -> str:
    by_row = [("filter[id]", str(question.row))] if question.row is not None else []
    parameters = [
        *by_row,
        *(
            (f"filter[{test.field}]{_ROAPI[test.operator]}", _literal(test))
            for test in question.tests
        ),
        ("sort", f"-{question.falling}" if question.falling else ""),
        ("limit", str(PAGE)),
    ]
    return _with_parameters(f"/api/tables/{TABLE}", parameters)


def _literal(test: Test) -> str:
    return f"'{test.value}'" if isinstance(test.value, str) else str(test.value)


_ROAPI: Mapping[Operator, str] = {"eq": "", "gte": "gte", "lte": "lte"}


def _json_server_path(question: Question) -> str:
    if question.row is not None:
        return f"/{TABLE}/{question.row}"
    parameters = [
        *(
            (f"{test.field}{_JSON_SERVER[test.operator]}", str(test.value))
            for test in question.tests
        ),
        ("_sort", question.falling or ""),
        ("_order", "desc" if question.falling else ""),
        ("_limit", str(PAGE)),
    ]
    return _with_parameters(f"/{TABLE}", parameters)


_JSON_SERVER: Mapping[Operator, str] = {"eq": "", "gte": "_gte", "lte": "_lte", "text": "_like"}


def _bare_rows(body: bytes) -> Sequence[Mapping[str, object]]:
    """Return the rows of a JSON array, or a single JSON object as one row."""
    answer: Sequence[Mapping[str, object]] | Mapping[str, object] = json.loads(body)
    return [answer] if isinstance(answer, Mapping) else answer


def _with_parameters(path: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Return the path with the parameters that have a value."""
    query = urlencode([each for each in parameters if each[1]], quote_via=quote)
    return f"{path}?{query}" if query else path


GATEWAY = Dialect(path=_gateway_path, rows=_gateway_rows)
DATASETTE = Dialect(path=_datasette_path, rows=_bare_rows)
ROAPI = Dialect(path=_roapi_path, rows=_bare_rows)
JSON_SERVER = Dialect(path=_json_server_path, rows=_bare_rows)
