"""How the command line shows the keys that there are: never the key itself."""

from collections.abc import Mapping
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
        "readOnly": record.read_only,
        "origins": _listed(record.origins),
        "createdAt": _moment(record.created_at),
        "expiresAt": _moment(record.expires_at),
        "revokedAt": _moment(record.revoked_at),
        "state": _state(record),
    }


def line_of(record: Mapping[str, object]) -> str:
    """A key that was described, in one line."""
    key_id, last4, name = record["id"], record["last4"], record["name"]
    return f"{key_id}  …{last4}  {record['state']:8} {record['plan']:8} {name}"


def _state(record: "KeyRecord") -> str:
    if record.revoked_at is not None:
        return "revoked"
    is_expired = record.expires_at is not None and record.expires_at <= datetime.now(UTC)
    return "expired" if is_expired else "active"


def _listed(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _moment(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()
