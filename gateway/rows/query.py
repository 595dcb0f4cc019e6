"""What a list request asks for, parsed: a tree of conditions, sort terms, a page, field names."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gateway.rows.cells import number_in, serial_in

DEFAULT_LIMIT = 24

Scalar = str | int | float | bool | None
Operator = Literal["$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$text", "$exists"]


@dataclass(frozen=True)
class Operand:
    """A value that cells are compared with, its readings worked out once."""

    value: Scalar
    number: float | int | None = None
    """The operand itself, or what its text is as a number."""
    serial: float | None = None
    """What its text is as an ISO 8601 date, as a serial date."""


@dataclass(frozen=True)
class Comparison:
    """One operator on one field; `operands` holds one, or those of `$in` and `$nin`."""

    field: str
    operator: Operator
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class AllOf:
    conditions: tuple["Condition", ...]


@dataclass(frozen=True)
class AnyOf:
    conditions: tuple["Condition", ...]


@dataclass(frozen=True)
class Negation:
    condition: "Condition"


Condition = Comparison | AllOf | AnyOf | Negation


@dataclass(frozen=True)
class SortTerm:
    field: str
    descending: bool = False


@dataclass(frozen=True, kw_only=True)
class Query:
    """A list request: which rows, in which order, which page, which fields."""

    where: Condition | None = None
    order: tuple[SortTerm, ...] = ()
    skip: int = 0
    limit: int = DEFAULT_LIMIT
    keys: tuple[str, ...] | None = None
    """Field names wanted; None is all of them. Names that are no header are passed over."""
    wants_total: bool = False
    """Whether to count all rows that match, which may take longer than finding a page of them."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Worked out once: answers are looked up by their query, which may be a large tree."""
        return hash((self.where, self.order, self.skip, self.limit, self.keys, self.wants_total))

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
