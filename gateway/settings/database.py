"""The setting `access.database`: a SQLite file, or the URL of a PostgreSQL database.

URLs of libpq, which database providers show, and URLs of SQLAlchemy are both accepted. A URL can
contain a password. So `str(PostgresUrl)` has only host, port and database name, and error messages
do not quote URLs.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from pydantic import SecretStr

SCHEME = "postgresql+asyncpg"
SHOWN_SCHEME = "postgresql"
_OPTIONS = {
    *("host", "passfile", "password", "port", "prepared_statement_cache_size"),
    *("ssl", "target_session_attrs", "user"),
}
"""URL options that the driver (asyncpg) accepts. The option `ssl` is `sslmode` in libpq."""
_SESSIONS = ("any", "primary", "standby", "prefer-standby", "read-write", "read-only")
_SSL = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_VALUES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "port": (
        lambda value: all(_is_number(each, 1, 65535) for each in value.split(",")),
        "a port, or one for each host with commas between them",
    ),
    "prepared_statement_cache_size": (
        lambda value: _is_number(value, 0, 1_000_000),
        "a number; 0 keeps no statements",
    ),
    "ssl": (_SSL.__contains__, f"one of {', '.join(_SSL)}"),
    "target_session_attrs": (_SESSIONS.__contains__, f"one of {', '.join(_SESSIONS)}"),
}
"""Check of an option's value, and description of valid values. Other options accept any text."""
_FORM = re.compile(
    r"(?:postgresql(?:\+asyncpg)?|postgres)://"
    r"(?P<address>(?:[^:@/?#\s]*(?::(?P<password>[^:@/?#\s]*))?@)?"
    r"(?P<place>(?:\[[0-9A-Fa-f:.]+\]|[^:@/?#\s\[\]]*)(?::[0-9]{1,5})?)"
    r"/(?P<name>[^:@/?#\s]+))(?:\?(?P<options>[^#\s]*))?",
    re.ASCII,
)
_NO_URL = (
    f"must be the name of a file, or {SHOWN_SCHEME}://USER:PASSWORD@HOST:PORT/NAME with other "
    "characters percent-encoded"
)
_UNKNOWN_OPTION = (
    "an option after the ? is unknown or appears twice. Remove it; known options are "
    f"sslmode, {', '.join(sorted(_OPTIONS))}"
)


@dataclass(frozen=True)
class PostgresUrl:
    """URL of a PostgreSQL database. `str()` leaves out user, password and options."""

    url: SecretStr

    def __str__(self) -> str:
        found = _FORM.fullmatch(self.url.get_secret_value())
        return f"{SHOWN_SCHEME}://{found['place']}/{found['name']}" if found else SHOWN_SCHEME


Database = Path | PostgresUrl


def parse_database(written: object) -> Database:
    """Parse the name of a SQLite file, or the URL of a PostgreSQL database. Raises ValueError."""
    if isinstance(written, Path | PostgresUrl):
        return written
    if not isinstance(written, str):
        raise ValueError("must be the name of a file, or a URL")
    if not is_url(written):
        return Path(written)
    found = _FORM.fullmatch(written)
    if not found:
        raise ValueError(_NO_URL)
    options = [
        ("ssl" if name == "sslmode" else name, value)
        for name, value in parse_qsl(found["options"] or "", keep_blank_values=True)
    ]
    names = [name for name, _ in options]
    if not _OPTIONS.issuperset(names) or len(set(names)) < len(names):
        raise ValueError(_UNKNOWN_OPTION)
    for name, value in options:
        is_value, words = _VALUES.get(name, (None, ""))
        if is_value and not is_value(value):
            raise ValueError(f"the option {name} after the ? must be {words}")
    address = f"{SCHEME}://{found['address']}"
    return PostgresUrl(
        SecretStr(f"{address}?{urlencode(options, safe='/')}" if options else address)
    )


def _is_number(text: str, least: int, most: int) -> bool:
    return re.fullmatch("[0-9]{1,7}", text, re.ASCII) is not None and least <= int(text) <= most


def is_url(written: object) -> bool:
    return isinstance(written, str) and "://" in written


def has_password(written: object) -> bool:
    """True if a value of the setting is a URL with a password, or a malformed URL."""
    if not is_url(written):
        return False
    found = _FORM.fullmatch(str(written))
    options = parse_qsl((found and found["options"]) or "")
    return not found or bool(found["password"]) or "password" in dict(options)
