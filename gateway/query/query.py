"""Data types of a parsed list request: conditions, sort terms, limit and field names."""

from collections.abc import Iterable
from typing import Any, final

import msgspec

from gateway.table.cells import BOOLEAN, CLASS, EMPTY, NUMBER, TEXT, text_key
from gateway.table.header import Selection
from gateway.table.texts import composed

DEFAULT_LIMIT = 24

Scalar = str | int | float | bool | None


class Operand(msgspec.Struct, frozen=True):
    """Value in a condition, parsed for comparison with cells."""

    value: Scalar
    """Value in the request. A text is in NFC, like the texts of cells."""
    kind: int
    """First kind of the value's class, such as `NUMBER` or `TEXT` (`gateway.table.cells`)."""
    key: Any = None
    """Sort key of the value in its class. The key of a text is the case-folded text."""
    text: str = ""
    """Text of a text value, or "" for other values."""

    @property
    def is_empty(self) -> bool:
        """True if the operand equals empty cells."""
        return self.kind == EMPTY

    @property
    def number(self) -> float | None:
        """Number that the value is or that a text such as "5" represents, or None."""
        return self.key if self.kind == NUMBER else None


# `isinstance` takes long for a struct of another class. So conditions are final classes, and `type`
# compares them.
@final
class Comparison(msgspec.Struct, frozen=True):
    field: str
    operator: str
    """Name of an operator in `gateway.query.operators.OPERATORS`."""
    operands: tuple[Operand, ...]
    """One operand, or the distinct operands of a list."""


@final
class AllOf(msgspec.Struct, frozen=True):
    conditions: tuple["Condition", ...]


@final
class AnyOf(msgspec.Struct, frozen=True):
    conditions: tuple["Condition", ...]


@final
class Negation(msgspec.Struct, frozen=True):
    condition: "Condition"


Condition = Comparison | AllOf | AnyOf | Negation


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


def make_operands(values: Iterable[Scalar]) -> tuple[Operand, ...]:
    unique = dict.fromkeys(
        (isinstance(value, bool), None if value == "" else value) for value in values
    )
    return tuple(make_operand(value) for _, value in unique)


def make_operand(value: Scalar) -> Operand:
    if type(value) is int or type(value) is float:
        return Operand(value, NUMBER, value)
    if value is None or value == "":
        return Operand(value, EMPTY)
    if isinstance(value, str):
        value = composed(value)
        kind, key = text_key(value)
        return Operand(value, CLASS[kind], value.casefold() if kind == TEXT else key, value)
    return Operand(value, BOOLEAN, value)


def comparisons(condition: Condition | None) -> list[Comparison]:
    """Returns all comparisons in a condition, from left to right."""
    found: list[Comparison] = []
    left = [] if condition is None else [condition]
    while left:
        each = left.pop()
        if type(each) is Comparison:
            found.append(each)
        elif type(each) is Negation:
            left.append(each.condition)
        else:
            left += reversed(each.conditions)
    return found
