"""The table of `where` operators.

Rules: an operator is one entry of `OPERATORS`, from which parser, evaluator and `/openapi.json` are
made. Only `EQUAL`, the operator of a plain value, is known by name elsewhere. Steps are counted in
the lookups of `Field`.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from gateway.query.field import Bounds, Field
from gateway.query.query import Operand
from gateway.query.row_sets import RowSet
from gateway.table.steps import Work

Lookup = Callable[[Field, Sequence[Operand]], Work[RowSet]]


class OperandShape(msgspec.Struct, frozen=True, kw_only=True):
    """JSON type of an operand: one scalar, perhaps of one type, or a list of scalars."""

    is_list: bool = False
    python_type: type = object
    json_type: str | None = None
    """The name of `python_type` in JSON Schema; None for any scalar."""
    noun: str = ""
    """`python_type` in an error message."""


SCALAR = OperandShape()
SCALARS = OperandShape(is_list=True)
TEXT = OperandShape(python_type=str, json_type="string", noun="a string")
FLAG = OperandShape(python_type=bool, json_type="boolean", noun="true or false")


class Operator(msgspec.Struct, frozen=True):
    name: str
    operand: OperandShape
    lookup: Lookup
    description: str
    """The sentence of `/openapi.json`."""
    is_negated: bool = False
    """True if the operator matches all rows except those of `lookup`."""
    aliases: tuple[str, ...] = ()


def _equal(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.equal(operands)


def _within(bounds: Bounds) -> Lookup:
    def lookup(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
        return field.within(bounds, operands[0])

    return lookup


def _containing(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.containing(str(operands[0].value))


def _filled(field: Field, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.filled(is_filled=bool(operands[0].value))


_UNEQUAL = "not equal; empty cells are equal to null alone"
_CONTAINING = "has this text somewhere in it, in capitals or not"
_FILLED = "true: the cell is not empty; false: it is"

_TABLE = (
    Operator("$eq", SCALAR, _equal, "equal"),
    Operator("$ne", SCALAR, _equal, _UNEQUAL, is_negated=True, aliases=("$neq",)),
    Operator("$lt", SCALAR, _within(lambda low, high, end: range(low)), "less"),
    Operator("$lte", SCALAR, _within(lambda low, high, end: range(high)), "less or equal"),
    Operator("$gt", SCALAR, _within(lambda low, high, end: range(high, end)), "greater"),
    Operator("$gte", SCALAR, _within(lambda low, high, end: range(low, end)), "greater or equal"),
    Operator("$in", SCALARS, _equal, "equal to one of these"),
    Operator("$nin", SCALARS, _equal, "equal to none of these", is_negated=True),
    Operator("$text", TEXT, _containing, _CONTAINING),
    Operator("$exists", FLAG, _filled, _FILLED),
)

OPERATORS: Mapping[str, Operator] = {operator.name: operator for operator in _TABLE}
ALIASES: Mapping[str, str] = {
    alias: operator.name for operator in _TABLE for alias in operator.aliases
}
EQUAL = OPERATORS["$eq"]
