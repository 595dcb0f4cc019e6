"""JSON blocks of the documentation: compare each example with an answer of the gateway.

Rules: `EXAMPLES` chooses the real answer by the members of the example, and an unknown example is a
problem. Example and answer must have the same members, with values of the same types. For an error,
members such as code, name and status must be equal. `…` stands for any text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from gateway.commands.demo import Demo
from gateway.commands.options import DEMO_SPREADSHEET
from gateway.telemetry.events import RequestEvent
from tests.docs.blocks import Block

Example = Mapping[str, Any]
EXACT: Mapping[str, Sequence[str]] = {
    "type": ("type", "name", "code", "status", "retryable", "outcome", "title"),
    "event": ("event", "level"),
}
"""Members whose values must be equal in example and answer, by a member that only errors
or only log lines have.
"""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Request whose answer has the members of an example. `path` follows the URL of the
    worksheet.
    """

    method: str = "GET"
    path: str = ""
    headers: Mapping[str, str] | None = None
    body: object = None


ERRORS: Mapping[int, Asked] = {
    103: Asked(path="/99"),
    104: Asked(method="POST", body={"nmae": "x"}),
    105: Asked(path="x"),
}
"""Requests that get an error, by code. For an example with `outcome` the request is a POST."""


def problems(block: Block, demo: Demo) -> list[str]:
    """Return the problems of an example."""
    try:
        example = json.loads(block.text)
    except ValueError as error:
        return [f"{block}: {error}"]
    for is_one, real in EXAMPLES:
        if is_one(example):
            return [f"{block}: {problem}" for problem in differences(example, real(example, demo))]
    return [f"{block}: nobody knows what this is an example of"]


def differences(example: Any, real: Any, at: str = "#") -> list[str]:
    """Return the differences between the members of an example and those of the real answer."""
    if isinstance(example, dict) and isinstance(real, dict):
        missing = [f"{at} lacks {name}" for name in real if name not in example]
        extra = [f"{at} has {name}" for name in example if name not in real]
        exact = [name for told_by, names in EXACT.items() if told_by in real for name in names]
        wrong = [
            problem
            for name in example
            if name in real
            for problem in _member(
                example[name], real[name], f"{at}/{name}", is_exact=name in exact
            )
        ]
        return missing + extra + wrong
    if isinstance(example, list) and isinstance(real, list) and example and real:
        return [found for each in example for found in differences(each, real[0], f"{at}/0")]
    return [] if _kind(example) == _kind(real) else [f"{at} is {example!r}, not as {real!r}"]


def _member(example: Any, real: Any, at: str, *, is_exact: bool) -> list[str]:
    if is_exact and example != real:
        return [f"{at} is {example!r}, not {real!r}"]
    return [] if real is None else differences(example, real, at)


def _kind(value: object) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def _is_error(example: Example) -> bool:
    return example.get("type") == "SheetsonError"


def _real_error(example: Example, demo: Demo) -> Any:
    asked = ERRORS[example["code"]]
    is_write = "outcome" in example
    headers = {"Accept": "application/problem+json"} if "title" in example else {}
    return _answer(
        demo,
        Asked(
            method="POST" if is_write else asked.method,
            path=asked.path,
            headers=headers,
            body=asked.body if asked.body is not None or not is_write else {"name": "x"},
        ),
    )


def _answer(demo: Demo, asked: Asked) -> Any:
    return httpx2.request(
        asked.method,
        f"{demo.url}{demo.example.path}{asked.path}",
        headers={
            "Authorization": f"Bearer {demo.full_key}",
            "X-Spreadsheet-Id": DEMO_SPREADSHEET,
            **(asked.headers or {}),
        },
        json=asked.body,
    ).json()


def _real_page(example: Example, demo: Demo) -> Any:
    """Return a page of records with the fields of the example's first record."""
    names = ",".join(example["results"][0].keys() - {"rowIndex"})
    return _answer(demo, Asked(path=f"?limit=2&keys={names}"))


def _real_line(_: Example, __: Demo) -> Any:
    """Return an object with the members that every log line has. The values are None."""
    members = dict.fromkeys(RequestEvent.__struct_fields__)
    for name in ("admin", "operation", "rows", "bytes"):
        del members[name]
    return {**members, "event": RequestEvent.__struct_config__.tag, "level": "info"}


EXAMPLES: tuple[tuple[Callable[[Example], bool], Callable[[Example, Demo], Any]], ...] = (
    (_is_error, _real_error),
    (lambda example: example.get("event") == "request", _real_line),
    (lambda example: "results" in example, _real_page),
    (lambda example: "rowIndex" in example, lambda _, demo: _answer(demo, Asked(path="/2"))),
)
