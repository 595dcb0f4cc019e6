"""The part of the Google Drive API for spreadsheets: create, find, copy, delete.

Rules:
- A file is a spreadsheet that is shared with the account. The only folder is `root`.
- A request for another feature of Drive gets a 501 that names the feature. Parameters without an
  effect in the emulator are ignored.
- Errors have Drive's format, which is older than the format of the Sheets API.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import parse_qs, unquote

import msgspec

from sheets_emulator.file_times import FileTimes
from sheets_emulator.grid.workbook import Workbook, new_sheet
from sheets_emulator.http.answer import Answer, json_answer
from sheets_emulator.protocol.fields import cut, read_mask
from sheets_emulator.protocol.message import decode_object
from sheets_emulator.refusal import Refusal, invalid, unimplemented
from sheets_emulator.reply import Reply
from sheets_emulator.state.store import Store

ROOTS = ("/drive/", "/upload/drive/")
FILES = "/drive/v3/files"
SHEET_TYPE = "application/vnd.google-apps.spreadsheet"
UNTITLED = "Untitled"
ROOT = "root"
FILE_FIELDS = "kind,id,name,mimeType"
OWNER_FIELDS = "kind,id,type,role"
REASONS: Mapping[int, str] = {400: "invalid", 403: "forbidden", 404: "notFound"}
TERM = re.compile(
    r"""\s*(?P<name>mimeType|name|trashed|parents)\s*(?:=|in\b)\s*"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|true|false)\s*(?:and\b|$)""",
    re.DOTALL,
)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
QUOTES = "\"'"


class WantedFile(msgspec.Struct, frozen=True, rename="camel"):
    """Request body with the name, type and folders of a new file."""

    name: str | None = None
    mime_type: str | None = None
    parents: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class DriveRequest:
    """Request with a valid token of `account`. `raw_path` is percent-encoded."""

    method: str
    raw_path: str
    query_string: bytes
    body: bytes
    account: str

    def parameter(self, name: str, default: str) -> str:
        values = parse_qs(self.query_string.decode("utf-8", "replace"))
        return values.get(name, [default])[-1]


@dataclass(frozen=True, kw_only=True)
class Drive:
    """Request with the data for its answer. `moment` is the time in seconds since 1970."""

    store: Store
    times: FileTimes
    request: DriveRequest
    moment: float


def answer_drive(drive: Drive) -> Answer:
    try:
        for (method, pattern), call in CALLS.items():
            match = re.fullmatch(pattern, drive.request.raw_path)
            if match and method == drive.request.method:
                return call(drive, unquote("".join(match.groups())))
        raise unimplemented(f"'{drive.request.method} {drive.request.raw_path}' of Google Drive")
    except Refusal as refusal:
        return json_answer(_error(refusal), status=refusal.code)


def _list(drive: Drive, _: str) -> Answer:
    wanted = list(_terms(drive.request.parameter("q", "")))
    files = [_file(drive, workbook) for workbook in drive.store.shared_with(drive.request.account)]
    found: Reply = {
        "kind": "drive#fileList",
        "incompleteSearch": False,
        "files": [file for file in files if all(file[name] == value for name, value in wanted)],
    }
    return _masked(drive, found, f"kind,incompleteSearch,files({FILE_FIELDS})")


def _get(drive: Drive, file_id: str) -> Answer:
    return _masked(drive, _file(drive, _workbook(drive, file_id)), FILE_FIELDS)


def _create(drive: Drive, _: str) -> Answer:
    title, spreadsheet_id = _wanted_title(drive.request) or UNTITLED, drive.store.new_id()
    return _kept(drive, Workbook(spreadsheet_id=spreadsheet_id, title=title, sheets=[new_sheet()]))


def _copy(drive: Drive, file_id: str) -> Answer:
    workbook = _workbook(drive, file_id).copy()
    title = _wanted_title(drive.request) or f"Copy of {workbook.title}"
    return _kept(drive, replace(workbook, spreadsheet_id=drive.store.new_id(), title=title))


def _delete(drive: Drive, file_id: str) -> Answer:
    drive.store.discard(_workbook(drive, file_id).spreadsheet_id, drive.request.account)
    return Answer(status=204, body=b"")


