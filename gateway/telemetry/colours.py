"""Test for colours; a module of its own, because the command line imports it first."""

import os
from typing import TextIO


def shows_colours(stream: TextIO | None) -> bool:
    """True for a terminal, unless `NO_COLOR` or `TERM=dumb` asks for plain text."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return stream is not None and stream.isatty() and not is_plain
