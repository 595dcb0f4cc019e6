"""Idempotency-Key: digests by which a repeated write is recognised; header of replayed answers.

Rules: writes with the same scope (API key, Idempotency-Key, method, worksheet, row) are the same
write. Their fingerprints, which are digests of the body, must be equal too, otherwise the
repetition is an error.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from gateway.errors import InvalidIdempotencyKey
from gateway.table.record import Stored
from gateway.web.admission import Admitted
from gateway.web.request import Request
from gateway.worksheets.access import Target
from gateway.worksheets.replay import long_texts
from gateway.worksheets.writes import Fields, FormFields, WriteIdentity

IDEMPOTENCY_KEY = "Idempotency-Key"
HEADER = IDEMPOTENCY_KEY.lower().encode()
_OTHER_HEADER = b"x-idempotency-key"
"""Header of other services. If it were ignored, a repetition would write twice."""
REPLAYED: Mapping[str, str] = {"Idempotent-Replayed": "true"}
"""Header of an answer that an earlier request with the same key got."""

_QUOTED = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
"""A quoted key: a string of structured fields (RFC 9651)."""

_KEY = re.compile(r"[\x21-\x7e]{1,255}")

_UPDATE = "PATCH"
"""Method in the scope of all updates of a row, because POST, PUT and PATCH do the same."""

_MANY_FIELDS = 2000
"""Maximum number of fields of a body that is digested on the event loop."""


@dataclass(frozen=True, kw_only=True)
class IdempotentRequest:
    """A write with an Idempotency-Key, before its worksheet is known.

    `row` is the row number in the path, or None. `texts` are the long texts of the body, which the
    stored answer contains as digests.
    """

    key: str
    method: str
    row: int | None
    fingerprint: str
    texts: frozenset[str] = frozenset()

    def identity(self, target: Target) -> WriteIdentity:
        """Return the identity of the write, by which a repetition is recognised."""
        row = None if self.row is None else str(self.row)
        is_update = row is not None and self.method != "DELETE"
        method = _UPDATE if is_update else self.method
        worksheet, key_id = target.worksheet, target.access.key_id
        scope = [key_id, self.key, method, worksheet.spreadsheet, worksheet.title, row]
        return WriteIdentity(
            scope=digest_of(scope),
            fingerprint=self.fingerprint,
            worksheet=worksheet,
            key_id=key_id,
            removes_rows=self.method == "DELETE",
            texts=self.texts,
        )


async def read_idempotent_request(
    request: Request,
    admitted: Admitted,
    body: Fields | Sequence[Fields],
    *,
    row: int | None = None,
    asked: object = None,
    own_key: str | None = None,
) -> IdempotentRequest | None:
    """Read the Idempotency-Key, and digest the body. Returns None without a key.

    `row` is the row number in the path, or None. `own_key` is the key that was made from a form's
    `_id`. `asked` are the other parameters of the write, as JSON values. The fingerprint depends
    on the body, on `asked`, and on whether the answer has typed values. If it has, a form and JSON
    with the same fields have different fingerprints. Raises InvalidIdempotencyKey.
    """
    given = request.head.values(HEADER)
    if _OTHER_HEADER in request.head.lines and request.head.values(_OTHER_HEADER) != given:
        raise InvalidIdempotencyKey(
            "X-Idempotency-Key is not supported: a repetition would write twice. Send the "
            "key as Idempotency-Key."
        )
    if own_key is not None:
        given = [*given, own_key]
    key = parse_key(given) if given else None
    if key is None:
        return None
    if (len(body) if isinstance(body, Mapping) else sum(map(len, body))) <= _MANY_FIELDS:
        found = fingerprint(body)
    else:
        work = partial(fingerprint, body)
        found = await request.state["parsing"].beside(admitted.caller.key.id, work)
    if asked is not None:
        found = digest_of([asked, found])
    if admitted.is_typed:
        found = digest_of(["form" if isinstance(body, FormFields) else "typed", found])
    texts = long_texts([body] if isinstance(body, Mapping) else body)
    return IdempotentRequest(
        key=key, method=request.event.method, row=row, fingerprint=found, texts=texts
    )


def parse_key(values: Sequence[str]) -> str | None:
    """Return the key in the `Idempotency-Key` headers, without quotes; None without a header.

    Raises InvalidIdempotencyKey for an invalid key, or two different keys.
    """
    keys = {_parse(value.strip()) for value in values}
    if len(keys) > 1:
        raise InvalidIdempotencyKey(
            "The request has two different Idempotency-Keys. Send only one."
        )
    return keys.pop() if keys else None


def fingerprint(body: Fields | Sequence[Fields]) -> str:
    """Return the digest of a body. The order of fields does not matter, and 1 equals 1.0."""
    if isinstance(body, Mapping):
        return digest_of(_plain(body))
    return digest_of([_plain(fields) for fields in body])


def _parse(value: str) -> str:
    quoted = _QUOTED.fullmatch(value)
    key = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else value
    is_broken = quoted is None and value.startswith('"')
    if is_broken or _KEY.fullmatch(key) is None:
        raise InvalidIdempotencyKey(
            "An Idempotency-Key has 1 to 255 visible ASCII characters, with or without quotes, as "
            'in "8e03978e-40d5-43dd". Make a new key for each new write, for example a UUID.'
        )
    return key


def _plain(fields: Fields) -> list[tuple[str, Stored]]:
    """Return the fields sorted by name, with all numbers as float: in JSON, 1 equals 1.0."""
    numbers = {
        name: value + 0.0  # -0.0 becomes 0.0
        for name, value in fields.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return sorted({**fields, **numbers}.items())


def digest_of(content: object) -> str:
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()
