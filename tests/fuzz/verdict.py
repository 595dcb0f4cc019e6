"""Problems of answers and logs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.asgi_client import Answer, Request
from tests.fuzz.canaries import Canary, found
from tests.journeys.failure import refused

ALWAYS = ("x-request-id", "vary", "x-content-type-options", "referrer-policy")
FOR_PAGES = (*ALWAYS, "access-control-allow-origin")
FAULTS = ('"event": "fault"', "Traceback", '"exception"', "was never retrieved")
"""Words in log lines that report an error in the gateway."""


def problems_of(
    request: Request, answer: Answer, canaries: Mapping[str, Canary], *, may_fail: bool
) -> Iterator[str]:
    """Yield problems of an answer. With `may_fail`, Google can fail, so 502, 503 and 504
    are allowed.
    """
    yield from answer.problems
    if answer.status_code == 500 or (answer.status_code > 500 and not may_fail):
        yield f"a {answer.status_code}"
    for name in FOR_PAGES if b"origin" in dict(request.headers) else ALWAYS:
        if name not in answer.headers:
            yield f"no {name}"
    for name in found(canaries, answer.said):
        yield f"the {name} in an answer"
    if answer.status_code in (204, 304):
        yield from ["a body where none may be"] if answer.content else []
    elif request.method != "HEAD":  # a HEAD answer has no body
        yield from _of_the_body(request, answer)


def _of_the_body(request: Request, answer: Answer) -> Iterator[str]:
    try:
        if answer.status_code >= 400:
            refused(answer)
        elif request.target.startswith(b"/v2/"):
            _check_success(request, answer, answer.json())
    except (AssertionError, KeyError, ValueError, TypeError) as error:
        yield f"a body that is not the contract's: {type(error).__name__} {error}"[:300]


def _check_success(request: Request, answer: Answer, body: Any) -> None:
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert not {"code", "type"} & set(body) or "rowIndex" in body
    if "results" in body:
        assert set(body) <= {"results", "hasNextPage", "total"}
        records = body["results"]
        assert isinstance(body.get("hasNextPage", False), bool)
        assert request.method == "POST" or "hasNextPage" in body
    else:
        records = [body]
    for record in records:
        assert [*record][:1] == ["rowIndex"]
        assert record["rowIndex"] >= 2
        texts = {name: value for name, value in record.items() if name != "rowIndex"}
        assert all(value is None or isinstance(value, str) for value in texts.values())
    if answer.status_code == 201 and request.method == "POST":
        assert "location" in answer.headers or "results" in body


def problems_of_log(text: str, canaries: Mapping[str, Canary]) -> Iterator[str]:
    """Yield problems of the log."""
    for line in text.removesuffix("\n").split("\n"):
        yield from _of_a_line(line)
    for name in found(canaries, text.encode("utf-8", "replace")):
        yield f"the {name} in the log"


def _of_a_line(line: str) -> Iterator[str]:
    if any(sign in line for sign in FAULTS):
        yield f"a fault in the log: {line[:2000]}"
    try:
        is_object = isinstance(json.loads(line), dict)
    except ValueError:
        is_object = False
    if line and not (is_object and line.isascii()):
        yield f"a line of the log that is no JSON in ASCII: {line[:300]!r}"
