"""Digests in place of long texts in write records; a retry brings the texts again.

Rules: only a text of the write itself may be a digest, and a record is read for none but a write
with the same body. What Google made of a text is kept as it is, unless it is the text.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from gateway.table.record import Stored

LONG = 1000
"""A text of so many characters is long."""

_DIGEST = "sha256"


def long_texts(rows: Iterable[Mapping[str, Stored]]) -> frozenset[str]:
    """The long texts among the values of a body."""
    return frozenset(
        value
        for fields in rows
        for value in fields.values()
        if isinstance(value, str) and len(value) >= LONG
    )


def shortened(value: object, texts: frozenset[str]) -> object:
    """A value as it is kept: an object with a digest for one of the texts."""
    if isinstance(value, str) and len(value) >= LONG and value in texts:
        return {_DIGEST: _digest(value)}
    return value


class Restorer:
    """Puts texts back where their digests are."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {_digest(text): text for text in texts}

    def __call__(self, value: Any) -> Any:
        """A value as it was; None if it is a digest of something else."""
        return self._texts.get(value.get(_DIGEST, "")) if isinstance(value, dict) else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
