"""What a page of the console is made from, and what it results in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from gateway.web.request import Request

if TYPE_CHECKING:
    from gateway.admin.acting import ActingAs


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """A request of an administrator."""

    request: Request
    query: Sequence[tuple[str, str]]
    form: Sequence[tuple[str, str]]
    acting: "ActingAs"
    api_url: str

    def asked(self, name: str) -> str:
        """The first value of a parameter of the URL; "" without it."""
        return next((value for known, value in self.query if known == name), "")


@dataclass(frozen=True, kw_only=True)
class Page:
    template: str
    values: Mapping[str, object]
    status: int = 200


@dataclass(frozen=True)
class Redirect:
    """Another page, which the browser gets instead."""

    location: str


def url(path: str, **parameters: object) -> str:
    """A path of the console with those parameters that have a value."""
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path
