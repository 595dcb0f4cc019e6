"""Request bodies of about 1 MiB that are expensive to parse completely."""

from collections.abc import Mapping
from typing import NamedTuple

BYTES = 1_048_576
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


class Hostile(NamedTuple):
    """A request body and its `Content-Type`."""

    body: bytes
    content_type: str


def _filled(start: bytes, unit: bytes, end: bytes, *, between: bytes = b",") -> bytes:
    count = (BYTES - len(start) - len(end) + len(between)) // (len(unit) + len(between))
    return start + between.join([unit] * count) + end


_BODIES: Mapping[str, bytes] = {
    "one member over and over": _filled(b"{", b'"":1', b"}"),
    "members": b"{" + b",".join(b'"%d":""' % number for number in range(80_000)) + b"}",
    "broken names": b"{" + b",".join(b'"\\ud800%d":1' % number for number in range(60_000)) + b"}",
    "members of a row": _filled(b'[{"a":1},{', b'"":1', b"}]"),
    "empty objects": _filled(b"[", b"{}", b"]"),
    "empty lists": _filled(b"[", b"[]", b"]"),
    "numbers": _filled(b"[", b"1", b"]"),
    "rows that are wrong": _filled(b"[", b'{"":1,"":2}', b"]"),
    "lists in a field": _filled(b'{"a":[', b"[]", b"]}"),
    "objects in a field": _filled(b'[{"a":[', b"{}", b"]}]"),
    "fields with lists": _filled(b"{", b'"a":[' + b"[]," * 340 + b"[]]", b"}"),
    "rows with lists": _filled(b"[", b'{"a":[' + b"[]," * 2600 + b"[]]}", b"]"),
    "deep lists": b"[" * BYTES,
    "deep objects": _filled(b"", b'{"a"', b"", between=b":"),
    "blanks": b"{" + b" " * (BYTES - 2) + b"}",
    "digits": b'{"a":' + b"9" * (BYTES - 6) + b"}",
    "digits behind a point": b'{"a":0.' + b"9" * (BYTES - 8) + b"}",
    "escapes": b'{"a":"' + b"\\u0041" * ((BYTES - 8) // 6) + b'"}',
    "a string without an end": b'{"a":"' + b'\\"' * ((BYTES - 6) // 2),
}
_FORMS: Mapping[str, bytes] = {
    "broken escapes": b"a=" + b"%4" * (BYTES // 2 - 1),
    "escapes of a form": b"a=" + b"%41" * (BYTES // 3 - 1),
    "blanks of a form": b"a=" + b"+" * (BYTES - 2),
    "fields of a form": _filled(b"", b"a=%41", b"", between=b"&"),
    "empty fields": b"&" * BYTES,
}
HOSTILE: Mapping[str, Hostile] = {
    **{name: Hostile(body, JSON) for name, body in _BODIES.items()},
    **{name: Hostile(body, FORM) for name, body in _FORMS.items()},
}
