"""gzip of answers: which, for whom, and that nothing else of them changes."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping

import pytest

from gateway.web.compression import MIN_BYTES
from tests.asgi_client import Answer
from tests.surfaces.stage import KEYS, Surface, open_surface

GZIP = ("Accept-Encoding", "gzip")
VARYING = {"content-length", "content-encoding", "age", "x-request-id", "server-timing",
           "ratelimit", "cache-status"}  # fmt: skip


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    settings = {"cache.rows_ttl_seconds": 600, "plans.paid.max_limit": 1000}
    with open_surface(tmp_path_factory.mktemp("gzip"), KEYS, settings) as surface:
        surface.sheets.add("Many", [["name"], *([f"name {at}"] for at in range(5000))])
        surface.sheets.add("Wide", [[f"field {at}" for at in range(100)]])
        yield surface


def stable(answer: Answer) -> Mapping[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in VARYING}


TARGETS = {
    "list": "Many?limit=100",
    "long list": "Many?limit=1000",
    "typed list": "Many?values=typed&limit=100",
    "csv": "Many?format=csv",
    "ndjson": "Many?format=ndjson&limit=2000",
    "json": "Many?format=json",
    "document": "/openapi.json",
    "worksheets": "/v2/sheets",
    "schema": "Wide/schema",
    "interface": "Wide/schema?format=typescript",
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_long_answers_are_compressed(opened: Surface, method: str, target: str) -> None:
    """A compressed answer has the same body and headers, except for coding and length."""
    plain = opened.send("GET", target)
    for _ in range(2):
        packed = opened.send(method, target, headers=[GZIP])

        assert stable(packed) == stable(plain)
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        if method == "GET":
            assert gzip.decompress(packed.content) == plain.content
            assert len(packed.content) < len(plain.content) / 2
        if "content-length" in plain.headers:
            length = len(opened.send("GET", target, headers=[GZIP]).content)
            assert int(packed.headers["content-length"]) == length


@pytest.mark.parametrize("codings", ["identity", "br", "gzip;q=0", "*", "", "identity, gzip;q=0.5"])
@pytest.mark.parametrize("target", ["Many?limit=100", "Many?format=csv", "/openapi.json"])
def test_who_does_not_take_gzip_gets_none(opened: Surface, target: str, codings: str) -> None:
    """A client that does not accept gzip gets the plain answer."""
    plain = opened.send("GET", target)
    answer = opened.send("GET", target, headers=[("Accept-Encoding", codings)])

    assert "content-encoding" not in answer.headers
    assert answer.content == plain.content


@pytest.mark.parametrize("target", ["Cities?limit=1", "Cities/2", "Cities/x", "/livez"])
def test_short_answers_are_not_compressed(opened: Surface, target: str) -> None:
    """Answers of up to 1 KiB are not compressed."""
    answer = opened.send("GET", target, headers=[GZIP])

    assert "content-encoding" not in answer.headers
    assert len(answer.content) <= MIN_BYTES
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_a_row_has_a_strong_tag_and_is_not_compressed(opened: Surface) -> None:
    """A row is not compressed, because its strong ETag identifies the bytes."""
    opened.sheets.add("Long", [["name"], ["x" * 5000]])
    row = opened.send("GET", "Long/2", headers=[GZIP])
    listed = opened.send("GET", "Long", headers=[GZIP])

    assert "content-encoding" not in row.headers
    assert row.headers["etag"].startswith('"')
    assert (listed.headers["content-encoding"], listed.headers["etag"][:2]) == ("gzip", "W/")


@pytest.mark.parametrize("target", ["Many?limit=100", "/openapi.json", "Wide/schema"])
def test_both_codings_have_one_tag(opened: Surface, target: str) -> None:
    """Both codings have the same ETag, so that either gives a 304."""
    tag = opened.send("GET", target, headers=[GZIP]).headers["etag"]
    for headers in ([GZIP], []):
        again = opened.send("GET", target, headers=[*headers, ("If-None-Match", tag)])

        assert (again.status_code, again.content) == (304, b"")
        assert "content-encoding" not in again.headers


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("Many", []),
        ("Many", [GZIP]),
        ("Many", [("If-None-Match", "*")]),
        ("Many/2", []),
        ("Many?format=csv", []),
        ("/openapi.json", []),
    ],
)
def test_answers_vary(opened: Surface, target: str, headers: list[tuple[str, str]]) -> None:
    """`Vary` names the headers that choose format and coding, and `Origin`."""
    answer = opened.send("GET", target, headers=headers)
    lines = [value.decode() for name, value in answer.pairs if name == b"vary"]

    assert {*", ".join(lines).split(", ")} == {"Accept", "Accept-Encoding", "Origin"}


def test_parts_of_an_export_are_compressed_as_they_are_made(opened: Surface) -> None:
    """An export is one gzip stream that a client can read from the beginning."""
    answer = opened.send("GET", "Many?format=ndjson", headers=[GZIP])
    start = zlib.decompressobj(31).decompress(answer.content[:2000])

    assert json.loads(start.splitlines()[0]) == {"rowIndex": 2, "name": "name 0"}
