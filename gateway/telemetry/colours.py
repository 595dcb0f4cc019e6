"""Test whether to use colours. A small module, because the command line imports it early."""

import os
from typing import TextIO


def shows_colours(stream: TextIO | None) -> bool:
    """True if the stream is a terminal, and `NO_COLOR` and `TERM` do not disable colours."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return stream is not None and stream.isatty() and not is_plain
