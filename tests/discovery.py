"""Compare exchanges with the Sheets API with Google's discovery document.

Rules: a 200 means that request and answer were valid. An invalid request must get an error. A valid
request can get an error, too, because the document does not describe everything.

Every error has Google's JSON members, but unknown paths get an HTML page. 501 is only used by the
emulator.

This module knows the document and nothing about the emulator.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NoReturn
from urllib.parse import parse_qsl

from tests.discovery_fields import MalformedMask, outside, read_mask, unknown_paths
from tests.discovery_schema import Json, answer_errors, camel, document, request_errors
from tests.exchanges import Exchange

OK = 200
UNROUTED = (401, 404, 405)
"""Statuses of a request that matches no method of the API."""
REFUSALS = (400, 401, 403, 404, 429)
"""Statuses of an invalid request, in addition to 5xx."""
PATH_TYPES = {"integer": r"-?\d+", "string": "[^/:]+"}
RANGE = "[^/]+"  # has colons
BOOLEAN = re.compile("true|false|[tfyn10]|yes|no", re.IGNORECASE)
WORDS: Mapping[str, tuple[int, ...]] = {  # the codes of google.rpc.Code and their HTTP statuses
    "CANCELLED": (499,),
    "UNKNOWN": (500,),
    "INVALID_ARGUMENT": (400,),
    "DEADLINE_EXCEEDED": (504,),
    "NOT_FOUND": (404,),
    "ALREADY_EXISTS": (409,),
    "PERMISSION_DENIED": (403,),
    "UNAUTHENTICATED": (401,),
    "RESOURCE_EXHAUSTED": (429,),
    "FAILED_PRECONDITION": (400,),
    "ABORTED": (409,),
    "OUT_OF_RANGE": (400,),
    "UNIMPLEMENTED": (501,),
    "INTERNAL": (500,),
    "UNAVAILABLE": (503,),
    "DATA_LOSS": (500,),
}


@dataclass(frozen=True, kw_only=True)
class Method:
    """Method of the API. `request` is the name of its body's schema, or None without a body."""

    name: str
    verb: str
    path: re.Pattern[str]
    parameters: Mapping[str, Json]
    request: str | None
    response: str


def problems(exchange: Exchange) -> list[str]:
    """Return properties of an exchange that are impossible with Google."""
    method = find_method(exchange.method, exchange.raw_path)
    wrong = list(_request_problems(exchange, method))
    if exchange.status == OK:
        found = [*wrong, *(_answer_problems(exchange, method) if method else ())]
    else:
        found = list(_error_problems(exchange, method))
        is_refused = exchange.status in REFUSALS or exchange.status >= 500
        found += () if is_refused or method is None else wrong
    return [f"{_line(exchange)}: {each}" for each in found]


def all_problems(exchanges: Iterable[Exchange]) -> list[str]:
    """Return the distinct problems of several exchanges."""
    return list(dict.fromkeys(each for exchange in exchanges for each in problems(exchange)))


def request_problems(exchange: Exchange) -> list[str]:
    """Return the reasons for which Google would reject a request."""
    method = find_method(exchange.method, exchange.raw_path)
    return [f"{_line(exchange)}: {each}" for each in _request_problems(exchange, method)]


def find_method(verb: str, raw_path: str) -> Method | None:
    """Return the method of a request line, or None. The path is matched before any decoding."""
    for method in _methods():
        if method.verb == verb and method.path.fullmatch(raw_path):
            return method
    return None


def _line(exchange: Exchange) -> str:
    query = f"?{exchange.query}" if exchange.query else ""
    return f"{exchange.method} {exchange.raw_path}{query} {exchange.body[:300]!r}"


def _request_problems(exchange: Exchange, method: Method | None) -> Iterator[str]:
    if method is None:
        yield "the API has no such method"
        return
    pairs = parse_qsl(exchange.query, keep_blank_values=True)
    yield from _query_problems(pairs, method)
    if method.request is None:
        if exchange.body:
            yield f"{method.name} takes no body"
        return
    try:
        body = _read(exchange.body or b"{}")
    except ValueError as error:
        yield f"the body is no JSON: {error}"
        return
    if not isinstance(body, dict):
        yield "the body is no object"
        return
    yield from (f"body {each}" for each in request_errors(method.request, body))


def _query_problems(pairs: Sequence[tuple[str, str]], method: Method) -> Iterator[str]:
    seen: set[str] = set()
    for sent, value in pairs:
        name = sent if sent in method.parameters else camel(sent)
        parameter = method.parameters.get(name)
        if parameter is None:
            yield f"{method.name} has no parameter {sent!r}"
            continue
        if name in seen and not parameter.get("repeated"):
            yield f"the parameter {name} comes twice"
        seen.add(name)
        if not _is_value_of(parameter, value):
            yield f"the parameter {name} cannot be {value!r:.80}"
        if name == "fields" and value:
            yield from _mask_problems(value, method)


