"""Parsed list request, and the parser of `where`: from decoded JSON to a condition tree.

Rules: a member of the JSON object is a field name or a combinator such as `$or`. The value of a
field is a plain value, which the cell must equal, or an object of operators. Anything else is an
error that names the path in the JSON. A name that begins with `$` can be a field of the worksheet,
so it is an error only if its value cannot be the condition of a field.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gateway.errors import InvalidQuery
from gateway.query.operators import (
    ALIASES,
    EQUAL,
    OPERATORS,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operand,
    OperandShape,
    Operator,
    Scalar,
    make_operand,
    make_operands,
)
from gateway.query.suggestions import operator_like
from gateway.table.header import Selection

DEFAULT_LIMIT = 24
MAX_DEPTH = 8
MAX_CONDITIONS = 50

COMBINATORS: Mapping[str, type[AllOf | AnyOf]] = {"$and": AllOf, "$or": AnyOf}
NOT = "$not"
LIST_OPERATORS = frozenset(name for name, each in OPERATORS.items() if each.operand.is_list)

_BY_NAME: Mapping[str, Operator] = {
    **OPERATORS,
    **{alias: OPERATORS[name] for alias, name in ALIASES.items()},
}
_NUMBER, _COMPOUND = (int, float), (list, dict)  # `int | float` would create a union
_TOO_MUCH = 2**1024 - 2**970
"""Smallest integer that is too large for a finite float."""
_TOO_LITTLE = -_TOO_MUCH
_INSIDE = (*_BY_NAME, NOT)
_ANYWHERE = (*COMBINATORS, *_INSIDE)


class SortTerm(msgspec.Struct, frozen=True):
    field: str
    descending: bool = False


class Query(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """Parsed list request: condition, order, page and fields.

    The hash is cached, because a query is the key of cached answers. A struct is created in a
    quarter of the time of a dataclass.
    """

    where: Condition | None = None
    order: tuple[SortTerm, ...] = ()
    """Sort terms. A term without a field name is an error, unless `whole_order` is a field."""
    whole_order: SortTerm | None = None
    """Whole text of the parameter `order` as one term, which counts alone if it names a field."""
    skip: int = 0
    wants_place: bool = False
    """True if the answer needs a cursor for the next page. False if the request has `skip`."""
    cursor: str | None = None
    """Cursor from the page before, or "" to request the first page and a cursor."""
    limit: int = DEFAULT_LIMIT
    keys: Selection | None = None
    """Fields of the answer, or None for all fields."""
    wants_total: bool = False
    """True to count all matching rows, which can take longer than to find a page."""

    @property
    def needs_types(self) -> bool:
        """True if the query needs the typed values of the worksheet."""
        return self.where is not None or bool(self.order) or self.whole_order is not None


def parse_where(decoded: object) -> Condition:
    """Parse a decoded `where` parameter. `{}` matches every row.

    Raises InvalidQuery, whose message has the path in the JSON and the mistake.
    """
    return _Parser().condition(decoded, "where", depth=1)


class _Parser:
    _conditions = 0

    def condition(self, decoded: object, place: str, depth: int) -> Condition:
        if not isinstance(decoded, dict):
            raise InvalidQuery(f"{place} must be a JSON object, not {kind_of(decoded)}.")
        if depth > MAX_DEPTH:
            raise InvalidQuery(
                f"where is nested deeper than {MAX_DEPTH} objects. Use fewer levels."
            )
        conditions: list[Condition] = []
        for name, value in decoded.items():
            inside = f"{place}.{name}"
            if name == NOT:
                conditions.append(Negation(self.condition(value, inside, depth + 1)))
            elif name in COMBINATORS:
                conditions.append(COMBINATORS[name](self._several(value, inside, depth + 1)))
            else:
                conditions.append(self._field(name, value, inside, depth))
        return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))

    def _several(self, value: object, place: str, depth: int) -> tuple[Condition, ...]:
        if not isinstance(value, list) or not value:
            raise InvalidQuery(f"{place} takes a list of at least one object.")
        return tuple(
            self.condition(part, f"{place}[{index}]", depth) for index, part in enumerate(value)
        )

    def _field(self, name: str, value: object, place: str, depth: int) -> Condition:
        if not isinstance(value, dict):
            if isinstance(value, list):
                if name.startswith("$"):
                    raise _unknown(name, place, _ANYWHERE)
                if value and isinstance(value[0], dict):
                    hint = operator_like(name, COMBINATORS)
                    raise InvalidQuery(f"{place} takes one value, not a list of objects.{hint}")
            return self._comparison(name, EQUAL, value, place)
        if not value:
            raise InvalidQuery(f"{place} has no operator; allowed: {', '.join(_INSIDE)}.")
        conditions: list[Condition] = []
        for word, operand in value.items():
            inside = f"{place}.{word}"
            operator = _BY_NAME.get(word)
            if operator is not None:
                conditions.append(self._comparison(name, operator, operand, inside))
            elif word != NOT:
                raise _unknown(word, inside, _INSIDE)
            elif depth >= MAX_DEPTH:
                raise InvalidQuery(
                    f"where is nested deeper than {MAX_DEPTH} objects. Use fewer levels."
                )
            elif not isinstance(operand, dict):
                raise InvalidQuery(
                    f'{inside} takes an object of operators, such as {{"$eq":"VALUE"}}.'
                )
            else:
                conditions.append(Negation(self._field(name, operand, inside, depth + 1)))
        return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))

    def _comparison(self, name: str, operator: Operator, value: object, place: str) -> Comparison:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise InvalidQuery(
                f"where has more than {MAX_CONDITIONS} conditions. Use $in for several values of "
                "a field, or send several requests."
            )
        shape = operator.operand
        operands: tuple[Operand, ...]
        if not shape.is_list:
            if type(value) is list and operator.lookup is EQUAL.lookup:
                several = "$nin" if operator.is_negated else "$in"
                raise InvalidQuery(
                    f'{place} takes one value, not a list. Did you mean {{"{several}": […]}}?'
                )
            operands = (make_operand(_scalar(shape, value, place)),)
        elif isinstance(value, list):
            operands = make_operands(
                _scalar(shape, part, f"{place}[{index}]") for index, part in enumerate(value)
            )
        else:
            raise InvalidQuery(f"{place} takes a list of values, not {kind_of(value)}.")
        return Comparison(name, operator.name, operands)


def _unknown(word: str, place: str, allowed: Sequence[str]) -> InvalidQuery:
    return InvalidQuery(
        f"{place} is not an operator; allowed: {', '.join(allowed)}.{operator_like(word, allowed)}"
    )


def _scalar(shape: OperandShape, value: Any, place: str) -> Scalar:
    if shape.noun and not isinstance(value, shape.python_type):
        raise InvalidQuery(f"{place} takes {shape.noun}, not {kind_of(value)}.")
    if isinstance(value, _NUMBER):
        if not _TOO_LITTLE < value < _TOO_MUCH:
            raise InvalidQuery(
                f"{place} is not a finite number. Send a number between -1.7e308 and 1.7e308."
            )
    elif isinstance(value, _COMPOUND):
        raise InvalidQuery(f"{place} takes one value, not {kind_of(value)}.")
    scalar: Scalar = value
    return scalar


def kind_of(value: object) -> str:
    """JSON type of a value as words in a message, such as "a list"."""
    if isinstance(value, str) and _is_json(value):
        return "a string: it is JSON encoded twice. Encode it once, with one JSON.stringify"
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
