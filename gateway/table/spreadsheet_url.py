"""The spreadsheet id in a URL that was sent instead of the id."""

import re

_ID_IN_URL = re.compile(r"(?:/d/|[?&](?:key|id)=)(?!e/)([A-Za-z0-9_-]{1,100})(?![A-Za-z0-9_-])")
_PUBLISHED = re.compile(r"/d/e/")


def id_in(given: str) -> str | None:
    """The id in the URL of a spreadsheet, if there is one."""
    found = _ID_IN_URL.search(given)
    return None if found is None or is_published(given) else found[1]


def is_published(given: str) -> bool:
    """Whether it is the URL of a published copy, which has no id that Sheets knows."""
    return _PUBLISHED.search(given) is not None