def _is_value_of(parameter: Json, value: str) -> bool:
    if "enum" in parameter:
        return value in parameter["enum"]
    return parameter["type"] != "boolean" or BOOLEAN.fullmatch(value) is not None


def _mask_problems(text: str, method: Method) -> Iterator[str]:
    try:
        mask = read_mask(text)
    except MalformedMask:
        yield f"the field mask is malformed: {text!r:.80}"
        return
    for path in unknown_paths(mask, {"$ref": method.response}):
        yield f"the field mask names {path}, which {method.response} does not have"


def _answer_problems(exchange: Exchange, method: Method) -> Iterator[str]:
    """Yield the problems of an answer with status 200."""
    query = dict(parse_qsl(exchange.query))
    if exchange.is_page:
        yield "the answer is a page"
        return
    try:
        body = _read(exchange.answer)
    except ValueError as error:
        yield f"the answer is no JSON: {error}"
        return
    if query.get("alt", "json") != "json":
        yield f"alt={query['alt']} is answered with JSON"
    yield from (f"answer {each}" for each in answer_errors(method.response, body))
    try:
        mask = read_mask(query.get("fields", "*"))
    except MalformedMask:
        return  # told as a problem of the request
    yield from (f"answer {place}: outside the field mask" for place in outside(mask, body))


def _error_problems(exchange: Exchange, method: Method | None) -> Iterator[str]:
    """Yield the problems of an answer with another status."""
    if method is None and exchange.status not in UNROUTED:
        yield f"answered {exchange.status}, but the API has no such method"
    if exchange.status < 400:
        yield f"a status that the API never answers with: {exchange.status}"
        return
    if exchange.is_page:
        if method is not None:
            yield f"{method.name} is answered with a page"
        return
    try:
        body = _read(exchange.answer)
    except ValueError as error:
        yield f"the error is no JSON: {error}"
        return
    yield from (f"error {each}" for each in _shape_problems(body, exchange.status))


def _shape_problems(body: object, status: int) -> Iterator[str]:
    """Yield differences from `{"error": {"code", "message", "status", "details"?}}`."""
    error = body.get("error") if isinstance(body, dict) and set(body) == {"error"} else None
    if not isinstance(error, dict):
        yield "is not one object called error"
        return
    if set(error) - {"details"} != {"code", "message", "status"}:
        yield f"has the members {sorted(error)}"
    if error.get("code") != status or isinstance(error.get("code"), bool):
        yield f"has the code {error.get('code')!r}, but the answer's status is {status}"
    if not isinstance(error.get("message"), str) or not error["message"]:
        yield "has no message"
    if status not in WORDS.get(str(error.get("status")), ()):
        yield f"has the status {error.get('status')!r}, but the answer's is {status}"
    details = error.get("details", [])
    if not isinstance(details, list) or not all(_is_typed(each) for each in details):
        yield "has details that are not objects with an @type"


def _is_typed(detail: object) -> bool:
    if not isinstance(detail, dict):
        return False
    return str(detail.get("@type", "")).startswith("type.googleapis.com/")


def _read(text: bytes) -> object:
    """Parse JSON. Raises ValueError if the text is invalid, or contains NaN or Infinity."""
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@cache
def _methods() -> Sequence[Method]:
    return tuple(_methods_of(document()))


def _methods_of(resource: Json) -> Iterator[Method]:
    """Yield the methods of a resource of the document, including nested resources."""
    for described in resource.get("methods", {}).values():
        yield _method(described)
    for inner in resource.get("resources", {}).values():
        yield from _methods_of(inner)


def _method(described: Json) -> Method:
    parameters: dict[str, Json] = described.get("parameters", {})
    own = {name: each for name, each in parameters.items() if each["location"] == "query"}
    return Method(
        name=described["id"],
        verb=described["httpMethod"],
        path=re.compile("/" + _pattern(described["flatPath"], parameters)),
        parameters={**document()["parameters"], **own},
        request=described.get("request", {}).get("$ref"),
        response=described["response"]["$ref"],
    )


def _pattern(template: str, parameters: Mapping[str, Json]) -> str:
    """Return a path template such as `v4/spreadsheets/{spreadsheetId}` as a regular expression."""
    parts = re.split(r"\{(\w+)\}", template)
    literals = [re.escape(part) for part in parts]
    literals[1::2] = [
        RANGE if name == "range" else PATH_TYPES[parameters[name]["type"]] for name in parts[1::2]
    ]
    return "".join(literals)
