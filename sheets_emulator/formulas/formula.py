"""Formula parser: converts a formula's text to evaluation steps.

Rules:
- Steps are a flat tuple in postfix order. Neither parsing nor evaluation recurses, so nesting is
  unlimited.
- Supported: arithmetic, comparison, `&`, references, SUM, CONCAT, CONCATENATE, LEN, IF, and
  ARRAYFORMULA around the whole formula.
- A formula with another function, a name or an array in braces is `#NAME?`. The rest of the formula
  need not parse, because it might use unsupported syntax.
- As in Google's formulas, a sign binds tighter than `^` (`-2^2` is 4). Operators of the same
  precedence go from left to right (`2^3^2` is 64).
- `;` separates arguments like `,`. An argument can be omitted: `SUM(1,)`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from sheets_emulator.formulas.lexeme import Lexeme, lexemes, split_area
from sheets_emulator.formulas.result import (
    ERROR_TEXTS,
    LOST,
    NOT_PARSED,
    TOO_LARGE,
    CellError,
    Evaluated,
    cell_error,
)
from sheets_emulator.grid.a1 import Span, parse_cells

CACHED_FORMULAS = 4096  # number of cached formulas
MAX_CACHED_LENGTH = 1000  # characters
BOOLEANS = {"TRUE": True, "FALSE": False}
ERRORS = {text: cell_error(kind, "") for kind, text in ERROR_TEXTS.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Area:
    """A reference to cells. `title` is a worksheet, or None for the worksheet of the formula."""

    title: str | None
    span: Span


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A function or operator, by Google's name. The call consumes the last `count` operands."""

    name: str
    count: int


Step = Evaluated | Area | Call


@dataclass(frozen=True, kw_only=True)
class Binary:
    """A binary operator. An operator with higher strength binds first."""

    name: str
    strength: int


@dataclass(frozen=True, kw_only=True)
class Arity:
    """Number of arguments of a function. There is no maximum if `most` is None."""

    least: int
    most: int | None = None


BINARY = {
    "=": Binary(name="EQ", strength=1),
    "<>": Binary(name="NE", strength=1),
    "<": Binary(name="LT", strength=1),
    ">": Binary(name="GT", strength=1),
    "<=": Binary(name="LTE", strength=1),
    ">=": Binary(name="GTE", strength=1),
    "&": Binary(name="CONCAT", strength=2),
    "+": Binary(name="ADD", strength=3),
    "-": Binary(name="MINUS", strength=3),
    "*": Binary(name="MULTIPLY", strength=4),
    "/": Binary(name="DIVIDE", strength=4),
    "^": Binary(name="POW", strength=5),
}
PREFIX = {"+": "UPLUS", "-": "UMINUS"}
PREFIX_STRENGTH = 6
FUNCTIONS = {
    "SUM": Arity(least=1),
    "CONCATENATE": Arity(least=1),
    "CONCAT": Arity(least=2, most=2),
    "LEN": Arity(least=1, most=1),
    "IF": Arity(least=2, most=3),
    "ARRAYFORMULA": Arity(least=1, most=1),
}
ARRAY_FORMULA = Call(name="ARRAYFORMULA", count=1)
CLOSING = {"(": ")", "{": "}"}
ARRAY = "{"
RANGE = ":"  # operator of a range whose ends are not cells, such as `A1:OFFSET(…)`


@dataclass(kw_only=True, slots=True)
class Waiting:
    """A pending operator, or an opening parenthesis (strength 0), on the parser's stack."""

    call: Call | None = None
    strength: int = 0
    closing: str | None = None
    function: str | None = None
    arguments: int = 0


@dataclass(kw_only=True, slots=True)
class Assembly:
    """State of the parser, which uses the shunting yard algorithm."""

    steps: list[Step] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    problem: CellError | None = None  # an unknown name or an unsupported number of arguments
    wants_operand: bool = True

    def record_error(self, error: CellError) -> None:
        """Record an error that does not stop parsing. An unknown name replaces other errors."""
        if self.problem is None or (error.kind == "NAME" and self.problem.kind != "NAME"):
            self.problem = error

    def emit_pending(self, strength: int) -> None:
        """Move pending operators with at least this strength from the stack to the steps."""
        while self.waiting and self.waiting[-1].strength >= strength:
            call = self.waiting.pop().call
            if call is not None:
                self.steps.append(call)


def parse(text: str) -> tuple[Step, ...] | CellError:
    """Parse a formula that starts with `=`.

    Returns steps in postfix order, or the formula's error.
    """
    return _remembered(text) if len(text) <= MAX_CACHED_LENGTH else _parsed(text)


@lru_cache(maxsize=CACHED_FORMULAS)
def _remembered(text: str) -> tuple[Step, ...] | CellError:
    return _parsed(text)


def _parsed(text: str) -> tuple[Step, ...] | CellError:
    assembly = Assembly()
    is_parsed = all(
        (_operand if assembly.wants_operand else _operator)(assembly, lexeme)
        for lexeme in lexemes(text.removeprefix("="))
        if lexeme.kind != "blank"
    )
    assembly.emit_pending(1)
    if ARRAY_FORMULA in assembly.steps[:-1]:
        assembly.record_error(cell_error("NAME", "ARRAYFORMULA within a formula is not known."))
    is_whole = is_parsed and not assembly.wants_operand and not assembly.waiting
    if assembly.problem is not None and (is_whole or assembly.problem.kind == "NAME"):
        return assembly.problem
    return tuple(assembly.steps) if is_whole else NOT_PARSED


