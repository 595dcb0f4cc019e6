"""How the command line shows the keys that there are: never the key itself."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.access.store import KeyRecord


def described(record: "KeyRecord") -> dict[str, object]:
    """A key as an object of JSON."""
    return {
        "id": record.id,
        "name": record.name,
        "last4": record.last4,
        "plan": record.plan,
        "spreadsheets": _listed(record.spreadsheets),
        "worksheets": _listed(record.worksheets),
        "columns": _listed(record.columns.readable),
        "writableColumns": _listed(record.columns.writable),
        "formulas": record.formulas,
        "readOnly": record.read_only,
        "origins": _listed(record.origins),
        "createdAt": _moment(record.created_at),
        "expiresAt": _moment(record.expires_at),
        "revokedAt": _moment(record.revoked_at),
        "lastUsedAt": _moment(record.last_used_at),
        "state": _state(record),
    }


def line_of(record: "KeyRecord") -> str:
    """A key in one line: the hour of its last use, and the columns it is kept to."""
    used = "never used" if record.last_used_at is None else f"{record.last_used_at:%Y-%m-%d %Hh}"
    return (
        f"{record.id}  …{record.last4}  {_state(record):8} {record.plan:8} {used:14} {record.name}"
        f"{_columns(record)}"
    )


def _columns(record: "KeyRecord") -> str:
    readable, writable = record.columns.readable, record.columns.writable
    if readable is None and writable is None:
        return ""
    writes = "" if writable is None else f"; writes {_quoted(writable)}"
    return f"  [columns: {_quoted(readable)}{writes}]"


def _quoted(names: frozenset[str] | None) -> str:
    """Names of fields, which may hold blanks, commas and ends of lines."""
    if names is None:
        return "all"
    return ", ".join(json.dumps(name, ensure_ascii=False) for name in sorted(names))


def _state(record: "KeyRecord") -> str:
    if record.revoked_at is not None:
        return "revoked"
    is_expired = record.expires_at is not None and record.expires_at <= datetime.now(UTC)
    return "expired" if is_expired else "active"


def _listed(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _moment(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()
