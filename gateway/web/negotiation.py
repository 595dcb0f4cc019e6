"""Content negotiation: choice by `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2 and 12.5).

Rules
- A list is answered as JSON unless `Accept` names another format by its media type. A range such as
  `text/*` does not count. With equal weights JSON wins if `Accept` names it.
- Answers to forms are HTML or JSON by the same rule.
- gzip is used only if `Accept-Encoding` names gzip with at least the weight of `identity`; `*` does
  not count.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from gateway.web.media_types import CSV, HTML, JSON, NDJSON

FORMATS: Final = ("csv", "ndjson", "json")
"""Export formats."""

_KEPT = 256
_LONGEST_KEPT = 512
_WEIGHT = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")
_NAMED = {CSV: "csv", NDJSON: "ndjson"}
_JSON_RANGES = (JSON, "application/*", "*/*")
_GZIP, _IDENTITY = "gzip", "identity"


def accepted_format(accept: Sequence[bytes]) -> str:
    """Return the export format that `Accept` prefers: `csv` or `ndjson`, or "" for JSON."""
    given = b",".join(accept)
    return (_kept_format if len(given) <= _LONGEST_KEPT else _format)(given)


def prefers_page(accept: Sequence[bytes]) -> bool:
    """True if `Accept` prefers HTML to JSON, as browsers do when they open a page."""
    weights = _weights(b",".join(accept))
    return _is_preferred_to_json(weights.get(HTML, 0.0), weights)


def takes_gzip(accept_encoding: Sequence[bytes]) -> bool:
    """True if the client prefers gzip to an uncompressed body, by its `Accept-Encoding` lines."""
    given = b",".join(accept_encoding)
    return (_kept_gzip if len(given) <= _LONGEST_KEPT else _gzip)(given)


def _format(given: bytes) -> str:
    weights = _weights(given)
    named = {name: weight for name, weight in weights.items() if name in _NAMED}
    if not named:
        return ""
    preferred = max(named, key=named.__getitem__)  # the first name with the highest weight
    return _NAMED[preferred] if _is_preferred_to_json(named[preferred], weights) else ""


def _is_preferred_to_json(weight: float, weights: Mapping[str, float]) -> bool:
    of_json = next((each for each in _JSON_RANGES if each in weights), "")
    least = weights.get(of_json, 0.0)
    return weight > 0 and (weight > least if of_json == JSON else weight >= least)


def _gzip(given: bytes) -> bool:
    weights = _weights(given)
    weight = weights.get(_GZIP, 0.0)
    return weight > 0 and weight >= weights.get(_IDENTITY, 0.0)


_kept_format = lru_cache(_KEPT)(_format)
_kept_gzip = lru_cache(_KEPT)(_gzip)


def _weights(given: bytes) -> Mapping[str, float]:
    """Return the weight, 0 to 1, of each member of a header by lower-case name. Default: 1."""
    weights: dict[str, float] = {}
    for member in given.decode("latin-1").lower().split(","):
        name, *parameters = member.split(";")
        found = [_WEIGHT.fullmatch("".join(each.split())) for each in parameters]
        weight = next((float(each[1]) for each in found if each is not None), 1.0)
        weights.setdefault(name.strip(), weight)
    return weights
