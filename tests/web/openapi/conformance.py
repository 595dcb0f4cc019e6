"""Check that answers match the OpenAPI document."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from tests.journeys.failure import Answer

Document = Mapping[str, Any]


def problems_of(document: Document, method: str, path: str, answer: Answer) -> Iterator[str]:
    """Yield the differences between an answer and the document; `path` has no query."""
    operation = _operation(document, method, path)
    if operation is None:
        yield f"no operation {method} {path}"
        return
    told = operation["responses"].get(str(answer.status_code))
    if told is None:
        yield f"no answer {answer.status_code} of {method} {path}"
        return
    told = resolved(document, told)
    for name, header in told.get("headers", {}).items():
        yield from _of_header(resolved(document, header), name, answer)
    content = told.get("content")
    if not content:
        yield from ["a body where none is told of"] if answer.content else []
        return
    given = answer.headers["content-type"]
    media_type = content.get(given.removesuffix("; charset=utf-8"))
    if media_type is None:
        yield f"no content type {given}"
        return
    is_json = given.partition(";")[0].endswith("json")
    body = answer.json() if is_json else answer.content.decode()
    yield from errors_in(document, media_type["schema"], body)


def errors_in(document: Document, schema: Mapping[str, Any], value: object) -> Iterator[str]:
    """Yield the validation errors of a value for a schema of the document."""
    whole = {**schema, "components": document["components"]}
    for error in Draft202012Validator(whole).iter_errors(value):
        yield f"{error.json_path}: {error.message}"[:300]


def resolved(document: Document, node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the component that a `$ref` names, or the node itself without a `$ref`."""
    if "$ref" not in node:
        return node
    _, _, kind, name = node["$ref"].split("/")
    found: Mapping[str, Any] = document["components"][kind][name]
    return found


def _operation(document: Document, method: str, path: str) -> Mapping[str, Any] | None:
    """Find the operation of a percent-encoded path; a name in braces matches any segment."""
    for template, item in document["paths"].items():
        segments = re.split(r"\{[^}]*\}", template)
        pattern = "[^/]+".join(map(re.escape, segments))
        if re.fullmatch(pattern, path) and method.lower() in item:
            found: Mapping[str, Any] = item[method.lower()]
            return found
    return None


def _of_header(header: Mapping[str, Any], name: str, answer: Answer) -> Iterator[str]:
    value: Any = answer.headers.get(name.lower())
    if value is None:
        yield from [f"no header {name}"] if header.get("required") else []
        return
    if header["schema"].get("type") == "integer":
        value = int(value)
    for error in Draft202012Validator(dict(header["schema"])).iter_errors(value):
        yield f"header {name}: {error.message}"
