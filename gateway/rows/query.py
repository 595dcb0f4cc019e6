"""What a list request asks for, parsed: a tree of conditions, sort terms, a page, field names."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from gateway.rows.cells import number_in, serial_in

DEFAULT_LIMIT = 24

Scalar = str | int | float | bool | None
Operator = Literal["$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$text", "$exists"]


class Operand(msgspec.Struct, frozen=True):
    """A value that cells are compared with, its readings worked out once."""

    value: Scalar
    number: float | int | None = None
    """The operand itself, or what its text is as a number."""
    serial: float | None = None
    """What its text is as an ISO 8601 date, as a serial date."""


class Comparison(msgspec.Struct, frozen=True):
    """One operator on one field; `operands` holds one, or those of `$in` and `$nin`."""

    field: str
    operator: Operator
    operands: tuple[Operand, ...]


class AllOf(msgspec.Struct, frozen=True):
    conditions: tuple["Condition", ...]


class AnyOf(msgspec.Struct, frozen=True):
    conditions: tuple["Condition", ...]


class Negation(msgspec.Struct, frozen=True):
    condition: "Condition"


Condition = Comparison | AllOf | AnyOf | Negation


class SortTerm(msgspec.Struct, frozen=True):
    field: str
    descending: bool = False


class Keys(msgspec.Struct, frozen=True):
    """Field names wanted; those that are no header are passed over, but for those in `checked`."""

    names: tuple[str, ...]
    checked: tuple[str, ...] = ()


class Query(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """A list request: which rows, in which order, which page, which fields.

    A struct, as all that is made for each request here: that takes a quarter of a dataclass's
    time. Its hash is worked out once, for answers are looked up by their query.
    """

    where: Condition | None = None
    order: tuple[SortTerm, ...] = ()
    skip: int = 0
    limit: int = DEFAULT_LIMIT
    keys: Keys | None = None
    """Which fields are wanted; None is all of them."""
    wants_total: bool = False
    """Whether to count all rows that match, which may take longer than finding a page of them."""

    @property
    def needs_types(self) -> bool:
        """Whether the typed half is needed to answer."""
        return self.where is not None or bool(self.order)

    def fields(self) -> Iterator[tuple[str, str]]:
        """The parameter and name of every field that must exist for the query to make sense."""
        if self.where is not None:
            yield from (("where", name) for name in condition_fields(self.where))
        yield from (("order", term.field) for term in self.order)


def make_operand(value: Scalar) -> Operand:
    if isinstance(value, str):
        return Operand(value, number=number_in(value), serial=serial_in(value))
    if isinstance(value, bool) or value is None:
        return Operand(value)
    return Operand(value, number=value)


def condition_fields(condition: Condition) -> Iterator[str]:
    """The names of all fields that a condition looks at, in its own order, with repeats."""
    match condition:
        case Comparison():
            yield condition.field
        case Negation():
            yield from condition_fields(condition.condition)
        case AllOf() | AnyOf():
            for part in condition.conditions:
                yield from condition_fields(part)
