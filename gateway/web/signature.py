"""Signatures of operations: the rights, parameters and preferences of each.

Rules: an operation takes the parameters of its signature and the parameters for credentials. A
parameter of another operation is an error, before rows are read or written. `HEAD` has the
signatures of `GET`. `OPTIONS` and paths without operations ignore all parameters.
"""

from dataclasses import dataclass, field
from typing import Final

from gateway.storage.key_store import Right
from gateway.telemetry.events import RequestKind

KEY_PARAMETER = "apiKey"
SPREADSHEET_PARAMETER = "spreadsheetId"
METHOD_PARAMETER = "_method"
CREDENTIALS: Final = (KEY_PARAMETER, SPREADSHEET_PARAMETER)
WHERE = "where"
ON_CONFLICT = "on_conflict"
MAX_AFFECTED = "max-affected"
RESOLUTION = "resolution"
VALUES = "values"
CURSOR = "cursor"
FORMAT = "format"
FORMULAS = "formulas"
READ_PARAMETERS = (WHERE, "order", "skip", "limit", CURSOR, "keys", "count", VALUES, "no-cache")
PARAMETERS: Final = (*READ_PARAMETERS, ON_CONFLICT, MAX_AFFECTED, FORMAT, FORMULAS)
BRACKETED: Final = (WHERE, "order", "keys", ON_CONFLICT)
"""Parameters that clients can also send with brackets, such as `keys[]=name`."""
SELECTING: Final = (WHERE, ON_CONFLICT)
"""Parameters that select rows. They are an error in any other write, even if they are empty."""


@dataclass(frozen=True, kw_only=True)
class Signature:
    """Rights that an operation needs, and names of its parameters and preferences."""

    kind: RequestKind = "other"
    """Name of the operation in log and metrics."""
    noun: str
    """Name of the operation in messages."""
    writes: tuple[Right, ...] = ()
    """Rights to write that the operation needs; empty for a read."""
    is_for_create_only: bool = False
    """True if create-only keys can use the operation."""
    parameters: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    hint: str = ""
    """Advice in the error for a parameter of another operation."""
    ignores_unknown_parameters: bool = False
    """True if the operation, which returns no rows, ignores unknown parameters such as `page`."""
    is_write: bool = field(init=False)
    names: frozenset[bytes] = field(init=False)
    """Names of the parameters, as bytes."""
    brackets: tuple[bytes, ...] = field(init=False)
    """Beginnings of parameters with brackets, such as `where[`, as bytes."""

    def __post_init__(self) -> None:
        brackets = (f"{name}[" for name in self.parameters if name in BRACKETED)
        object.__setattr__(self, "is_write", bool(self.writes))
        object.__setattr__(self, "names", frozenset(map(str.encode, self.parameters)))
        object.__setattr__(self, "brackets", tuple(map(str.encode, brackets)))

    def refusal(self, parameter: str) -> str:
        """Return the message for a parameter of another operation."""
        # Nearly all operations take `values`: the message names it only without other parameters.
        own = [each for each in self.parameters if each != VALUES] or self.parameters
        taken = " and ".join(filter(None, [", ".join(own[:-1]), *own[-1:]]))
        return (
            f"{parameter} is not a parameter of {self.noun}, which takes {taken or 'none'}. "
            f"{self.hint}"
        )


ANY: Final = Signature(noun="any operation", parameters=PARAMETERS)
"""All parameters, for requests whose operation is not known yet."""
DESCRIPTION: Final = Signature(
    noun="the description",
    parameters=PARAMETERS,
    ignores_unknown_parameters=True,
    is_for_create_only=True,
)
"""Signature of `/openapi.json`, which uses `values` and credentials.

It refuses misspelt parameters, and ignores the others.
"""
