"""Faults that a test requests: which calls fail, and how.

Rules:
- All members but `call` have defaults. The default of `status` is 503, but null for a fault without
  `text` that has another effect (`drop`, `truncate`, `hold_ms`, `delay_ms`, `edit`). With null, or
  a success status without `text`, the call gets its normal answer.
- Every fault counts all matching calls, even if another fault answers them. A fault applies to
  `times` calls, after `skip` matching calls. If several faults apply, the first in the list is
  used.
- A call with a faulty answer has no effect on data unless `apply` is set. With `late_ms` the effect
  comes after the answer, even without `apply`. `truncate` without `apply` cuts the call's normal
  answer, by at least one byte.
- `hold_ms` delays the effect and the edit. `delay_ms` delays the answer after the effect. A `text`
  with the status null is a 200.
- `match` is searched in the raw body. If the body is JSON, `match` is also searched in the body
  without escapes.
- An `edit` is the body of a batchUpdate, and is validated when posted. An edit requires a
  spreadsheet, so a fault with an edit and `*` does not match `spreadsheets.create`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from sheets_emulator.operations import OPERATIONS
from sheets_emulator.protocol.payload import check
from sheets_emulator.refusal import invalid

EVERY_CALL = "*"
TOKEN = "token"  # noqa: S105 - the name of a call
CALLS = (EVERY_CALL, TOKEN, *OPERATIONS)
FIRST_FAILURE = 400
UNAVAILABLE = 503
BODILESS = (204, 205, 304)
WITHOUT_SPREADSHEET = (TOKEN, "spreadsheets.create")

Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=10 * 60 * 1000)]


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fault as a client posts it. The rules of this module explain the members."""

    call: str
    times: Count = 1
    skip: Count = 0
    apply: bool = False
    status: Annotated[int, msgspec.Meta(ge=200, le=599)] | msgspec.UnsetType | None = msgspec.UNSET
    text: str | None = None
    drop: bool = False
    hold_ms: Milliseconds = 0
    delay_ms: Milliseconds = 0
    late_ms: Milliseconds = 0
    truncate: Count | None = None
    match: str | None = None
    edit: dict[str, object] | None = None

    @property
    def code(self) -> int | None:
        """HTTP status of the fault's answer, or None if the call gets its normal answer."""
        if self.status is msgspec.UNSET:
            is_else = self.drop or self.hold_ms or self.delay_ms or self.edit is not None
            is_else = is_else or self.truncate is not None
            return UNAVAILABLE if self.text is not None or not is_else else None
        is_success = self.status is not None and self.status < FIRST_FAILURE
        return None if is_success and self.text is None else self.status

    @property
    def is_failing(self) -> bool:
        """True if the answer differs from the call's normal answer."""
        return self.drop or self.code is not None or self.text is not None

    @property
    def has_effect(self) -> bool:
        """True if the call takes effect before its answer."""
        is_faulty = self.is_failing or self.truncate is not None
        return not self.late_ms and (self.apply or not is_faulty)

    def matches(self, name: str, body: bytes) -> bool:
        is_meant = self.call == name or (self.call == EVERY_CALL and name != TOKEN)
        if self.edit is not None and name in WITHOUT_SPREADSHEET:
            is_meant = False
        return is_meant and (self.match is None or _holds(body, self.match.encode()))


@dataclass(kw_only=True)
class Pending:
    """A posted fault. `seen` counts matching calls, and `used` the calls with this fault."""

    fault: Fault
    seen: int = 0
    used: int = 0


@dataclass(kw_only=True)
class Faults:
    pending: list[Pending] = field(default_factory=list)

    def replace(self, faults: Sequence[Fault]) -> None:
        self.pending = [Pending(fault=fault) for fault in faults]

    def take(self, name: str, body: bytes) -> Fault:
        """Return the fault for a call, and count the call. Returns `NONE` if no fault applies."""
        chosen = None
        for each in self.pending:
            if each.fault.matches(name, body):
                each.seen += 1
                is_due = each.seen > each.fault.skip and each.used < each.fault.times
                chosen = each if chosen is None and is_due else chosen
        if chosen is None:
            return NONE
        chosen.used += 1
        return chosen.fault


def _holds(body: bytes, text: bytes) -> bool:
    """True if the body contains the text. Escapes of non-ASCII characters in JSON do not matter."""
    if text in body:
        return True
    try:
        return text in msgspec.json.encode(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


NONE = Fault(call=EVERY_CALL, status=None)


def read_faults(body: bytes) -> list[Fault]:
    """Parse the body of `POST /_emulator/faults`. Raises a 400 if the body is invalid."""
    try:
        faults = msgspec.json.decode(body, type=list[Fault])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid(f"Invalid list of faults: {error}") from error
    return [_checked(fault) for fault in faults]


def _checked(fault: Fault) -> Fault:
    """Validate a fault, and convert its edit to Google's form.

    Raises a 400 if the fault is invalid.
    """
    if fault.call not in CALLS:
        raise invalid(f"Unknown call {fault.call!r}. Calls are {', '.join(CALLS)}.")
    if fault.text is not None and fault.code in BODILESS:
        raise invalid(
            f"An answer with the status {fault.code} cannot have a text. Remove the text."
        )
    if fault.edit is None:
        return fault
    if fault.call in WITHOUT_SPREADSHEET:
        raise invalid(f"The call {fault.call!r} has no spreadsheet to edit. Remove the edit.")
    edit = dict(check("BatchUpdateSpreadsheetRequest", fault.edit))
    return msgspec.structs.replace(fault, edit=edit)
