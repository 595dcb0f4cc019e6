"""Keys as the command line shows them: never the key itself."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.storage.key_store import KeyRecord


_HEADER = ("ID", "ENDS IN", "STATE", "PLAN", "MAY", "LAST USED", "EXPIRES", "NAME", "KEPT TO")


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


def created_lines(key_id: str, key: str, *, is_terminal: bool) -> str:
    """A new key: what is what for a person at a terminal, one line of both for a script."""
    if not is_terminal:
        return f"{key_id}  {key}"
    return f"id   {key_id}\nkey  {key}  (shown this once)"


def listing(records: Sequence["KeyRecord"]) -> Iterator[str]:
    """The keys as a table with a header: what each may do, and the hour of its last use."""
    rows = [_HEADER, *map(_row, records)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
    if not records:
        yield "There is none yet; make one: sheets-gateway keys create"


def _row(record: "KeyRecord") -> Sequence[str]:
    return (
        record.id,
        f"…{record.last4}",
        _state(record),
        record.plan,
        "read" if record.read_only else "read, write",
        _hour(record.last_used_at),
        "never" if record.expires_at is None else f"{record.expires_at:%Y-%m-%d %H:%M}",
        record.name,
        "; ".join(_grants(record)),
    )


def _hour(instant: datetime | None) -> str:
    return "never" if instant is None else f"{instant:%Y-%m-%d %Hh}"


def _grants(record: "KeyRecord") -> Iterator[str]:
    """What the key is kept to; what is not named here is all."""
    named = record.spreadsheets
    yield "any spreadsheet" if named is None else f"spreadsheets: {', '.join(sorted(named))}"
    if record.worksheets is not None:
        yield f"worksheets: {_quoted(record.worksheets)}"
    if record.columns.readable is not None:
        yield f"columns: {_quoted(record.columns.readable)}"
    if record.columns.writable is not None:
        yield f"writes: {_quoted(record.columns.writable)}"
    if record.formulas:
        yield "formulas"
    if record.origins:
        yield f"origins: {', '.join(sorted(record.origins))}"


def _quoted(names: frozenset[str]) -> str:
    """Names of worksheets and fields, which may hold blanks, commas and ends of lines."""
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
