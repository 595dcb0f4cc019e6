"""Tables and JSON of the commands `keys`: API keys, their use, and the log of their edits."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from gateway.access.issue import restrictions
from gateway.storage.key_store import KeyEdit, KeyRecord
from gateway.table.quoting import printable
from gateway.telemetry.events import USE

KEY_HEADER = ("ID", "ENDS IN", "STATE", "PLAN", "MAY", "LAST USED", "EXPIRES", "NAME", "LIMITED TO")
USE_HEADER = ("HOUR", "KEY", "REQUESTS", "REFUSED", "READS", "WRITES", "ROWS", "BYTES", "NAME")
USE_PLACE = ("hour", "key_id", "code")
"""Columns by which `KeyStore.usage` groups its sums for `keys report`."""
EDIT_HEADER = ("AT", "KEY", "BY", "ACTION", "CHANGES")

Row = Sequence[str]
"""Cells of one row of a table."""


def aligned(header: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table, in which each column is as wide as its longest cell."""
    shown = [header, *([*map(printable, row)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def key_row(record: KeyRecord) -> Row:
    """Return the cells of a key for a table with `KEY_HEADER`."""
    now = datetime.now(UTC)
    return (
        record.id,
        f"…{record.last4}{' + old' if record.old_secret_until(now) else ''}",
        record.state(now),
        record.plan,
        ", ".join([*record.grants.rights, *(["refresh"] if record.grants.may_refresh else [])]),
        "never" if record.last_used_at is None else f"{record.last_used_at:%Y-%m-%d %Hh}",
        "never" if record.expires_at is None else f"{record.expires_at:%Y-%m-%d %H:%M}",
        record.name,
        "; ".join(restrictions(record, now)),
    )


def key_cells(record: KeyRecord) -> Sequence[Sequence[str]]:
    """Return three cells of a key, each a list of lines, for a terminal of 80 columns."""
    key_id, ends_in, state, plan, rights, used, expires, name, _ = key_row(record)
    return (
        (name, key_id, f"ends in {ends_in}"),
        (state, f"plan {plan}", f"used {used}", f"expires {expires}"),
        (rights, *restrictions(record, datetime.now(UTC))),
    )


def use_rows(members: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
    """Return the result of `use_members` as rows of a table with `USE_HEADER`."""
    return [
        (
            f"{each['hour']:.13}h".replace("T", " "),
            str(each["key"] or "none"),
            str(each["requests"]),
            ", ".join(f"{code}: {count}" for code, count in each["refusals"].items()) or "0",
            *(str(each[name]) for name in USE[1:]),
            each["name"] or ("" if each["key"] else "(no valid key)"),
        )
        for each in members
    ]


def use_members(
    found: Sequence[Mapping[str, Any]], names: Mapping[str, str]
) -> Sequence[Mapping[str, Any]]:
    """Return one JSON object for each hour and key, with numbers of requests, rows and bytes.

    `found` has sums grouped by `USE_PLACE`. `names` has the names of keys by ID. The member `key`
    is null for requests without a valid key.
    """
    members = []
    in_order = sorted(found, key=itemgetter(*USE_PLACE))
    for (hour, key_id), group in groupby(in_order, itemgetter("hour", "key_id")):
        lines = [*group]
        members.append(
            {
                "hour": hour,
                "key": key_id or None,
                "name": names.get(key_id),
                "requests": sum(each["requests"] for each in lines),
                "refusals": {str(each["code"]): each["requests"] for each in lines if each["code"]},
                **{name: sum(each[name] for each in lines) for name in USE[1:]},
            }
        )
    return members


def edit_row(edit: KeyEdit) -> Row:
    """Return an edit as cells for a table with `EDIT_HEADER`.

    The last cell has the old and the new value of each changed field.
    """
    changes = (
        f"{name}: {_short(before)} -> {_short(after)}"
        for name, (before, after) in edit.changes.items()
    )
    return (
        f"{edit.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
        edit.key_id,
        edit.by or "unknown",
        edit.action,
        "; ".join(changes),
    )


def edit_members(edit: KeyEdit) -> Mapping[str, object]:
    """Return an edit of a key as a JSON object."""
    return {
        "at": edit.at.isoformat(),
        "key": edit.key_id,
        "by": edit.by or None,
        "action": edit.action,
        "changes": {name: {"from": old, "to": new} for name, (old, new) in edit.changes.items()},
    }


def printed_json(value: object) -> str:
    """Encode a value as JSON in printable ASCII. `json.dumps` alone does not escape DEL."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
