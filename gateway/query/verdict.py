"""Decide by the structure of a condition whether it matches every row, or none, whatever they hold.

Rules
- Conditions that are always or never true come from empty inputs (`$text: ""`, `$nin: []`). Each
  operator decides for its operands (`Operator.decide`); combinators join the verdicts.
- A condition on `rowIndex` depends on the row: it is the deliberate way to all rows.
- Conditions that leave out no row together, such as `$exists` true or false, depend on the row,
  too: each says something of a field, and no empty input makes both.
"""

from gateway.query.operators import OPERATORS
from gateway.query.query import AllOf, AnyOf, Comparison, Condition, Negation
from gateway.table.view import ROW_INDEX


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
    if comparison.field == ROW_INDEX:
        return None
    operator = OPERATORS[comparison.operator]
    decided = operator.decide(comparison.operands)
    return _inverse(decided) if operator.is_negated else decided


def _inverse(decided: bool | None) -> bool | None:
    return None if decided is None else not decided
