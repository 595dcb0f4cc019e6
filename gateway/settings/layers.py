"""Layers of settings: tables from the file and from the environment, and how they are merged.

The callers pass the key paths of all settings as `known`, with `*` for names that the operator
chooses, such as a plan's name. A problem is one line for the operator, without any value.
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
"""Path of a setting: names of its tables and its own name, such as `("server", "port")`."""
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
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "must be a table"),
    "extra_forbidden": "there is no such setting",
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("int_from_float", "int_parsing", "int_type"), "must be a whole number"),
    "path_type": "must be the name of a file",
    "string_pattern_mismatch": "must be lower-case letters and digits, joined by _ or -",
    "string_too_short": "must not be blank",
    "too_short": "is too short",
}


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Settings from the file or from the environment, and problems with them.

    `sources` has the name of the environment variable that set each key path. It is empty for
    settings of the file.
    """

    tables: Tables = field(default_factory=dict)
    problems: Sequence[str] = ()
    sources: Mapping[KeyPath, str] = field(default_factory=dict)


def file_layer(
    path: Path | None,
    file_settings: Mapping[KeyPath, object],
    secrets: Mapping[KeyPath, Callable[[object], bool]],
) -> Layer:
    """Read the TOML file at `path`, or if `path` is None, `config.toml` if it exists.

    `file_settings` has the defaults of settings that are file names, by key path; `*` means each
    table of an array. Relative names, including defaults, are relative to the directory of this
    file. URLs stay unchanged. `secrets` has functions that return True for a secret value, by key
    path: other users must not be able to read a file with a secret. The file can also be a pipe.
    """
    file = path or DEFAULT_FILE
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            return Layer(problems=[f"{file}: must be at most {MAX_FILE_BYTES} bytes long"])
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
            f"{section}.{key}: {file} has this secret and is open to other users of this machine: "
            f"{HOW_TO_MEND}"
            for (section, key), is_secret in secrets.items()
            if is_open_to_others(mode) and is_secret(_table(written, section).get(key))
        ],
    )


def environment_layer(
    environ: Mapping[str, str], known: Collection[KeyPath], removed: Mapping[KeyPath, str]
) -> Layer:
    """Read the variables `GATEWAY_SECTION__KEY`. Unknown names with the prefix are problems.

    `removed` has the messages for settings of earlier versions, by key path.
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
    """Return a hint with the variable most similar to `name`, whose key path is `at`, or ""."""
    paths = (path[:1] + at[1:2] + path[2:] if path[1:2] == ("*",) else path for path in known)
    return suggestion(name, [_environment_name(path) for path in paths if "*" not in path])


def nested(values: Iterable[tuple[KeyPath, object]]) -> Tables:
    """Build nested tables from values and their key paths."""
    branches = (reduce(lambda leaf, key: {key: leaf}, reversed(at), leaf) for at, leaf in values)
    return reduce(merged, branches, {})


def merged(lower: Any, upper: Any) -> Any:
    """Merge two tables at every depth. Other values of `upper` replace those in `lower`."""
    if not (isinstance(lower, Mapping) and isinstance(upper, Mapping)):
        return upper
    shared = {key: merged(lower[key], upper[key]) for key in lower.keys() & upper.keys()}
    return {**lower, **upper, **shared}


def generic(at: KeyPath, known: Collection[KeyPath]) -> KeyPath:
    """Return the key path, as in `known`, with `*` instead of a name that the operator chose."""
    chosen = any(path[:2] == (at[0], "*") for path in known)
    return (at[0], "*", *at[2:]) if chosen and len(at) > 1 else at


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return a hint with the most similar of `names`, or ""."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _table(tables: Tables, section: str) -> Tables:
    table = tables.get(section)
    return table if isinstance(table, Mapping) else {}


def _anchored(value: Any, at: KeyPath, directory: Path) -> Any:
    if not at:
        # Validation rejects blank names and values of other types later.
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
    """Return an error of pydantic as `section.key: problem (set by VARIABLE)`, for the operator.

    `sources` has the names of environment variables, and `removed` the messages for settings of
    earlier versions, both by key path.
    """
    at = tuple(str(part) for part in detail["loc"] if part != "[key]")
    source = f" (set by {sources[at]})" if at in sources else ""
    message = detail["msg"].removeprefix("Value error, ").replace("Input should", "must")
    words = _WORDS.get(detail["type"], message)
    if detail["type"] == "extra_forbidden":
        words = removed.get(at, words + _near_setting(at, known))
    if detail["type"] == "tuple_type":
        words = f"must be tables [[{'.'.join(at)}]] in the configuration file"
    return f"{'.'.join(at)}: {words}{source}"


def _near_setting(at: KeyPath, known: Sequence[KeyPath]) -> str:
    """Return a hint for an unknown setting: the same name in other tables, else a similar name."""
    *table, name = generic(at, known)
    depth = len(table)
    elsewhere = [".".join(path).replace("*", "NAME") for path in known if path[-1] == name]
    if elsewhere:
        return f"; did you mean {' or '.join(elsewhere)}?"
    return suggestion(name, {path[depth] for path in known if list(path[:depth]) == table})
