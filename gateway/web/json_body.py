"""JSON text of a request, decoded with nothing lost: repeated members, large numbers."""

import json

from gateway.web.fields import invalid_body


class Pairs(list[tuple[str, object]]):
    """A JSON object as it was written, repeated members and all."""


def decode_json(text: str) -> object:
    """The value; objects in it are `Pairs`, lists are lists. InvalidBody says where it is broken.

    NaN and the infinities are let through, for the error that names their field.
    """
    try:
        decoded: object = json.loads(text, object_pairs_hook=Pairs, parse_int=_parse_integer)
    except json.JSONDecodeError as error:
        raise invalid_body(
            f"The body is not JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error
    except RecursionError as error:
        raise invalid_body("The body is nested too deep.") from error
    return decoded


def _parse_integer(digits: str) -> int:
    """The integer, or one that is as surely too large: parsing thousands of digits is slow."""
    return int(digits[:18])