def _operand(assembly: Assembly, lexeme: Lexeme) -> bool:
    """Parse a lexeme where an operand is required. Returns False if the lexeme is invalid there."""
    read = OPERANDS.get(lexeme.kind)
    if read is not None:
        assembly.steps.append(read(assembly, lexeme.text))
        assembly.wants_operand = False
    elif lexeme.kind == "call":
        _open(assembly, closing=")", function=lexeme.text[:-1].rstrip().upper())
    elif lexeme.text in PREFIX:
        call = Call(name=PREFIX[lexeme.text], count=1)
        assembly.waiting.append(Waiting(call=call, strength=PREFIX_STRENGTH))
    elif lexeme.text in CLOSING:
        function = ARRAY if lexeme.text == ARRAY else None
        _open(assembly, closing=CLOSING[lexeme.text], function=function)
    else:
        return _left_out(assembly, lexeme)
    return True


def _operator(assembly: Assembly, lexeme: Lexeme) -> bool:
    """Parse a lexeme after an operand. Returns False if the lexeme is invalid there."""
    binary = BINARY.get(lexeme.text)
    if binary is not None:
        assembly.emit_pending(binary.strength)
        call = Call(name=binary.name, count=2)
        assembly.waiting.append(Waiting(call=call, strength=binary.strength))
        assembly.wants_operand = True
    elif lexeme.text == "%":
        assembly.steps.append(Call(name="UNARY_PERCENT", count=1))
    elif lexeme.text == RANGE:
        assembly.record_error(cell_error("NAME", "A range of computed ends is not known."))
        assembly.wants_operand = True
    else:
        return _end_argument(assembly, lexeme.text)
    return True


def _open(assembly: Assembly, *, closing: str, function: str | None) -> None:
    if function is not None and function not in FUNCTIONS:
        assembly.record_error(cell_error("NAME", f"Unknown function: '{function}'."))
    assembly.waiting.append(Waiting(closing=closing, function=function))


def _left_out(assembly: Assembly, lexeme: Lexeme) -> bool:
    """Parse an omitted argument, as in `SUM(1,)`. `SUM()` has no arguments."""
    opened = assembly.waiting[-1] if assembly.waiting else None
    if opened is None or opened.function is None:
        return False
    if lexeme.text == opened.closing and opened.arguments == 0:
        return _close(assembly, opened)
    assembly.steps.append(Evaluated())
    return _end_argument(assembly, lexeme.text)


def _end_argument(assembly: Assembly, text: str) -> bool:
    assembly.emit_pending(1)
    opened = assembly.waiting[-1] if assembly.waiting else None
    if opened is None or text not in {opened.closing, ",", ";"}:
        return False
    opened.arguments += 1
    if text == opened.closing:
        return _close(assembly, opened)
    assembly.wants_operand = True
    return opened.function is not None


def _close(assembly: Assembly, opened: Waiting) -> bool:
    assembly.waiting.pop()
    assembly.wants_operand = False
    if opened.function is not None:
        assembly.steps.append(Call(name=opened.function, count=opened.arguments))
        _check_count(assembly, opened.function, opened.arguments)
    return True


def _check_count(assembly: Assembly, function: str, count: int) -> None:
    arity = FUNCTIONS.get(function)
    if arity is None or arity.least <= count <= (arity.most or count):
        return
    least, most = arity.least, arity.most
    expected = f"{least}" if most == least else f"at least {least}"
    if most is not None and most > least:
        expected = f"between {least} and {most}"
    message = (
        f"Wrong number of arguments to {function}. "
        f"Expected {expected} arguments, but got {count} arguments."
    )
    assembly.record_error(cell_error("N_A", message))


def _number(_: Assembly, text: str) -> Step:
    number = float(text)
    return Evaluated(value=number if math.isfinite(number) else TOO_LARGE)


def _text(_: Assembly, text: str) -> Step:
    return Evaluated(value=text[1:-1].replace('""', '"'))


def _lost(_: Assembly, _text: str) -> Step:
    return Evaluated(value=LOST)


def _error(_: Assembly, text: str) -> Step:
    return Evaluated(value=ERRORS[text.upper()])


def _area(_: Assembly, text: str) -> Step:
    title, cells = split_area(text)
    span = parse_cells("".join(cells.split()))
    return Evaluated(value=LOST) if span is None else Area(title=title, span=span)


def _name(assembly: Assembly, text: str) -> Step:
    value = BOOLEANS.get(text.upper())
    if value is None:
        assembly.record_error(cell_error("NAME", f"Unknown range name: '{text}'."))
    return Evaluated(value=value)


OPERANDS: dict[str, Callable[[Assembly, str], Step]] = {
    "number": _number,
    "text": _text,
    "lost": _lost,
    "error": _error,
    "area": _area,
    "name": _name,
}
