"""Keys of forms, and forms as a browser posts them."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from gateway.storage.key_store import Grants, KeyRequest
from tests.asgi_client import Answer
from tests.surfaces.stage import GRANTED, Headers, Surface

PAGE = "https://shop.example"
"""The origin of the page with the form."""
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b-1"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
"""`Accept` header of a browser that sends a form."""


def create_only(**others: Any) -> Grants:
    return Grants(spreadsheets=GRANTED, may_update=False, may_read=False, **others)


OF_PAGE = frozenset({PAGE, "http://localhost:5500"})
KEYS: Mapping[str, KeyRequest] = {
    "paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED)),
    "form": KeyRequest(name="form", grants=create_only(origins=OF_PAGE)),
    "open": KeyRequest(name="open", grants=create_only()),
    "next": KeyRequest(name="next", grants=create_only(origins=OF_PAGE, next_url=f"{PAGE}/thanks")),
    "person": KeyRequest(name="person", grants=create_only(origins=OF_PAGE, needs_challenge=True)),
}
UNLIMITED: Mapping[str, object] = {
    "forms.per_address_per_minute": 0,
    "forms.writes_per_minute": 0,
}

Fields = Mapping[str, str] | Sequence[tuple[str, str]] | bytes


def form_request(
    surface: Surface,
    fields: Fields,
    *,
    key: str = "form",
    accept: str = BROWSER,
    media_type: str = FORM,
    origin: str | None = PAGE,
    headers: Headers = (),
) -> dict[str, Any]:
    """Return the arguments of `Surface.send` for a form with the key in its URL."""
    own = [("Content-Type", media_type), ("Accept", accept)]
    return {
        "method": "POST",
        "target": f"New?apiKey={surface.keys[key]}",
        "key": None,
        "spreadsheet": None,
        "headers": [*own, *([("Origin", origin)] if origin else []), *headers],
        "body": fields if isinstance(fields, bytes) else urlencode(fields).encode(),
    }


def post(surface: Surface, fields: Fields, **options: Any) -> Answer:
    return surface.send(**form_request(surface, fields, **options))


def multipart(*parts: tuple[str, str], end: str = "--") -> bytes:
    """Return a `MULTIPART` body. The first text of each part follows `form-data; `."""
    texts = [
        f"--b-1\r\nContent-Disposition: form-data; {head}\r\n\r\n{value}\r\n"
        for head, value in parts
    ]
    return "".join([*texts, f"--b-1{end}\r\n"]).encode()


def stored(surface: Surface) -> Sequence[Sequence[object]]:
    """Return the rows below the header."""
    lines: Any = surface.cells()["New"]
    return [tuple(cell for cell in line if cell != "") for line in lines[1:]]
