"""Secrets with unique texts, and the search for them in output."""

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote_to_bytes

CELL = "cell-canary-1b7Qe"
OTHER_TENANTS_CELL = "tenant-canary-9xKd2"
OTHER_TENANT = "spreadsheet-canary-4Wm0z"
PEPPER = "pepper-canary-6Jv3h-and-more"
PEPPER_CHARACTERS = 13
"""Number of first characters that identify the pepper."""


@dataclass(frozen=True, kw_only=True)
class Canary:
    """Secret that must not appear in any output of the gateway."""

    name: str
    text: str


def found(canaries: Mapping[str, Canary], said: bytes) -> Iterator[str]:
    """Yield the names of canaries in an output.

    The search covers plain text, percent-encoding, JSON escapes, combinations of both, and parts of
    base64.
    """
    heard = b"\n".join(_title_aliases(said))
    for canary in canaries.values():
        if any(form in heard for form in _forms(canary.text)):
            yield canary.name


def _title_aliases(said: bytes) -> Iterator[bytes]:
    """Yield the bytes, and the results of repeated percent-decoding and JSON unescaping."""
    for _ in range(_MOST_ENCODINGS):
        yield said
        plain = _ESCAPED.sub(lambda escape: bytes([int(escape[1], 16)]), unquote_to_bytes(said))
        if plain == said:
            return
        said = plain
    yield said


@cache
def _forms(text: str) -> frozenset[bytes]:
    """Return the text, and its base64 at each of the three offsets in a group of bytes."""
    forms = {text.encode()}
    for offset in range(3):
        ahead, together = -(-offset * 8 // 6), (offset + len(text.encode())) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            forms.add(encode(bytes(offset) + text.encode())[ahead:together])
    return frozenset(forms)


_ESCAPED = re.compile(rb"\\u00([0-7][0-9a-fA-F])")
_MOST_ENCODINGS = 4


def make_canaries(*, key: str, token: str, private_key: str) -> Mapping[str, Canary]:
    """Return the canaries of a gateway whose callers can read neither the hidden cell nor the other
    tenant's data.

    The canary of the private key is its second line.
    """
    texts = {
        "key": key,
        "token": token,
        "private key line": private_key.splitlines()[1],
        "pepper": PEPPER[:PEPPER_CHARACTERS],
        "hidden cell": CELL,
        "another tenant's cell": OTHER_TENANTS_CELL,
        "another tenant's spreadsheet": OTHER_TENANT,
    }
    return {name: Canary(name=name, text=text) for name, text in texts.items()}
