"""Texts in the place of a key that no key can be: schemes, quotes, and words for a missing value.

Rule: a description has words of this module alone, never a part of the text, which may hold a key.
"""

import re
from collections.abc import Mapping

_SCHEMES: Mapping[str, str] = {
    name.lower(): name
    for name in (
        *("Basic", "Digest", "Token", "ApiKey", "Api-Key", "X-API-Key", "Key", "JWT", "OAuth"),
        *("Negotiate", "NTLM", "Hawk", "AWS4-HMAC-SHA256", "Authorization"),
    )
}
"""Other schemes of `Authorization`, and names of headers in the place of one."""
_FIRST_WORD = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,30})(?:\s|%20|[:=,])")
_UTF8_QUOTES = ("\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x98", "\xe2\x80\x99")
_MARKS = (*"\"'`“”„‘’<{[($", *_UTF8_QUOTES)
"""Quotes, also as a header has them, in UTF-8 read as Latin-1, and signs of placeholders."""
_ABSENT = frozenset({"null", "undefined", "none", "nil", "nan", "false", "true"})


def around_key(text: str) -> str:
    """Describe what stands before a key, or instead of one; "" for anything else."""
    word = _FIRST_WORD.match(text)
    scheme = word[1].lower() if word else ""
    if scheme == "bearer":
        return "Bearer stands twice, or without a blank behind it, or in a place for the key alone."
    if scheme in _SCHEMES:
        return f"{_SCHEMES[scheme]} is not a scheme of this API."
    if text.startswith(_MARKS):
        return "A quote or bracket stands before the key."
    if text.lower() in _ABSENT:
        return "The key is a word for a missing value: the variable that should hold it is empty."
    return ""
