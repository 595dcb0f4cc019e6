"""Routes: the API call of a method and path.

Rules:
- All calls of the API have a route.
- The raw path is split, and `:append` or `:clear` is removed, before decoding. A title can contain
  `/` and `:`. Each part is decoded once, as strict UTF-8.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from sheets_emulator.refusal import of_code

ROOT = "/v4/spreadsheets"
OF_ALL = {"POST": "spreadsheets.create"}
OF_SPREADSHEET = {
    ("GET", ""): "spreadsheets.get",
    ("POST", "batchUpdate"): "spreadsheets.batchUpdate",
    ("POST", "getByDataFilter"): "spreadsheets.getByDataFilter",
}
OF_COLLECTIONS = {
    ("GET", "values:batchGet"): "values.batchGet",
    ("POST", "values:batchUpdate"): "values.batchUpdate",
    ("POST", "values:batchClear"): "values.batchClear",
    ("POST", "values:batchGetByDataFilter"): "values.batchGetByDataFilter",
    ("POST", "values:batchUpdateByDataFilter"): "values.batchUpdateByDataFilter",
    ("POST", "values:batchClearByDataFilter"): "values.batchClearByDataFilter",
    ("POST", "developerMetadata:search"): "developerMetadata.search",
}
OF_RANGE = {"GET": "values.get", "PUT": "values.update"}
NUMBER = re.compile(r"-?[0-9]+")
OF_TAB = {("POST", "copyTo"): "spreadsheets.sheets.copyTo"}
OF_METADATA = {"GET": "developerMetadata.get"}
RANGE_VERBS = {":append": "values.append", ":clear": "values.clear"}


@dataclass(frozen=True, kw_only=True)
class Route:
    """API call of a method and path. `number` is the ID of a worksheet or of metadata."""

    name: str
    spreadsheet_id: str = ""
    range_text: str = ""
    number: str = ""


def find_route(method: str, raw_path: bytes) -> Route | None:
    """Return the call of a method and an undecoded path, or None for an unknown path."""
    path = raw_path.decode("latin-1")
    if path == ROOT:
        return _route(OF_ALL.get(method))
    parts = path.removeprefix(f"{ROOT}/").split("/")
    if not path.startswith(f"{ROOT}/") or not parts[0]:
        return None
    if len(parts) == 1:
        spreadsheet_id, _, verb = parts[0].partition(":")
        if not spreadsheet_id:
            return None
        return _route(OF_SPREADSHEET.get((method, verb)), spreadsheet_id)
    if len(parts) == 2:
        return _route(OF_COLLECTIONS.get((method, parts[1])), parts[0])
    if len(parts) == 3 and parts[1] == "values" and parts[2]:
        return _range_route(method, parts[0], parts[2])
    if len(parts) == 3 and parts[1] == "developerMetadata" and NUMBER.fullmatch(parts[2]):
        return _route(OF_METADATA.get(method), parts[0], number=parts[2])
    if len(parts) == 3 and parts[1] == "sheets":
        number, _, verb = parts[2].partition(":")
        is_number = NUMBER.fullmatch(number) is not None
        return _route(OF_TAB.get((method, verb)) if is_number else None, parts[0], number=number)
    return None


def _range_route(method: str, spreadsheet_id: str, text: str) -> Route | None:
    if method != "POST":
        return _route(OF_RANGE.get(method), spreadsheet_id, text)
    for ending, name in RANGE_VERBS.items():
        if text.endswith(ending):
            return _route(name, spreadsheet_id, text.removesuffix(ending))
    return None


def _route(
    name: str | None, spreadsheet_id: str = "", range_text: str = "", *, number: str = ""
) -> Route | None:
    if name is None:
        return None
    return Route(
        name=name,
        spreadsheet_id=_decoded(spreadsheet_id),
        range_text=_decoded(range_text),
        number=_decoded(number),
    )


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text.encode("latin-1")).decode("utf-8")
    except UnicodeDecodeError as error:
        raise of_code(400) from error
