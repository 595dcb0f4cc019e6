"""DataValidationRule.

Rules:
- Rules are stored and returned, but not enforced, as in Google's API.
- Members with the value false are left out, as in all answers of Google.
"""

from collections.abc import Mapping
from typing import cast

from sheets_emulator.protocol.message import Message
from sheets_emulator.refusal import invalid
from sheets_emulator.reply import Json

# Minimum and maximum number of values by condition type. A maximum of None means unlimited.
COUNTS: Mapping[str, tuple[int, int | None]] = {
    **dict.fromkeys(("NUMBER_GREATER", "NUMBER_GREATER_THAN_EQ", "NUMBER_LESS"), (1, 1)),
    **dict.fromkeys(("NUMBER_LESS_THAN_EQ", "NUMBER_EQ", "NUMBER_NOT_EQ"), (1, 1)),
    **dict.fromkeys(("NUMBER_BETWEEN", "NUMBER_NOT_BETWEEN"), (2, 2)),
    **dict.fromkeys(("TEXT_CONTAINS", "TEXT_NOT_CONTAINS"), (1, 1)),
    **dict.fromkeys(("TEXT_STARTS_WITH", "TEXT_ENDS_WITH"), (1, 1)),
    **dict.fromkeys(("TEXT_EQ", "TEXT_NOT_EQ"), (1, None)),
    **dict.fromkeys(("TEXT_IS_EMAIL", "TEXT_IS_URL"), (0, 0)),
    **dict.fromkeys(("DATE_EQ", "DATE_NOT_EQ"), (1, None)),
    **dict.fromkeys(("DATE_BEFORE", "DATE_AFTER"), (1, 1)),
    **dict.fromkeys(("DATE_ON_OR_BEFORE", "DATE_ON_OR_AFTER"), (1, 1)),
    **dict.fromkeys(("DATE_BETWEEN", "DATE_NOT_BETWEEN"), (2, 2)),
    "DATE_IS_VALID": (0, 0),
    "ONE_OF_RANGE": (1, 1),
    "ONE_OF_LIST": (1, None),
    **dict.fromkeys(("BLANK", "NOT_BLANK"), (0, 0)),
    "CUSTOM_FORMULA": (1, 1),
    "BOOLEAN": (0, 2),
    "FILTER_EXPRESSION": (0, None),
}


def read_rule(message: Message) -> Json | None:
    """Return the rule to store, or None if the message is empty.

    Raises a 400 for an invalid condition.
    """
    rule = message.fields
    if not rule:
        return None
    condition = cast(Json, rule.get("condition", {}))
    if "type" not in condition:
        raise invalid("A data validation rule must have a condition with a type.")
    values = cast(list[Json], condition.get("values", []))
    least, most = COUNTS[cast(str, condition["type"])]
    if len(values) < least or (most is not None and len(values) > most):
        raise invalid(f"{condition['type']} cannot have {len(values)} values.")
    if any("relativeDate" in value for value in values):
        raise invalid("Relative dates are not supported in data validation.")
    kept = {"type": condition["type"], **({"values": values} if values else {})}
    return {**{name: each for name, each in rule.items() if each}, "condition": kept}
