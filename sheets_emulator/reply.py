"""JSON types of requests and replies."""

from collections.abc import Mapping

Json = Mapping[str, object]
"""A JSON object that is never modified."""

Reply = dict[str, object]
"""The JSON body of an HTTP answer, or a part of the body."""
