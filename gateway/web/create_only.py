"""Creates of a key that may only create: no answer has anything of the sheet.

Rules
- The answer has the sent fields that were stored, with the values as sent. It has no number, path
  or tag of the row, and no cell as it is displayed. `gateway.web.forms` makes it.
- Whatever fails once the request was parsed may quote the sheet. Its text is replaced by a fixed
  one; of its problems only the names that the client sent remain.
"""

from collections.abc import Awaitable, Callable, Mapping

from gateway.errors import (
    GatewayError,
    Outcome,
    Problem,
    SpreadsheetNotShared,
    write_outcome,
)
from gateway.table.record import WHOLE_BODY, pointer
from gateway.web.answers import written_headers
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.writes import Fields

_OUTCOMES: Mapping[Outcome, str] = {
    "applied": "The row was stored. Do not send it again.",
    "unknown": "It is not known whether the row was stored. Sent again with its Idempotency-Key, "
    "it is not stored twice.",
}
_REFUSED = "Nothing was stored, because of these fields."
_NO_ACCESS = "The gateway cannot use this spreadsheet. Tell its operator."
_FIELD = "The key has no such field to write, or the field does not take this value."


async def create_only(
    sent: Fields, run: Callable[[], Awaitable[tuple[object, object, Settled]]]
) -> tuple[Fields, Mapping[str, str]]:
    """Create the sent row by `run`. Raises errors without rows.

    Returns the stored fields, and headers of the answer.
    """
    try:
        *_, settled = await run()
    except GatewayError as error:
        text = _OUTCOMES.get(write_outcome(error)) or (
            _REFUSED if error.problems else error.description().replace("`", "'")
        )
        known = {pointer(name) for name in sent}
        hidden = error.without_sheet(
            _NO_ACCESS if isinstance(error, SpreadsheetNotShared) else text,
            [
                Problem(each.pointer if each.pointer in known else WHOLE_BODY, _FIELD)
                for each in error.problems
            ],
        )
        raise hidden from error.__cause__
    (written,) = settled.results
    stored = {name: value for name, value in sent.items() if name not in written.ignored}
    return stored, written_headers(settled)
