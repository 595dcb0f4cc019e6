"""Number format sections for fractions such as `# ??/??` and `0/16`.

Rules:
- The denominator is the number in the format. Without a number, the denominator has at most as many
  digits as there are placeholders, and the fraction is the nearest one to the cell's number.
- Without placeholders for a whole number, the fraction can be above one.
- A fraction of zero after a whole number is displayed as blanks, except with a placeholder `0`.
  Other spreadsheet programs do so. For Google it is an assumption.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sheets_emulator.formats.format_tokens import Kind, Token, Tokens

PADDING: Mapping[str, str] = {"0": "0", "#": "", "?": " "}
MARKS: Mapping[Kind, str] = {
    Kind.DIGIT: "d", Kind.SLASH: "/", Kind.LITERAL: "l", Kind.PERCENT: "l",
}  # fmt: skip
SECTION = re.compile(
    "(?P<before>[ln]*)(?:(?P<whole>[d0]+)(?P<between>[ln]+))?(?P<numerator>[d0]+)/"
    "(?:(?P<denominator>[d0]{1,9})|(?P<fixed>n[n0]{0,8}))(?P<after>(?:l[ln]*)?)"
)
"""Pattern of a fraction section in which a letter stands for each token."""


@dataclass(frozen=True, kw_only=True)
class FractionForm:
    """A fraction section: literal texts and placeholders.

    `whole` is "" for an improper fraction. `fixed` is the denominator in the format, or 0. `scale`
    is the power of ten that multiplies the number: 2 for a percent sign.
    """

    before: str
    whole: str
    between: str
    numerator: str
    denominator: str
    fixed: int
    after: str
    scale: int


def fraction_form(tokens: Tokens) -> FractionForm | None:
    """Parse a section with a slash at a placeholder. Returns None if the section is unsupported."""
    match = SECTION.fullmatch("".join(map(_mark, tokens)))
    if match is None:
        return None
    parts = {
        name: "".join(token.text for token in tokens[match.start(name) : match.end(name)])
        for name, part in match.groupdict(default="").items()
    }
    fixed = int(parts.pop("fixed") or 0)
    percents = sum(token.kind is Kind.PERCENT for token in tokens)
    return FractionForm(**parts, fixed=fixed, scale=2 * percents)


def written_fraction(number: float, form: FractionForm, *, is_signed: bool) -> str:
    """Format a number. With `is_signed`, a negative number starts with a minus."""
    exact = Fraction(Decimal(repr(number)).copy_abs().scaleb(form.scale))
    if form.fixed:
        part, denominator = round(exact * form.fixed), form.fixed
    else:
        nearest = exact.limit_denominator(10 ** len(form.denominator) - 1)
        part, denominator = nearest.numerator, nearest.denominator
    whole, rest = divmod(part, denominator) if form.whole else (0, part)
    text = _padded(rest, form.numerator) + "/" + _below(denominator, form)
    if form.whole and not rest and "0" not in form.numerator:
        text = " " * len(text)
    if form.whole:
        shows_whole = whole or not rest or "0" in form.whole
        text = _padded(whole, form.whole) * bool(shows_whole) + form.between + text
    text = form.before + text + form.after
    return f"-{text}" if is_signed and number < 0 and part else text


def _mark(token: Token) -> str:
    if token.kind is Kind.LITERAL and re.fullmatch("[1-9]", token.text):
        return "n"
    return "0" if token.kind is Kind.DIGIT and token.text == "0" else MARKS.get(token.kind, "x")


def _padded(number: int, places: str) -> str:
    """Return the digits of a number, padded at the left according to the placeholders."""
    digits = str(number)
    padding = "".join(PADDING[place] for place in places[: max(len(places) - len(digits), 0)])
    return padding + digits


def _below(denominator: int, form: FractionForm) -> str:
    """Return the digits of the denominator, padded at the right according to the placeholders."""
    digits = str(denominator)
    return digits + "".join(PADDING[place] for place in form.denominator[len(digits) :])
