"""Requests of administrators, and results of operations of the console and the admin API."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from gateway.errors import InvalidQuery
from gateway.settings.model import Settings
from gateway.storage.admin_secrets import AdminSecret
from gateway.storage.key_store import KeyStore
from gateway.table.quoting import quoted
from gateway.web.request import Request

if TYPE_CHECKING:
    from gateway.admin.acting import ActingAs
    from gateway.admin.status import Checks

_AGO = re.compile("([0-9]{1,5})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, kw_only=True)
class AdminRequest:
    """A request of an administrator to an operation."""

    request: Request
    settings: Settings
    pepper: bytes = field(repr=False)
    admin: AdminSecret
    id: str
    """The `{id}` of the path, "" without one."""
    query: Sequence[tuple[str, str]]
    form: Sequence[tuple[str, str]] = ()
    """The fields of a page's form."""
    members: Mapping[str, Any] = field(default_factory=dict)
    """The body of an operation of the API, valid for the form in its row of the table."""
    acting: "ActingAs"
    api_url: str
    checks: "Checks"
    started: datetime
    """Time at which the console was made."""

    @property
    def store(self) -> KeyStore:
        return self.request.state["store"]

    @property
    def author(self) -> str:
        """Author of an edit of a key."""
        return f"{self.admin.name} ({self.admin.key_id})"

    def asked(self, name: str) -> str:
        """The first value of a parameter of the URL; "" without it."""
        return next((value for known, value in self.query if known == name), "")


@dataclass(frozen=True, kw_only=True)
class Page:
    template: str
    values: Mapping[str, object]
    status: int = 200


@dataclass(frozen=True, kw_only=True)
class Json:
    """An answer of the admin API."""

    content: object
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Redirect:
    """Redirect to another page of the console."""

    location: str


def url(path: str, **parameters: object) -> str:
    """Path of the console with the parameters that have a value."""
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path


def instant(text: str, now: datetime) -> datetime:
    """Parse an instant in ISO 8601, UTC by default, or a time ago as `24h`. Raises InvalidQuery."""
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidQuery(
            f"{quoted(text)} is not a time: send 2026-02-01T10:30:00Z, or how long ago, as in 24h."
        ) from error
