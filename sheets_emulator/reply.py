"""JSON types of requests and replies."""

from collections.abc import Mapping

Json = Mapping[str, object]
"""A JSON object that is never modified."""

Reply = dict[str, object]
"""The body of an HTTP answer: a JSON object or a part of it."""
