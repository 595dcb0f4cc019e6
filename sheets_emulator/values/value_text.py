"""JSON values in Google's errors: `google.protobuf.Value` in protobuf's text format.

Rules:
- Fields and indentation are as reported (gspread#668). ASCII escapes and fractions of all numbers
  follow Java's output of this format (assumed).
- The quoted value is truncated, because it can be huge.
"""

from collections.abc import Iterator, Mapping

MAX_LENGTH = 10_000  # characters
MAX_INDENT = 400  # blanks before a line
ESCAPES: Mapping[int, str] = {
    **{byte: f"\\{byte:03o}" for byte in (*range(0x20), *range(0x7F, 0x100))},
    **dict(zip(b"\a\b\f\n\r\t\v", (f"\\{letter}" for letter in "abfnrtv"), strict=True)),
    **{byte: f"\\{chr(byte)}" for byte in b"\\\"'"},
}


def value_text(value: object) -> str:
    """Return the text of a JSON value, with one line per field and closing brace."""
    text = ""
    for line in _lines(value, ""):
        text += f"{line}\n"
        if len(text) > MAX_LENGTH:
            return f"{text[:MAX_LENGTH]}..."
    return text


def _lines(value: object, indent: str) -> Iterator[str]:
    if len(indent) > MAX_INDENT:
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
    shown = text[:MAX_LENGTH].encode(errors="surrogatepass")
    return '"' + "".join(ESCAPES.get(byte) or chr(byte) for byte in shown) + '"'
