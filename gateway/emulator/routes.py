"""Which call a request line is.

Rules
- The raw path is split, and `:append` or `:clear` taken off, before anything is decoded: a title
  may hold `/` and `:`. Each part is decoded once, as strict UTF-8.
"""

from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from gateway.emulator.refusal import invalid

ROOT = "/v4/spreadsheets"
OF_ALL = {"POST": "spreadsheets.create"}
OF_SPREADSHEET = {
    ("GET", ""): "spreadsheets.get",
    ("POST", "batchUpdate"): "spreadsheets.batchUpdate",
}
OF_VALUES = {
    ("GET", "batchGet"): "values.batchGet",
    ("POST", "batchUpdate"): "values.batchUpdate",
    ("POST", "batchClear"): "values.batchClear",
}
OF_RANGE = {"GET": "values.get", "PUT": "values.update"}
RANGE_VERBS = {":append": "values.append", ":clear": "values.clear"}


@dataclass(frozen=True, kw_only=True)
class Route:
    """The call of a request line."""

    name: str
    spreadsheet_id: str = ""
    range_text: str = ""


def find_route(method: str, raw_path: bytes) -> Route | None:
    """The call that a method and an undecoded path ask for; None where there is none."""
    path = raw_path.decode("latin-1")
    if path == ROOT:
        return _route(OF_ALL.get(method))
    parts = path.removeprefix(f"{ROOT}/").split("/")
    if not path.startswith(f"{ROOT}/") or not parts[0]:
        return None
    if len(parts) == 1:
        spreadsheet_id, _, verb = parts[0].partition(":")
        return _route(OF_SPREADSHEET.get((method, verb)), spreadsheet_id)
    if len(parts) == 2:
        collection, _, verb = parts[1].partition(":")
        name = OF_VALUES.get((method, verb)) if collection == "values" else None
        return _route(name, parts[0])
    if len(parts) == 3 and parts[1] == "values" and parts[2]:
        return _range_route(method, parts[0], parts[2])
    return None


def _range_route(method: str, spreadsheet_id: str, text: str) -> Route | None:
    if method != "POST":
        return _route(OF_RANGE.get(method), spreadsheet_id, text)
    for ending, name in RANGE_VERBS.items():
        if text.endswith(ending):
            return _route(name, spreadsheet_id, text.removesuffix(ending))
    return None


def _route(name: str | None, spreadsheet_id: str = "", range_text: str = "") -> Route | None:
    if name is None:
        return None
    return Route(
        name=name, spreadsheet_id=_decoded(spreadsheet_id), range_text=_decoded(range_text)
    )


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text.encode("latin-1")).decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid("Request contains an invalid argument.") from error
