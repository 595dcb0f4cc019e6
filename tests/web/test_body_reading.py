"""Bodies of writes on their way in: types, encodings, sizes, what is never stored."""

import pytest
from starlette.requests import Request

from gateway.errors import BodyTooLarge, InvalidBody, UnsupportedMediaType
from gateway.settings.model import ServerSettings
from gateway.web.body import read_fields
from gateway.web.state import State
from tests.web.requests import Sender, make_request, make_scope

SMALL = ServerSettings(max_body_bytes=10)


def post(body: bytes, **headers: str) -> Request[State]:
    """A POST of this body; underscores in header names stand for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return make_request(make_scope("POST", headers=named), body)


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", " text/plain "],
)
async def test_a_content_type_may_have_parameters_and_any_case(content_type: str) -> None:
    """Only the type itself counts."""
    assert await read_fields(post(b'{"a":1}', content_type=content_type), "k") == {"a": 1}


async def test_a_body_without_a_type_is_read() -> None:
    """A JSON object needs no Content-Type."""
    assert await read_fields(post(b'{"a":1}'), "k") == {"a": 1}


async def test_a_form_is_read_by_its_type() -> None:
    """A form's type may have parameters, too."""
    content_type = "application/x-www-form-urlencoded; charset=UTF-8"

    assert await read_fields(post(b"a=1&b=", content_type=content_type), "k") == {"a": "1", "b": ""}


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"rowIndex":7,"apiKey":"k","spreadsheetId":"s","a":1}', "application/json"),
        (b"rowIndex=7&apiKey=k&spreadsheetId=s&a=1", "application/x-www-form-urlencoded"),
    ],
    ids=["json", "form"],
)
async def test_credentials_and_row_index_are_never_stored(body: bytes, content_type: str) -> None:
    """What clients leave in a body besides its fields is dropped."""
    fields = await read_fields(post(body, content_type=content_type), "k")

    assert list(fields) == ["a"]


@pytest.mark.parametrize(
    "body", [b"{}", b'{"rowIndex":5}', b'{"apiKey":"k","spreadsheetId":"s"}'], ids=str
)
async def test_a_body_without_a_field_is_refused(body: bytes) -> None:
    """An empty object, or one with nothing to store, has its place."""
    with pytest.raises(InvalidBody, match="no field") as refused:
        await read_fields(post(body), "k")

    assert [problem.pointer for problem in refused.value.problems] == ["#"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "identity, gzip", "x"])
async def test_compressed_bodies_are_refused(encoding: str) -> None:
    """A Content-Encoding is not undone."""
    with pytest.raises(UnsupportedMediaType, match="Content-Encoding"):
        await read_fields(post(b'{"a":1}', content_encoding=encoding), "k")


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
async def test_identity_is_no_encoding(encoding: str) -> None:
    """The body as it is may be called so."""
    assert await read_fields(post(b'{"a":1}', content_encoding=encoding), "k") == {"a": 1}


async def test_a_body_may_come_in_pieces() -> None:
    """Chunks are put together, up to the largest body."""
    request = make_request(make_scope("POST", settings=SMALL), b'{"a"', b":12", b"", b"34}")

    assert await read_fields(request, "k") == {"a": 1234}


async def test_a_body_is_given_up_as_soon_as_it_is_too_large() -> None:
    """Without an announced length, what follows the limit is not read."""
    sender = Sender([b'{"a":"', b"xxxxx", b"yyyyy", b'"}'])

    with pytest.raises(BodyTooLarge, match="10 bytes"):
        await read_fields(Request(make_scope("POST", settings=SMALL), sender), "k")

    assert sender.taken == 2


@pytest.mark.parametrize("length", ["11", "9" * 5000, "1" + "0" * 20, "-1", "abc", "1e1"])
async def test_an_announced_length_is_believed(length: str) -> None:
    """A length over the limit, or none at all, is refused before anything is read."""
    sender = Sender([b'{"a":1}'])
    scope = make_scope("POST", headers={"Content-Length": length}, settings=SMALL)

    with pytest.raises(BodyTooLarge):
        await read_fields(Request(scope, sender), "k")

    assert sender.taken == 0
