"""Number format sections for numbers: digits, grouping, percent, scientific.

Rules:
- Digits come from the shortest decimal that parses to the same double. Halves round away from zero.
- Digits fill placeholders from the decimal point outwards, so literals stay between them. The first
  placeholder takes all remaining digits.
- A comma between placeholders groups thousands. Each comma after the last placeholder divides by a
  thousand. Any other comma is a literal. Fractions (`# ?/?`) are in `fraction_form`.
- The exponent is a multiple of the number of placeholders before the point, as in `##0.0E+0`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import takewhile

from sheets_emulator.formats.format_tokens import Kind, Tokens

EXACT = Context(prec=2_500)  # digits: 309 of a double, plus the digits of the longest format
PADDING: Mapping[str, str] = {"0": "0", "#": "", "?": " "}
GROUP = 3


@dataclass(frozen=True, kw_only=True)
class NumberForm:
    """A number section.

    `point` has the token of the decimal point, or none. `exponent` starts with a token such as
    `E+`, or is empty. `scale` is the power of ten that multiplies the number.
    """

    whole: Tokens
    point: Tokens
    decimals: Tokens
    exponent: Tokens
    scale: int
    is_grouped: bool


def number_form(tokens: Tokens) -> NumberForm | None:
    """Parse the tokens of a section, or return None if the section is unsupported."""
    roles = [_role(tokens, at) for at in range(len(tokens))]
    shown = tuple(each for each, role in zip(tokens, roles, strict=True) if role == "shown")
    mantissa, exponent = _parted(shown, Kind.EXPONENT)
    whole, fraction = _parted(mantissa, Kind.POINT)
    if "fraction" in roles or (exponent and not _places(whole)):
        return None
    thousands = sum(
        len(each.text) for each, role in zip(tokens, roles, strict=True) if role == "scale"
    )
    percents = sum(each.kind is Kind.PERCENT for each in tokens)
    return NumberForm(
        whole=whole,
        point=fraction[:1],
        decimals=fraction[1:],
        exponent=exponent,
        scale=2 * percents - 3 * thousands,
        is_grouped="group" in roles,
    )


def written_number(number: float, form: NumberForm, *, is_signed: bool) -> str:
    """Format a number. With `is_signed`, a negative number starts with a minus."""
    exact = Decimal(repr(number)).copy_abs().scaleb(form.scale)
    power = _power(exact, form) if form.exponent else 0
    rounded = _rounded(exact.scaleb(-power), form)
    whole, _, decimals = f"{rounded:f}".partition(".")
    text = _whole(form, whole.lstrip("0")) + _decimals(form, decimals)
    if form.exponent:
        text += _exponent(form.exponent, power)
    shows_zero = rounded == 0 and bool(_places(form.whole) + _places(form.decimals))
    return f"-{text}" if is_signed and number < 0 and not shows_zero else text


def _role(tokens: Tokens, at: int) -> str:
    """Return the role of a token: `shown`, `group`, `scale` or `fraction`.

    The role of a comma or slash depends on the tokens next to it.
    """
    kind = tokens[at].kind
    if kind not in (Kind.COMMAS, Kind.SLASH):
        return "shown"
    is_after = at > 0 and tokens[at - 1].kind is Kind.DIGIT
    is_before = at + 1 < len(tokens) and tokens[at + 1].kind is Kind.DIGIT
    if kind is Kind.SLASH:
        return "fraction" if is_after or is_before else "shown"
    if not is_after:
        return "shown"
    return "group" if is_before else "scale"


def _parted(tokens: Tokens, kind: Kind) -> tuple[Tokens, Tokens]:
    """Split the tokens before the first token of a kind."""
    before = tuple(takewhile(lambda token: token.kind is not kind, tokens))
    return before, tokens[len(before) :]


def _places(tokens: Tokens) -> int:
    return sum(token.kind is Kind.DIGIT for token in tokens)


def _rounded(exact: Decimal, form: NumberForm) -> Decimal:
    unit = Decimal(1).scaleb(-_places(form.decimals))
    return exact.quantize(unit, ROUND_HALF_UP, EXACT)


def _power(exact: Decimal, form: NumberForm) -> int:
    """Return the exponent with which the digits before the point fit their placeholders."""
    if exact == 0:
        return 0
    step = _places(form.whole)
    power = exact.adjusted() // step * step
    is_carried = _rounded(exact.scaleb(-power), form).adjusted() >= step
    return power + step if is_carried else power


def _whole(form: NumberForm, digits: str) -> str:
    """Return the text before the point. Digits fill the placeholders from the right."""
    parts: list[str] = []
    left, position = _places(form.whole), 0
    for token in reversed(form.whole):
        if token.kind is not Kind.DIGIT:
            parts.append(token.text)
            continue
        left -= 1
        end = max(len(digits) - position, 0)
        taken = digits[max(end - 1, 0) if left else 0 : end]
        for digit in reversed(taken or PADDING[token.text]):
            is_group_end = form.is_grouped and position % GROUP == 0 and position > 0
            parts.append(f"{digit}," if is_group_end and digit.isdigit() else digit)
            position += 1
    text = "".join(reversed(parts))
    is_placeless = not _places(form.whole) and _places(form.decimals) > 0
    return text + digits if is_placeless else text


def _decimals(form: NumberForm, digits: str) -> str:
    """Return the point and the decimals. Digits fill the placeholders from the left."""
    parts = [token.text for token in form.point]
    needed, position = len(digits.rstrip("0")), 0
    for token in form.decimals:
        if token.kind is not Kind.DIGIT:
            parts.append(token.text)
            continue
        parts.append(digits[position] if position < needed else PADDING[token.text])
        position += 1
    return "".join(parts)


def _exponent(tokens: Tokens, power: int) -> str:
    mark, places = tokens[0].text, tokens[1:]
    sign = "-" if power < 0 else mark[1:].replace("-", "")
    form = NumberForm(whole=places, point=(), decimals=(), exponent=(), scale=0, is_grouped=False)
    return mark[0] + sign + _whole(form, str(abs(power)).lstrip("0"))
