"""JSON objects: what is kept as it came, and what a call replies."""

from collections.abc import Mapping

Json = Mapping[str, object]
"""A JSON object that is never changed in place."""

Reply = dict[str, object]
"""The JSON object, or a part of it, that an HTTP answer has for a body."""
