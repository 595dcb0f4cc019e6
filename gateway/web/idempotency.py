"""Idempotency-Key: scope and fingerprint of a request; mark of a replayed answer."""

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
"""Header of other services, which is refused: if ignored, a repetition would write twice."""
REPLAYED: Mapping[str, str] = {"Idempotent-Replayed": "true"}
"""Header of a replayed answer."""

_QUOTED = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
"""A string of structured fields (RFC 9651), as in the draft of this header."""

_KEY = re.compile(r"[\x21-\x7e]{1,255}")

_UPDATE = "PATCH"
"""Method in the scope of all updates of a row; records hold digests of it."""

_MANY_FIELDS = 2000
"""Number of fields above which a body is digested in a thread."""


@dataclass(frozen=True, kw_only=True)
class IdempotentRequest:
    """Identity of an idempotent write, without its worksheet, whose title can have two decodings.

    `row` is the row of an update or a delete, None for a write to others.
    """

    key: str
    method: str
    row: int | None
    fingerprint: str
    texts: frozenset[str] = frozenset()

    def identity(self, target: Target) -> WriteIdentity:
        """Return the identity of the write for a worksheet."""
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
    """Read the idempotent request; None without an Idempotency-Key. Raises InvalidIdempotencyKey.

    `own_key` is a key outside the head, such as a form's. `asked` are the parameters that the write
    depends on, as JSON. Typed and untyped requests have different fingerprints, and so have typed
    forms and typed JSON.
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
        found = await request.state["parsing"].beside(admitted.caller.key_id, work)
    if asked is not None:
        found = digest_of([asked, found])
    if admitted.is_typed:
        found = digest_of(["form" if isinstance(body, FormFields) else "typed", found])
    texts = long_texts([body] if isinstance(body, Mapping) else body)
    return IdempotentRequest(
        key=key, method=request.event.method, row=row, fingerprint=found, texts=texts
    )


def parse_key(values: Sequence[str]) -> str | None:
    """Return the value of `Idempotency-Key` headers, without quotes; None if absent."""
    keys = {_parse(value.strip()) for value in values}
    if len(keys) > 1:
        raise InvalidIdempotencyKey(
            "The request has two different Idempotency-Keys. Send only one."
        )
    return keys.pop() if keys else None


def fingerprint(body: Fields | Sequence[Fields]) -> str:
    """Digest of a body. The order of fields, and 1 or 1.0, make no difference."""
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
    """The fields in order, with numbers as one type: JSON does not distinguish 1 and 1.0."""
    numbers = {
        name: value + 0.0  # -0.0 becomes 0.0
        for name, value in fields.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return sorted({**fields, **numbers}.items())


def digest_of(content: object) -> str:
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()
