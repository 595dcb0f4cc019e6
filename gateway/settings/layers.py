"""Configuration layers: file, environment and command line, merged in this order.

This module does not know the settings: `known` has their key paths, with `*` for names that the
operator chooses. A problem is one line for the operator and never contains a value.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic_core import ErrorDetails

from gateway.settings.database import is_url
from gateway.settings.private_file import HOW_TO_MEND, is_open_to_others

KeyPath = tuple[str, ...]
Tables = Mapping[str, Any]

ENVIRONMENT_PREFIX = "GATEWAY_"
# Kubernetes sets these in every pod if a Service is named "gateway".
_SERVICE_VARIABLE = re.compile(
    r"GATEWAY_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)?)"
)

DEFAULT_FILE = Path("config.toml")
MAX_FILE_BYTES = 2**20

# Messages by pydantic error type; other types have suitable messages.
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


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One source of settings; `sources` has the variable that set each key path."""

    tables: Tables = field(default_factory=dict)
    problems: Sequence[str] = ()
    sources: Mapping[KeyPath, str] = field(default_factory=dict)


def file_layer(
    path: Path | None,
    file_settings: Mapping[KeyPath, object],
    secrets: Mapping[KeyPath, Callable[[object], bool]],
) -> Layer:
    """The tables of the file, by default of `config.toml` if it exists.

    `file_settings` are the settings that name files, with their defaults; `*` is each table of an
    array. Relative names, including defaults, start at the directory of this file, so that one
    configuration means one key store, wherever a command runs. URLs are not changed. The file must
    be private if `secrets` recognizes a value in it. It may be a pipe from a decrypting program, or
    an empty device.
    """
    file = path or DEFAULT_FILE
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            return Layer(problems=[f"{file}: is larger than {MAX_FILE_BYTES} bytes"])
        written = tomllib.loads(content.decode("utf-8-sig"))
    except FileNotFoundError:
        return Layer(problems=[f"{file}: there is no such file"] if path else [])
    except OSError as error:
        return Layer(problems=[f"{file}: cannot be read: {error.strerror}"])
    except tomllib.TOMLDecodeError as error:
        return Layer(problems=[f"{file}: is not TOML: {error}"])
    except UnicodeDecodeError as error:
        return Layer(problems=[f"{file}: is not UTF-8 (byte {error.start})"])
    defaults = nested((at, name) for at, name in file_settings.items() if "*" not in at)
    tables = merged(defaults, written)
    return Layer(
        tables=reduce(lambda t, at: _anchored(t, at, file.parent), file_settings, tables),
        problems=[
            f"{section}.{key}: {file} holds it and is open to other users of this machine: "
            f"{HOW_TO_MEND}"
            for (section, key), is_secret in secrets.items()
            if is_open_to_others(mode) and is_secret(_table(written, section).get(key))
        ],
    )


def environment_layer(
    environ: Mapping[str, str], known: Collection[KeyPath], removed: Mapping[KeyPath, str]
) -> Layer:
    """`GATEWAY_SECTION__KEY` as tables; other names with the prefix are problems.

    `removed` has the problems for settings of earlier versions.
    """
    named = {
        name: tuple(name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__"))
        for name in environ
        if name.startswith(ENVIRONMENT_PREFIX) and not _SERVICE_VARIABLE.fullmatch(name)
    }
    sources = {
        at: name
        for name, at in named.items()
        if name == _environment_name(at) and generic(at, known) in known
    }
    return Layer(
        tables=nested((at, environ[name]) for at, name in sources.items()),
        problems=[
            f"{name}: {removed.get(at, f'there is no such setting{_near(name, at, known)}')}"
            for name, at in named.items()
            if sources.get(at) != name
        ],
        sources=sources,
    )


def _near(name: str, at: KeyPath, known: Collection[KeyPath]) -> str:
    """A hint at the nearest variable; plans have the name of the plan in `at`."""
    paths = (path[:1] + at[1:2] + path[2:] if path[1:2] == ("*",) else path for path in known)
    return suggestion(name, [_environment_name(path) for path in paths if "*" not in path])


def nested(values: Iterable[tuple[KeyPath, object]]) -> Tables:
    """Nest values by their key paths."""
    branches = (reduce(lambda leaf, key: {key: leaf}, reversed(at), leaf) for at, leaf in values)
    return reduce(merged, branches, {})


def merged(lower: Any, upper: Any) -> Any:
    """Merge tables at every depth; other values are replaced by `upper`."""
    if not (isinstance(lower, Mapping) and isinstance(upper, Mapping)):
        return upper
    shared = {key: merged(lower[key], upper[key]) for key in lower.keys() & upper.keys()}
    return {**lower, **upper, **shared}


def generic(at: KeyPath, known: Collection[KeyPath]) -> KeyPath:
    """The key path as in `known`, with `*` for a name chosen by the operator."""
    chosen = any(path[:2] == (at[0], "*") for path in known)
    return (at[0], "*", *at[2:]) if chosen and len(at) > 1 else at


def suggestion(name: str, names: Iterable[str]) -> str:
    """A hint at the nearest of `names`, or ""."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _table(tables: Tables, section: str) -> Tables:
    table = tables.get(section)
    return table if isinstance(table, Mapping) else {}


def _anchored(value: Any, at: KeyPath, directory: Path) -> Any:
    if not at:
        # A blank name is refused later; a name of another type is refused by its type.
        is_name = isinstance(value, str | Path) and value != "" and not is_url(value)
        return directory / value if is_name else value
    key, rest = at[0], at[1:]
    if key == "*" and isinstance(value, list):
        return [_anchored(each, rest, directory) for each in value]
    if not isinstance(value, Mapping) or key not in value:
        return value
    return {**value, key: _anchored(value[key], rest, directory)}


def _environment_name(at: KeyPath) -> str:
    return ENVIRONMENT_PREFIX + "__".join(at).upper()


def describe(
    detail: ErrorDetails,
    sources: Mapping[KeyPath, str],
    known: Sequence[KeyPath],
    removed: Mapping[KeyPath, str],
) -> str:
    """Describe a mistake as `section.key: problem`, with the variable that set it."""
    at = tuple(str(part) for part in detail["loc"] if part != "[key]")
    source = f" (set by {sources[at]})" if at in sources else ""
    message = detail["msg"].removeprefix("Value error, ").replace("Input should", "must")
    words = _WORDS.get(detail["type"], message)
    if detail["type"] == "extra_forbidden":
        words = removed.get(at, words + _near_setting(at, known))
    return f"{'.'.join(at)}: {words}{source}"


def _near_setting(at: KeyPath, known: Sequence[KeyPath]) -> str:
    """A hint at settings of this name in other tables, or at a similar name in the same table."""
    *table, name = generic(at, known)
    depth = len(table)
    elsewhere = [".".join(path).replace("*", "NAME") for path in known if path[-1] == name]
    if elsewhere:
        return f"; did you mean {' or '.join(elsewhere)}?"
    return suggestion(name, {path[depth] for path in known if list(path[:depth]) == table})
