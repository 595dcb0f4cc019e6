"""Creates of a key that may only create: no answer has anything of the sheet.

Rules
- The answer has the sent fields that were stored, with the values as sent. It has no number, path
  or tag of the row, and no cell as it is displayed.
- Whatever fails once the request was parsed may quote the sheet. Its text is replaced by a fixed
  one; of its problems only the names that the client sent remain.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from gateway.errors import (
    CreateOnlyKey,
    GatewayError,
    Outcome,
    Problem,
    SpreadsheetNotShared,
    write_outcome,
)
from gateway.table.record import WHOLE_BODY, pointer
from gateway.web.answers import Answer, json_answer, written_headers
from gateway.worksheets.idempotency import Settled
from gateway.worksheets.writes import Fields

_OUTCOMES: Mapping[Outcome, str] = {
    "applied": "The row was stored. Do not send it again.",
    "unknown": "It is not known whether the row was stored. Sent again with its Idempotency-Key, "
    "it is not stored twice.",
}
_NO_ACCESS = "The gateway cannot use this spreadsheet. Tell its operator."
_FIELD = "The key has no such field to write, or the field does not take this value."


async def create_only(
    sent: Fields | Sequence[Fields],
    run: Callable[[], Awaitable[tuple[object, object, Settled]]],
) -> Answer:
    """Create the sent row by `run`. Raises CreateOnlyKey for a list, else errors without rows."""
    if not isinstance(sent, Mapping):
        raise CreateOnlyKey
    try:
        *_, settled = await run()
    except GatewayError as error:
        text = _OUTCOMES.get(write_outcome(error)) or error.description().replace("`", "'")
        known = {pointer(name) for name in sent}
        error.hide_sheet(
            _NO_ACCESS if isinstance(error, SpreadsheetNotShared) else text,
            [
                Problem(each.pointer if each.pointer in known else WHOLE_BODY, _FIELD)
                for each in error.problems
            ],
        )
        raise
    (written,) = settled.results
    stored = {name: value for name, value in sent.items() if name not in written.ignored}
    return json_answer(stored, status=201, headers=written_headers(settled), rows=1)
