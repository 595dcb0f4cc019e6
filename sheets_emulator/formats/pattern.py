"""Numbers written in a number format such as `#,##0.00` or `yyyy-mm-dd`, in the locale en_US.

Rules
- Formats are read as Google's guide to date and number formats describes them; where it is silent,
  as spreadsheets commonly do.
- Sections: all numbers; or zero and above, below; or above zero, below zero, zero. The fourth, or
  a last one with `@`, is for texts. A number in a section of its own for negative ones has no sign.
- With conditions, such as `[>100]`, the first section whose condition holds is taken; one without
  a condition holds always.
- What is not known shows as the automatic format does; colours are left out.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sheets_emulator.formats.date_form import DateForm, date_form, written_date
from sheets_emulator.formats.format_tokens import DATE_KINDS, Kind, Tokens, has, sections
from sheets_emulator.formats.number_form import NumberForm, number_form, written_number

DEFAULTS: Mapping[str, str] = {
    "NUMBER": "#,##0.00",
    "PERCENT": "0.00%",
    "CURRENCY": '"$"#,##0.00',
    "DATE": "m/d/yyyy",
    "TIME": "h:mm:ss am/pm",
    "DATE_TIME": "m/d/yy h:mm:ss",
    "SCIENTIFIC": "0.00E+00",
}
CONDITION = re.compile(r"([<>=]+)(.+)")
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A comparison that decides whether a section is for a number."""

    holds: Callable[[float, float], bool]
    limit: float


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a format; `form` is None where it is not known."""

    condition: Condition | None
    form: NumberForm | DateForm | None


def default_pattern(kind: str) -> str | None:
    """The format of a NumberFormatType that comes without a pattern; None: the automatic one.

    Source: the examples in Google's discovery document.
    """
    return DEFAULTS.get(kind)


def is_date(pattern: str | None) -> bool:
    """Does the format show a date, a time or a duration?"""
    return pattern is not None and any(
        isinstance(section.form, DateForm) for section in _parsed(pattern)
    )


def written(number: float, pattern: str) -> str | None:
    """The number in the format; None where the format is not known or cannot show it."""
    chosen = _chosen(_parsed(pattern), number) if math.isfinite(number) else None
    if chosen is None:
        return None
    section, is_signed = chosen
    if isinstance(section.form, DateForm):
        return written_date(number, section.form)
    if isinstance(section.form, NumberForm):
        return written_number(number, section.form, is_signed=is_signed)
    return None


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> tuple[Section, ...]:
    """The sections for numbers; none for a format that is not known."""
    found = sections(pattern) or ()
    is_last_for_text = len(found) == 4 or (len(found) > 1 and has(found[-1], Kind.TEXT))
    return tuple(_section(each) for each in (found[:-1] if is_last_for_text else found))


def _section(tokens: Tokens) -> Section:
    conditions = [_condition(token.text) for token in tokens if token.kind is Kind.CONDITION]
    shown = tuple(token for token in tokens if token.kind is not Kind.CONDITION)
    return Section(condition=conditions[0] if conditions else None, form=_form(shown))


def _form(tokens: Tokens) -> NumberForm | DateForm | None:
    if has(tokens, Kind.TEXT):
        return None
    return date_form(tokens) if has(tokens, *DATE_KINDS) else number_form(tokens)


def _condition(text: str) -> Condition:
    sign, limit = re.findall(CONDITION, text)[0]
    return Condition(holds=COMPARISONS[sign], limit=float(limit))


def _chosen(found: tuple[Section, ...], number: float) -> tuple[Section, bool] | None:
    """The section for a number, and whether a minus is shown; None if there is no section."""
    if any(section.condition for section in found):
        fitting = (each for each in found if _holds(each.condition, number))
        return next(((section, True) for section in fitting), None)
    if number < 0 and len(found) > 1:
        return found[1], False
    if number == 0 and len(found) > 2:
        return found[2], False
    return (found[0], True) if found else None


def _holds(condition: Condition | None, number: float) -> bool:
    return condition is None or condition.holds(number, condition.limit)
