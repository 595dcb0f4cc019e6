"""Number formats such as `#,##0.00` or `yyyy-mm-dd`, in the locale en_US.

Rules:
- Formats follow Google's guide to date and number formats. Where the guide is silent, formats
  follow common spreadsheet behaviour.
- A single section is for all numbers. With two sections, the first is for zero and above, the
  second for negative numbers. With three sections, the order is positive numbers, negative numbers,
  zero. The fourth section, or a last section with `@`, is for texts. A number in a section for
  negative numbers has no minus.
- With conditions, such as `[>100]`, the first section whose condition is true is used. A section
  without a condition accepts every number.
- Unknown formats display as the automatic format. Colours are ignored.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sheets_emulator.formats.date_form import DateForm, date_form, written_date
from sheets_emulator.formats.format_tokens import DATE_KINDS, Kind, Tokens, has, sections
from sheets_emulator.formats.fraction_form import FractionForm, fraction_form, written_fraction
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
Form = NumberForm | FractionForm | DateForm
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
    """The condition of a section, such as `[>100]`. `holds` compares the number with `limit`."""

    holds: Callable[[float, float], bool]
    limit: float


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a number format. `form` is None if the section is unsupported."""

    condition: Condition | None
    form: Form | None


def default_pattern(kind: str) -> str | None:
    """Return the default format of a NumberFormatType, or None for the automatic format.

    Source: the examples in Google's discovery document.
    """
    return DEFAULTS.get(kind)


def is_date(pattern: str | None) -> bool:
    """True if the format shows a date, a time or a duration."""
    return pattern is not None and any(
        isinstance(section.form, DateForm) for section in _parsed(pattern)
    )


def written(number: float, pattern: str) -> str | None:
    """Format a number, or return None if the format is unknown or cannot show the number."""
    chosen = _chosen(_parsed(pattern), number) if math.isfinite(number) else None
    if chosen is None:
        return None
    section, is_signed = chosen
    if isinstance(section.form, DateForm):
        return written_date(number, section.form)
    if isinstance(section.form, NumberForm):
        return written_number(number, section.form, is_signed=is_signed)
    if isinstance(section.form, FractionForm):
        return written_fraction(number, section.form, is_signed=is_signed)
    return None


def written_text(text: str, pattern: str | None) -> str:
    """Format a text.

    The section for texts shows the text at each `@`. Without such a section the text is unchanged.
    """
    section = None if pattern is None else _text_section(pattern)
    if section is None:
        return text
    return "".join(text if token.kind is Kind.TEXT else token.text for token in section)


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> tuple[Section, ...]:
    """Return the sections for numbers, or () for an unknown format."""
    found = sections(pattern) or ()
    is_last_for_text = len(found) > 1 and _text_section(pattern) is not None
    return tuple(_section(each) for each in (found[:-1] if is_last_for_text else found))


@lru_cache(maxsize=256)
def _text_section(pattern: str) -> Tokens | None:
    """Return the section for texts (the fourth, or a last section with `@`), or None."""
    found = sections(pattern) or ()
    return found[-1] if len(found) == 4 or (found and has(found[-1], Kind.TEXT)) else None


def _section(tokens: Tokens) -> Section:
    conditions = [_condition(token.text) for token in tokens if token.kind is Kind.CONDITION]
    shown = tuple(token for token in tokens if token.kind is not Kind.CONDITION)
    return Section(condition=conditions[0] if conditions else None, form=_form(shown))


def _form(tokens: Tokens) -> Form | None:
    if has(tokens, Kind.TEXT):
        return None
    if has(tokens, *DATE_KINDS):
        return date_form(tokens)
    return number_form(tokens) or fraction_form(tokens)


def _condition(text: str) -> Condition:
    sign, limit = re.findall(CONDITION, text)[0]
    return Condition(holds=COMPARISONS[sign], limit=float(limit))


def _chosen(found: tuple[Section, ...], number: float) -> tuple[Section, bool] | None:
    """Return the section for a number, and True if a negative number gets a minus.

    None means that no section applies.
    """
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
