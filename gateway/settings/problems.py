"""Configuration mistakes in the operator's words, without values."""

from collections.abc import Mapping, Sequence

from pydantic_core import ErrorDetails

from gateway.settings.layers import KeyPath, generic, suggestion

# By pydantic's type of the error; other types have fitting words of their own.
_WORDS = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a table",
    "extra_forbidden": "there is no such setting",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "mapping_type": "must be a table",
    "model_type": "must be a table",
    "path_type": "must be the name of a file",
    "string_pattern_mismatch": "must be lower-case letters and digits, joined by _ or -",
    "string_too_short": "may not be blank",
    "too_short": "is too short",
}


def in_words(detail: ErrorDetails, sources: Mapping[KeyPath, str], known: Sequence[KeyPath]) -> str:
    """One mistake as `section.key: what is wrong`, with the variable it came from."""
    at = tuple(str(part) for part in detail["loc"] if part != "[key]")
    source = f" (set by {sources[at]})" if at in sources else ""
    message = detail["msg"].removeprefix("Value error, ").replace("Input should", "must")
    words = _WORDS.get(detail["type"], message)
    hint = _near_setting(at, known) if detail["type"] == "extra_forbidden" else ""
    return f"{'.'.join(at)}: {words}{hint}{source}"


def _near_setting(at: KeyPath, known: Sequence[KeyPath]) -> str:
    """The end of a sentence: the settings of this name in other tables, else a near name in its."""
    *table, name = generic(at, known)
    depth = len(table)
    elsewhere = [".".join(path).replace("*", "NAME") for path in known if path[-1] == name]
    if elsewhere:
        return f"; did you mean {' or '.join(elsewhere)}?"
    return suggestion(name, {path[depth] for path in known if list(path[:depth]) == table})
