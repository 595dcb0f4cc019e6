"""Identity of an idempotent write: scope and body fingerprint."""

from dataclasses import dataclass

from gateway.worksheets.worksheet_id import WorksheetId


@dataclass(frozen=True, kw_only=True)
class WriteIdentity:
    """Requests of one `scope` are one write; of another `fingerprint`, they are a mistake.

    `scope` is a digest of API key, Idempotency-Key, method, path and spreadsheet, `fingerprint`
    one of the body. `is_create`: the write adds rows to the worksheet. `texts` are the long ones
    of the body, of which its record keeps digests only.
    """

    scope: str
    fingerprint: str
    worksheet: WorksheetId
    key_id: str
    is_create: bool
    texts: frozenset[str] = frozenset()
