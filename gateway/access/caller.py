"""The caller of a request and its grants, decided before any cache or call to Google.

Rules:
- A key may do only what it was granted; "any" is `None`, never an empty set.
- The spreadsheet is checked first; one without a grant gets the same answer as a missing one.
- No refusal reveals whether a spreadsheet or worksheet exists.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gateway import errors
from gateway.settings.plans import PlanSettings
from gateway.storage.key_store import Grants, Right
from gateway.table.a1 import id_in, is_spreadsheet_id
from gateway.table.header import IfMatch
from gateway.worksheets.access import Access, Target, WorksheetId

READ_METHODS = ("GET", "HEAD", "OPTIONS")

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[0-9]{1,5}))?",
    re.IGNORECASE | re.ASCII,
)
_WEB_URL = re.compile(r"(https?://[^/?#]+)([/?#][\x21-\x5b\x5d-\x7e]*)?", re.IGNORECASE | re.ASCII)
"""Browsers read a backslash as a slash, and drop control characters and blanks."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The holder of a valid key; `key_id` and `name` may be logged."""

    key_id: str
    name: str
    plan_name: str
    plan: PlanSettings
    grants: Grants
    expires: bool = False
    """True if the key has an expiry."""


def authorise(
    caller: Caller, *, spreadsheet: str | None, worksheet: str, writes: Sequence[Right] = ()
) -> Target:
    """The worksheet of a request, if the caller may read it, and has these rights to write.

    The worksheet "" is the spreadsheet itself. A missing grant is reported before a limit of the
    plan. If `spreadsheet` is None or blank, the only granted one is used, if there is exactly one.
    """
    grants, found = caller.grants, granted_spreadsheet(caller.grants, spreadsheet)
    if worksheet and grants.worksheets is not None and worksheet not in grants.worksheets:
        raise errors.NotGranted(
            "This key may not use a worksheet of this name. Ask the gateway's operator for a key "
            "that was granted it, and mind capitals and blanks: names match exactly, except for "
            "their Unicode form (NFC or NFD)."
        )
    if writes:
        if not all(getattr(grants, f"may_{right}") for right in writes):
            if not {*grants.rights} - {"read"}:
                raise errors.ReadOnlyKey(allowed_methods=READ_METHODS)
            raise errors.NotGranted(
                f"This operation needs the right to {' and '.join(writes)} rows, which this key "
                "does not have. Ask the gateway's operator for a key with it."
            )
        if not caller.plan.writes:
            raise _not_in_plan(caller, "writes", "Ask")
    access = Access(key_id=caller.key_id, titles=grants.worksheets, columns=grants.columns)
    return Target(WorksheetId(found, worksheet), access)


def check_origin(caller: Caller, origin: str | None) -> None:
    """Refuse a browser's `Origin` that the key does not allow; requests without one pass."""
    allowed = caller.grants.origins
    if origin is None or not allowed or normal_origin(origin) in allowed:
        return
    raise errors.OriginNotAllowed(
        "This key may not be used by pages of this origin. Ask the gateway's operator to make a "
        "key for it; an origin is scheme, host and port, as in https://example.org."
    )


def _not_in_plan(caller: Caller, what: str, instead: str) -> errors.PlanLimit:
    return errors.PlanLimit(
        f"The plan '{caller.plan_name}' of this key does not include {what}. {instead} the "
        "gateway's operator for another plan."
    )


def check_query(caller: Caller, *, uses_where: bool, uses_order: bool) -> None:
    """Refuse `where` and `order` on a plan without them: dropping them would show other rows."""
    used = [name for name, is_used in (("'where'", uses_where), ("'order'", uses_order)) if is_used]
    if used and not caller.plan.where_and_order:
        raise _not_in_plan(caller, " and ".join(used), "Leave it out, or ask")


def rights_of(caller: Caller) -> tuple[Right, ...]:
    """The rights of a key that its plan allows, in the order of `RIGHTS`."""
    allowed = {"read": True, "delete": caller.plan.writes and caller.plan.deletes}
    return tuple(each for each in caller.grants.rights if allowed.get(each, caller.plan.writes))


def may_delete(caller: Caller) -> bool:
    """True if the key has the right to delete, and its plan allows it."""
    return caller.grants.may_delete and caller.plan.deletes


def check_filter(caller: Caller) -> None:
    """Refuse a write by filter on a plan without them."""
    if not caller.plan.where_and_order or caller.plan.max_affected == 0:
        instead = "Name the rows by their rowIndex, or ask"
        raise _not_in_plan(caller, "writes by filter", instead)


def check_export(caller: Caller) -> None:
    """Refuse an export on a plan without them."""
    if caller.plan.max_export_rows == 0:
        raise _not_in_plan(caller, "exports", "List the rows page by page, or ask")


def check_conditional(caller: Caller, condition: IfMatch | None, *, verb: str = "update") -> None:
    """Refuse an update or delete of any state of a row if the plan requires conditions."""
    if caller.plan.require_if_match and (condition is None or condition.is_any):
        raise errors.PreconditionRequired(
            f"The plan '{caller.plan_name}' of this key requires If-Match with the row's ETag "
            f"for every {verb}; 'If-Match: *' does not count. Read the row and send its ETag."
        )


def check_unconditional(caller: Caller) -> None:
    """Refuse a write to several rows, which has no conditions, if the plan requires them."""
    if caller.plan.require_if_match:
        raise errors.PreconditionRequired(
            f"The plan '{caller.plan_name}' of this key requires If-Match with the row's "
            "ETag, so a request may write to one row only. Send a request for each row, with "
            "its ETag."
        )


def granted_spreadsheet(grants: Grants, spreadsheet: str | None) -> str:
    """ID of the requested spreadsheet, if granted; without a request, of the only granted one."""
    granted = grants.spreadsheets
    if not spreadsheet:
        if granted is not None and len(granted) == 1:
            return next(iter(granted))
        raise errors.InvalidSpreadsheetId(
            "The request names no spreadsheet. Send its ID in the header X-Spreadsheet-Id or "
            "in the query parameter spreadsheetId; it stands in the spreadsheet's URL "
            "between /d/ and /edit."
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
    """An origin (RFC 6454) as `scheme://host[:port]` in lower case without default port.

    None for any other text.
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
    """The origin of a whole http(s) URL, and the URL beginning with it; None for any other text.

    All parsers read the URL alike: it has no user, backslash or blank, and its origin is normal.
    """
    match = _WEB_URL.fullmatch(text)
    origin = None if match is None else normal_origin(match[1])
    return None if match is None or origin is None else (origin, origin + (match[2] or "/"))