def _permissions(drive: Drive, file_id: str) -> Answer:
    """Return the list of permissions, which has only the account itself, as the owner."""
    _workbook(drive, file_id)
    owner = {
        "kind": "drive#permission",
        "id": "10000000000000000001",
        "type": "user",
        "role": "owner",
        "emailAddress": drive.request.account,
        "displayName": drive.request.account,
        "deleted": False,
        "pendingOwner": False,
    }
    found: Reply = {"kind": "drive#permissionList", "permissions": [owner]}
    return _masked(drive, found, f"kind,permissions({OWNER_FIELDS})")


def _comments(drive: Drive, file_id: str) -> Answer:
    """Return an empty list. gspread requests the comments of a file after copying the file."""
    _workbook(drive, file_id)
    return _masked(drive, {"kind": "drive#commentList", "comments": []}, "*")


def _workbook(drive: Drive, file_id: str) -> Workbook:
    try:
        return drive.store.workbook(file_id, drive.request.account)
    except Refusal as refusal:  # files that are not shared do not exist in Drive
        raise _no_file(file_id) from refusal


def _wanted_title(request: DriveRequest) -> str:
    """Return the name of the new file, or "" if the request has no name.

    Raises a 501 for another file type, and a 404 for another folder than `root`.
    """
    try:
        wanted = msgspec.convert(decode_object(request.body), WantedFile)
    except msgspec.ValidationError as error:
        raise invalid(f"Invalid value: {error}") from error
    if (wanted.mime_type or SHEET_TYPE) != SHEET_TYPE:
        raise unimplemented(f"files of the type '{wanted.mime_type}'")
    for folder in wanted.parents or ():
        if folder != ROOT:
            raise _no_file(folder)
    return wanted.name or ""


def _kept(drive: Drive, workbook: Workbook) -> Answer:
    drive.store.keep(workbook)
    drive.times.note(drive.store.workbooks, drive.moment)
    return _masked(drive, _file(drive, workbook), FILE_FIELDS)


def _file(drive: Drive, workbook: Workbook) -> Reply:
    time = drive.times.known[workbook.spreadsheet_id]
    return {
        "kind": "drive#file",
        "id": workbook.spreadsheet_id,
        "name": workbook.title,
        "mimeType": SHEET_TYPE,
        "createdTime": _printed(time.created),
        "modifiedTime": _printed(time.modified),
        "trashed": False,
        "parents": [ROOT],
    }


def _printed(moment: float) -> str:
    text = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _terms(query: str) -> Iterator[tuple[str, object]]:
    """Parse a search such as `name = 'a' and trashed = false`. Yields each member and its value.

    Raises a 501 for an unsupported search.
    """
    position = 0
    while position < len(query):
        match = TERM.match(query, position)
        if match is None:
            raise unimplemented(f"the search '{query}' of Google Drive")
        name, value = match["name"], match["value"]
        if value[0] in QUOTES:
            yield name, ESCAPED.sub(r"\1", value[1:-1]) if name != "parents" else [value[1:-1]]
        else:
            yield name, value == "true"
        position = match.end()


def _masked(drive: Drive, found: Reply, usual: str) -> Answer:
    return json_answer(cut(found, read_mask(drive.request.parameter("fields", usual))))


def _no_file(file_id: str) -> Refusal:
    return Refusal(code=404, message=f"File not found: {file_id}.")


def _error(refusal: Refusal) -> object:
    reason = REASONS.get(refusal.code, "backendError")
    inner = {"message": refusal.message, "domain": "global", "reason": reason}
    return {"error": {"code": refusal.code, "message": refusal.message, "errors": [inner]}}


CALLS: Mapping[tuple[str, str], Callable[[Drive, str], Answer]] = {
    ("GET", FILES): _list,
    ("POST", FILES): _create,
    ("GET", f"{FILES}/([^/]+)"): _get,
    ("DELETE", f"{FILES}/([^/]+)"): _delete,
    ("POST", f"{FILES}/([^/]+)/copy"): _copy,
    ("GET", f"{FILES}/([^/]+)/permissions"): _permissions,
    ("GET", f"{FILES}/([^/]+)/comments"): _comments,
}
