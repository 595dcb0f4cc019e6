"""Google's NumberFormatType of a number format that a formula inherits from its operands."""

from sheets_emulator.formats.format_tokens import Kind, Tokens, has, sections

CURRENCIES = frozenset("$€£¥")
DATE_LETTERS = frozenset("yd")
TIME_LETTERS = frozenset("hs")
KINDS = {Kind.PERCENT: "PERCENT", Kind.EXPONENT: "SCIENTIFIC", Kind.ELAPSED: "TIME"}


def kind_of(pattern: str) -> str:
    """Return Google's NumberFormatType of a format, such as `DATE`.

    An unknown format is a `NUMBER`.
    """
    found = sections(pattern)
    return _kind(found[0]) if found else "NUMBER"


def _kind(tokens: Tokens) -> str:
    for kind, name in KINDS.items():
        if has(tokens, kind):
            return name
    if has(tokens, Kind.DATE):
        return _date_kind(tokens)
    literals = "".join(token.text for token in tokens if token.kind is Kind.LITERAL)
    return "NUMBER" if CURRENCIES.isdisjoint(literals) else "CURRENCY"


def _date_kind(tokens: Tokens) -> str:
    letters = set("".join(token.text for token in tokens if token.kind is Kind.DATE).lower())
    has_time = not letters.isdisjoint(TIME_LETTERS)
    has_date = not letters.isdisjoint(DATE_LETTERS) or not has_time
    return "DATE_TIME" if has_date and has_time else "DATE" if has_date else "TIME"
