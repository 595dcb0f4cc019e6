"""A parsed list request: condition tree, sort terms, page, field names."""

from collections.abc import Iterable
from typing import Any, final

import msgspec

from gateway.table.cells import BOOLEAN, CLASS, EMPTY, NUMBER, TEXT, text_key
from gateway.table.header import Selection
from gateway.table.texts import composed

DEFAULT_LIMIT = 24

Scalar = str | int | float | bool | None


class Operand(msgspec.Struct, frozen=True):
    """A value to compare cells with, parsed once."""

    value: Scalar
    """Value of the request; a text is in NFC, like texts of cells."""
    kind: int
    """The first kind of the class that it is compared in (`gateway.table.cells`)."""
    key: Any = None
    """Key in this class; for a text the case-folded form."""
    text: str = ""
    """Text of a text operand; "" for other values."""

    @property
    def is_empty(self) -> bool:
        """True if empty cells equal it."""
        return self.kind == EMPTY

    @property
    def number(self) -> float | None:
        """The number that it is, or that its text represents."""
        return self.key if self.kind == NUMBER else None


# For a struct of another class `isinstance` takes as long as ten conditions: conditions are final,
# and known by `type`.
@final
class Comparison(msgspec.Struct, frozen=True):
    field: str
    operator: str
    """A name in `gateway.query.operators.OPERATORS`."""
    operands: tuple[Operand, ...]
    """The single operand, or the distinct operands of a list."""


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
    """A list request: condition, order, page and fields.

    Query objects are structs, which take a quarter of a dataclass's time to create. The hash is
    cached, because cached answers are looked up by their query.
    """

    where: Condition | None = None
    order: tuple[SortTerm, ...] = ()
    """Sort terms. A term without a name is an error, unless `whole_order` names a field."""
    whole_order: SortTerm | None = None
    """The unsplit text as one term; it replaces the terms if it names a field."""
    skip: int = 0
    wants_place: bool = False
    """True to find the place behind the page, for a cursor; False if `skip` is given."""
    cursor: str | None = None
    """The cursor of the page before; "" asks for the first page and a cursor."""
    limit: int = DEFAULT_LIMIT
    keys: Selection | None = None
    """Fields of the answer; None means all."""
    wants_total: bool = False
    """True to count all matching rows, which may take longer than finding a page."""

    @property
    def needs_types(self) -> bool:
        """True if the answer needs the typed rendering."""
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
    """All comparisons of a condition, from left to right."""
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
