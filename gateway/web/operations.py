"""The table of operations: the right, the parameters and the preferences of each.

Rules: an operation takes the parameters of its line, and those for credentials. A parameter of
another operation is refused, before anything is read or written. `HEAD` is as `GET`. Other paths
and `OPTIONS` have no parameters, and ignore all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gateway.access.caller import Operation
from gateway.telemetry.events import RequestKind

KEY_PARAMETER = "apiKey"
SPREADSHEET_PARAMETER = "spreadsheetId"
METHOD_PARAMETER = "_method"
CREDENTIALS: Final = (KEY_PARAMETER, SPREADSHEET_PARAMETER)
WHERE = "where"
ON_CONFLICT = "on_conflict"
MAX_AFFECTED = "max-affected"
RESOLUTION = "resolution"
READ_PARAMETERS = (WHERE, "order", "skip", "limit", "keys", "count", "no-cache")
PARAMETERS: Final = (*READ_PARAMETERS, ON_CONFLICT, MAX_AFFECTED)
BRACKETED: Final = (WHERE, "order", "keys", ON_CONFLICT)
"""Parameters that may have brackets behind their names."""
SELECTING: Final = (WHERE, ON_CONFLICT)
"""Parameters that choose the rows of a write, which count even if they are empty."""


@dataclass(frozen=True, kw_only=True)
class RowOperation:
    """An operation; `hint` says what to do instead if a parameter is not one of its own."""

    noun: str
    right: Operation
    parameters: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    hint: str = ""
    ignores_words: bool = False
    """True if words of other services are no mistake, because no rows are answered."""

    @cached_property
    def names(self) -> frozenset[bytes]:
        return frozenset(name.encode() for name in self.parameters)

    @cached_property
    def brackets(self) -> tuple[bytes, ...]:
        """The beginnings of its parameters with brackets."""
        return tuple(f"{name}[".encode() for name in self.parameters if name in BRACKETED)

    def refusal(self, parameter: str) -> str:
        """The message for a parameter of another operation."""
        taken = " and ".join(filter(None, [", ".join(self.parameters[:-1]), *self.parameters[-1:]]))
        return (
            f"{parameter} is not a parameter of {self.noun}, which takes {taken or 'none'}. "
            f"{self.hint}"
        )


_TO_WRITE_BY_FILTER = "To write to all rows that match, leave the rowIndex out of the path."
_ALL_THAT_MATCH = (
    "A write by filter is for all rows that match: narrow where, or name the rows by their "
    "rowIndex."
)

OPERATIONS: Final[Mapping[RequestKind, RowOperation]] = {
    "list": RowOperation(
        noun="a list", right=Operation.READ, parameters=READ_PARAMETERS, hint="Leave it out."
    ),
    "read": RowOperation(
        noun="a read of one row",
        right=Operation.READ,
        parameters=("keys", "no-cache"),
        hint="For a list of rows, leave the rowIndex out of the path.",
    ),
    "create": RowOperation(
        noun="a create",
        right=Operation.WRITE,
        hint="To update rows, send on_conflict, or PATCH with where or with the row in the path.",
    ),
    "upsert": RowOperation(
        noun="an upsert",
        right=Operation.WRITE,
        parameters=(ON_CONFLICT,),
        preferences=(RESOLUTION,),
        hint="Its rows are those of the body.",
    ),
    "update": RowOperation(
        noun="an update of a row", right=Operation.WRITE, hint=_TO_WRITE_BY_FILTER
    ),
    "update_rows": RowOperation(
        noun="an update of a list", right=Operation.WRITE, hint="Its rows are those of the body."
    ),
    "update_where": RowOperation(
        noun="an update by filter",
        right=Operation.WRITE,
        parameters=(WHERE, MAX_AFFECTED),
        preferences=(MAX_AFFECTED,),
        hint=_ALL_THAT_MATCH,
    ),
    "delete": RowOperation(
        noun="a delete of a row",
        right=Operation.WRITE,
        hint=(
            "A delete names a row in its path, or the rows with where, not both. For a row that "
            "must not have changed, send If-Match with its ETag."
        ),
    ),
    "delete_where": RowOperation(
        noun="a delete by filter",
        right=Operation.WRITE,
        parameters=(WHERE, MAX_AFFECTED),
        preferences=(MAX_AFFECTED,),
        hint=_ALL_THAT_MATCH,
    ),
    "refresh": RowOperation(
        noun="a report of a change", right=Operation.READ, hint="Leave it out."
    ),
}

ANY: Final = RowOperation(noun="any operation", right=Operation.READ, parameters=PARAMETERS)
"""All parameters, for requests whose operation is not known yet."""
DESCRIPTION: Final = RowOperation(
    noun="the description", right=Operation.READ, parameters=PARAMETERS, ignores_words=True
)
"""`/openapi.json`, which ignores all parameters but those for credentials."""
