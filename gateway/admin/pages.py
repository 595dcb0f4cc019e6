"""Requests of administrators, and what operations of the console and the admin API result in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from gateway.settings.model import Settings
from gateway.storage.admin_secrets import AdminSecret
from gateway.web.request import Request

if TYPE_CHECKING:
    from gateway.admin.acting import ActingAs


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

    @property
    def author(self) -> str:
        """Who makes an edit of a key."""
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
    """Another page, which the browser gets instead."""

    location: str


def url(path: str, **parameters: object) -> str:
    """A path of the console with those parameters that have a value."""
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path
