"""JSON values as Google's errors quote them: a `google.protobuf.Value` in protobuf's text format.

Rules
- Fields and indents are as reported (gspread#668); that texts are escaped to ASCII and numbers
  always have a fraction is how Java prints that format, an assumption here.
- A value may be huge, so what is quoted of it ends somewhere.
"""

from collections.abc import Iterator, Mapping

LONGEST = 10_000  # characters
DEEPEST = 400  # blanks before a line
ESCAPES: Mapping[int, str] = {
    **{byte: f"\\{byte:03o}" for byte in (*range(0x20), *range(0x7F, 0x100))},
    **dict(zip(b"\a\b\f\n\r\t\v", (f"\\{letter}" for letter in "abfnrtv"), strict=True)),
    **{byte: f"\\{chr(byte)}" for byte in b"\\\"'"},
}


def value_text(value: object) -> str:
    """The text of a JSON value, a line for each field and each closing brace."""
    text = ""
    for line in _lines(value, ""):
        text += f"{line}\n"
        if len(text) > LONGEST:
            return f"{text[:LONGEST]}..."
    return text


def _lines(value: object, indent: str) -> Iterator[str]:
    if len(indent) > DEEPEST:
        yield f"{indent}..."
    elif isinstance(value, list):
        yield f"{indent}list_value {{"
        for item in value:
            yield from _field("values", item, f"{indent}  ")
        yield f"{indent}}}"
    elif isinstance(value, dict):
        yield f"{indent}struct_value {{"
        for key, inner in value.items():
            yield f"{indent}  fields {{"
            yield f"{indent}    key: {_quoted(key)}"
            yield from _field("value", inner, f"{indent}    ")
            yield f"{indent}  }}"
        yield f"{indent}}}"
    else:
        yield f"{indent}{_scalar(value)}"


def _field(name: str, value: object, indent: str) -> Iterator[str]:
    yield f"{indent}{name} {{"
    yield from _lines(value, f"{indent}  ")
    yield f"{indent}}}"


def _scalar(value: object) -> str:
    if value is None:
        return "null_value: NULL_VALUE"
    if isinstance(value, bool):
        return f"bool_value: {'true' if value else 'false'}"
    if isinstance(value, int | float):
        return f"number_value: {_number(value)}"
    return f"string_value: {_quoted(str(value))}"


def _number(number: int | float) -> str:
    try:
        return repr(float(number))
    except OverflowError:
        return "Infinity" if number > 0 else "-Infinity"


def _quoted(text: str) -> str:
    shown = text[:LONGEST].encode(errors="surrogatepass")
    return '"' + "".join(ESCAPES.get(byte) or chr(byte) for byte in shown) + '"'
