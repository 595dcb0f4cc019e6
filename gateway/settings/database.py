"""The database in the configuration: a SQLite file, or the URL of a PostgreSQL database.

A URL may contain a password, so neither the text of a `PostgresUrl` nor a problem shows more of it
than host, port and name.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

SCHEME = "postgresql+asyncpg"
_FORM = re.compile(
    rf"{re.escape(SCHEME)}://"
    r"(?:[^:@/?#\s]*(?::(?P<password>[^:@/?#\s]*))?@)?"
    r"(?P<place>(?:\[[0-9A-Fa-f:.]+\]|[^:@/?#\s\[\]]*)(?::[0-9]{1,5})?)"
    r"/(?P<name>[^:@/?#\s]+)(?P<options>\?[^#\s]*)?",
    re.ASCII,
)
_NO_URL = (
    f"must be the name of a file, or {SCHEME}://USER:PASSWORD@HOST:PORT/NAME with other characters "
    "percent-encoded"
)


@dataclass(frozen=True)
class PostgresUrl:
    """A PostgreSQL database; as text it is its address, without user, password and options."""

    url: SecretStr

    def __str__(self) -> str:
        found = _FORM.fullmatch(self.url.get_secret_value())
        return f"{SCHEME}://{found['place']}/{found['name']}" if found else SCHEME


Database = Path | PostgresUrl


def parse_database(written: object) -> Database:
    """Parse the name of a file, or a URL. Raises ValueError."""
    if isinstance(written, Path | PostgresUrl):
        return written
    if not isinstance(written, str):
        raise ValueError("must be the name of a file, or a URL")
    if not is_url(written):
        return Path(written)
    if not _FORM.fullmatch(written):
        raise ValueError(_NO_URL)
    return PostgresUrl(SecretStr(written))


def is_url(written: object) -> bool:
    return isinstance(written, str) and "://" in written


def has_password(written: object) -> bool:
    """True if a value of the setting is a URL with a password, or malformed."""
    if not is_url(written):
        return False
    found = _FORM.fullmatch(str(written))
    return not found or bool(found["password"]) or "password" in (found["options"] or "")
