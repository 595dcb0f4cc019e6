"""Writes of all kinds to a worksheet of three rows, each with a row that a stranger updates."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HEADER = ("id", "note", "group", "key")
ROWS = (
    ("id:1", "note:1", "group:0", "key:1"),
    ("id:2", "note:2", "group:1", "key:2"),
    ("id:3", "note:3", "group:0", "key:3"),
)
TEXT = "\n".join(",".join(cells) for cells in (HEADER, *ROWS)) + "\n"


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A request, and the number of a row that it concerns."""

    name: str
    method: str
    row: int
    suffix: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    body: object = None


NOTE = {"note": "note:killed"}
WHERE = {"where": json.dumps({"group": "group:0"})}
VERBS: Sequence[Verb] = (
    Verb(name="create", method="POST", row=4, body={"id": "id:new", **NOTE}),
    Verb(name="update", method="PATCH", row=3, suffix="/3", body=NOTE),
    Verb(
        name="list of updates",
        method="PATCH",
        row=3,
        body=[{"rowIndex": row, **NOTE} for row in (2, 3)],
    ),
    Verb(name="delete", method="DELETE", row=3, suffix="/3"),
    Verb(name="update by filter", method="PATCH", row=2, parameters=WHERE, body=NOTE),
    Verb(name="delete by filter", method="DELETE", row=2, parameters=WHERE),
    Verb(
        name="upsert",
        method="POST",
        row=3,
        parameters={"on_conflict": "key"},
        body={"key": "key:2", **NOTE},
    ),
)
