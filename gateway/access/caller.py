"""Caller of a request, and checks of its key's grants before any cache or call to Google.

Rules:
- A key can use only what its grants name. `None` grants all spreadsheets, worksheets or columns;
  an empty set grants none.
- The spreadsheet is checked first. A spreadsheet without a grant gets the same answer as a
  spreadsheet that does not exist.
- No error reveals whether a spreadsheet or worksheet exists.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway import errors
from gateway.settings.model import PlanSettings
from gateway.storage.key_store import Grants, KeyRecord, Right
from gateway.table.a1 import id_in, is_spreadsheet_id
from gateway.table.header import IfMatch
from gateway.worksheets.access import Access, Target, WorksheetId

READ_METHODS = ("GET", "HEAD", "OPTIONS")

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
_WEB_URL = re.compile(r"(https?://[^/?#]+)([/?#][\x21-\x5b\x5d-\x7e]*)?", re.IGNORECASE | re.ASCII)
"""URL without fragment, backslash, control character or blank, which browsers would rewrite."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Holder of a valid key. The grants of `key` are as requests use them (`caller_of`)."""

    key: KeyRecord
    plan: PlanSettings


def authorise(
    caller: Caller, *, spreadsheet: str | None, worksheet: str, writes: Sequence[Right] = ()
) -> Target:
    """Check that a caller can use a worksheet with the rights `writes`. Returns the worksheet.

    `worksheet` "" stands for the spreadsheet itself. If `spreadsheet` is None or "", the only
    granted spreadsheet is used. Errors of grants come before errors of the plan.
    """
    grants = caller.key.grants
    found = granted_spreadsheet(grants, spreadsheet)
    if worksheet and grants.worksheets is not None and worksheet not in grants.worksheets:
        raise errors.NotGranted(
            "This key is not allowed to use a worksheet with this name; capitals and blanks count. "
            "Correct the name, or ask the gateway's operator for a key for this worksheet."
        )
    if writes:
        if not all(getattr(grants, f"may_{right}") for right in writes):
            if not {*grants.rights} - {"read"}:
                raise errors.ReadOnlyKey(allowed_methods=READ_METHODS)
            raise errors.NotGranted(
                f"This operation needs the right to {' and '.join(writes)} rows, which this key "
                "does not have. Ask the gateway's operator for a key with this right."
            )
        if not caller.plan.writes:
            raise _not_in_plan(caller, "writes", "Ask")
    access = Access(key_id=caller.key.id, titles=grants.worksheets, columns=grants.columns)
    return Target(WorksheetId(found, worksheet), access)


def check_origin(caller: Caller, origin: str) -> None:
    """Raise OriginNotAllowed if the key does not allow `origin`, the header of the request."""
    allowed = caller.key.grants.origins
    if not allowed or normal_origin(origin) in allowed:
        return
    raise errors.OriginNotAllowed(
        "Web pages of this origin are not allowed to use this key. Ask the gateway's operator for "
        "a key that allows the origin (scheme, host and port, such as https://example.org)."
    )


def _not_in_plan(caller: Caller, what: str, instead: str) -> errors.PlanLimit:
    return errors.PlanLimit(
        f"The plan '{caller.key.plan}' of this key does not include {what}. {instead} the "
        "gateway's operator for another plan."
    )


def check_query(caller: Caller, *, uses_where: bool, uses_order: bool) -> None:
    """Raise PlanLimit if the request uses `where` or `order`, and the plan does not allow it."""
    used = [name for name, is_used in (("'where'", uses_where), ("'order'", uses_order)) if is_used]
    if used and not caller.plan.where_and_order:
        raise _not_in_plan(caller, " and ".join(used), "Leave it out, or ask")


def rights_of(caller: Caller) -> tuple[Right, ...]:
    """Return the rights of a key that its plan allows, in the order of `RIGHTS`."""
    allowed = {"read": True, "delete": caller.plan.writes and caller.plan.deletes}
    return tuple(each for each in caller.key.grants.rights if allowed.get(each, caller.plan.writes))


