"""Decide by the structure of a condition whether it matches every row, or none, whatever they hold.

Rules
- Conditions that are always or never true come from empty inputs (`$text: ""`, `$nin: []`). Each
  operator decides for its operands (`Operator.decide`); combinators join the verdicts.
- A range of `rowIndex` depends on the row: it is the deliberate way to all rows, as `$exists` is.
  Other conditions on it are decided as those of a cell that always holds a number from 2.
- Conditions that leave out no row together, such as `$exists` true or false, depend on the row,
  too: each says something of a field, and no empty input makes both.
"""

import math
from collections.abc import Sequence

from gateway.query.operators import EQUAL, FLAG, OPERATORS, TEXT_OPERAND, Operator
from gateway.query.query import AllOf, AnyOf, Comparison, Condition, Negation, Operand
from gateway.table.header import ROW_INDEX
from gateway.table.table import FIRST_DATA_ROW


def verdict(condition: Condition) -> bool | None:
    """True if every row matches, False if none does, None if that depends on the rows."""
    match condition:
        case Comparison():
            return _verdict_of_comparison(condition)
        case Negation():
            return _inverse(verdict(condition.condition))
        case AllOf() | AnyOf():
            decisive = isinstance(condition, AnyOf)
            verdicts = set(map(verdict, condition.conditions))
            if decisive in verdicts:
                return decisive
            return None if None in verdicts else not decisive


def _verdict_of_comparison(comparison: Comparison) -> bool | None:
    operator = OPERATORS[comparison.operator]
    if comparison.field == ROW_INDEX:
        decided = _decide_row_index(operator, comparison.operands)
    else:
        decided = operator.decide(comparison.operands)
    return _inverse(decided) if operator.is_negated else decided


def _decide_row_index(operator: Operator, operands: Sequence[Operand]) -> bool | None:
    """True if every row number satisfies `lookup`, False if none does."""
    if operator.operand in (FLAG, TEXT_OPERAND):
        return operator.decide(operands)
    least = FIRST_DATA_ROW if operator.lookup is EQUAL.lookup else -math.inf
    numbers = [operand.number for operand in operands if operand.number is not None]
    return None if any(number >= least for number in numbers) else False


def _inverse(decided: bool | None) -> bool | None:
    return None if decided is None else not decided
