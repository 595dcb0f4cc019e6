"""Pages of keys: the list, and the forms to make, change, rotate and revoke one.

Rules
- A key is shown once, on the answer to the form that made it. No URL has it, and `no-store` keeps
  it out of the history.
- The form of a new key has the ID of the key, so that sending it again makes no second one.
- A form sends texts. Lists that were not changed stay as they are, whatever their names contain.
"""

from datetime import datetime

from gateway.admin.pages import AdminRequest, Page, url
from gateway.storage.key_store import KeyRecord


async def keys_page(asked: AdminRequest) -> Page:
    now = asked.acting.now()
    rows = [_shown(record, now) for record in await asked.acting.keys()]
    active = sum(row["state"] == "active" for row in rows)
    return Page(template="keys.html", values={"keys": rows, "active": active})


def _shown(record: KeyRecord, now: datetime) -> dict[str, object]:
    grants = record.grants
    state = record.state(now)
    sheets = grants.spreadsheets
    limits = ["any spreadsheet" if sheets is None else _names("spreadsheet", sheets)]
    for noun, names in (
        ("worksheet", grants.worksheets),
        ("column", grants.columns.readable),
        ("writable column", grants.columns.writable),
        ("origin", grants.origins or None),
    ):
        if names is not None:
            limits.append(_names(noun, names))
    rights = ("read", "create", "update", "delete", "refresh")
    return {
        "id": record.id,
        "name": record.name,
        "last4": record.last4,
        "plan": record.plan,
        "state": state,
        "may": ", ".join(each for each in rights if getattr(grants, f"may_{each}")),
        "limits": limits,
        "created": f"{record.created_at:%Y-%m-%d}",
        "used": f"{record.last_used_at:%Y-%m-%d}" if record.last_used_at else "",
        "expires": f"{record.expires_at:%Y-%m-%d}" if record.expires_at else "",
        "data": url("/data", key=record.id) if state == "active" else "",
    }


def _names(noun: str, names: frozenset[str]) -> str:
    """A few names, else their number."""
    shown = ", ".join(sorted(names))
    return f"{noun} {shown}" if len(names) <= 3 and len(shown) <= 60 else f"{len(names)} {noun}s"