def may_delete(caller: Caller) -> bool:
    """True if the key and its plan allow deleting rows."""
    return caller.key.grants.may_delete and caller.plan.deletes


def check_filter(caller: Caller) -> None:
    """Raise PlanLimit if the plan does not include writes by filter."""
    if not caller.plan.where_and_order or caller.plan.max_affected == 0:
        instead = "Name the rows by their rowIndex, or ask"
        raise _not_in_plan(caller, "writes by filter", instead)


def check_export(caller: Caller) -> None:
    """Raise PlanLimit if the plan does not include exports."""
    if caller.plan.max_export_rows == 0:
        raise _not_in_plan(caller, "exports", "List the rows page by page, or ask")


def check_conditional(caller: Caller, condition: IfMatch | None, *, verb: str = "update") -> None:
    """Raise PreconditionRequired if the plan requires an ETag and `condition` has none.

    `verb` names the operation in the message.
    """
    if caller.plan.require_if_match and (condition is None or condition.is_any):
        raise errors.PreconditionRequired(
            f"The plan '{caller.key.plan}' of this key requires If-Match with the row's ETag "
            f"for every {verb}; 'If-Match: *' does not count. Read the row and send its ETag."
        )


def check_unconditional(caller: Caller) -> None:
    """Raise PreconditionRequired for a write to several rows if the plan requires ETags."""
    if caller.plan.require_if_match:
        raise errors.PreconditionRequired(
            f"The plan '{caller.key.plan}' of this key requires If-Match with the row's "
            "ETag, so a request can write to one row only. Send a request for each row, with "
            "its ETag."
        )


def granted_spreadsheet(grants: Grants, spreadsheet: str | None) -> str:
    """Return the ID of the requested spreadsheet, or by default of the key's only spreadsheet.

    Raises InvalidSpreadsheetId, or SpreadsheetNotFound for a spreadsheet without a grant.
    """
    granted = grants.spreadsheets
    if not spreadsheet:
        if granted is not None and len(granted) == 1:
            return next(iter(granted))
        raise errors.InvalidSpreadsheetId(
            "The request names no spreadsheet. Send its ID in the header X-Spreadsheet-Id or "
            "in the query parameter spreadsheetId; the ID is in the spreadsheet's URL between "
            "/d/ and /edit."
        )
    if not is_spreadsheet_id(spreadsheet):
        if found := id_in(spreadsheet):
            raise errors.InvalidSpreadsheetId(
                "This is the URL of a spreadsheet. Send only its ID, the part between /d/ and "
                f"/edit: {found}"
            )
        raise errors.InvalidSpreadsheetId(
            "Invalid spreadsheet ID: an ID is 1 to 128 letters, digits, '-' and '_'. Take it "
            "from the spreadsheet's URL, between /d/ and /edit."
        )
    if granted is not None and spreadsheet not in granted:
        raise errors.SpreadsheetNotFound
    return spreadsheet


def normal_origin(text: str) -> str | None:
    """Normalise an origin (RFC 6454) to lower-case `scheme://host[:port]`, without a default port.

    Returns None for any other text.
    """
    match = _ORIGIN.fullmatch(text)
    if match is None:
        return None
    scheme, host = match["scheme"].lower(), match["host"].lower()
    port = int(match["port"]) if match["port"] else _DEFAULT_PORTS.get(scheme)
    if port is not None and not 0 < port < 65536:
        return None
    shown = "" if port == _DEFAULT_PORTS.get(scheme) else f":{port}"
    return f"{scheme}://{host}{shown}"


def web_url(text: str) -> tuple[str, str] | None:
    """Parse an absolute http(s) URL. Returns its normal origin, and the URL with this origin.

    Returns None for any other text, and for a URL with a user, a backslash or a blank, because
    parsers disagree about these URLs.
    """
    match = _WEB_URL.fullmatch(text)
    origin = None if match is None else normal_origin(match[1])
    return None if match is None or origin is None else (origin, origin + (match[2] or "/"))
