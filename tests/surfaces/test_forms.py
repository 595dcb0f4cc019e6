"""Forms of create-only keys: their fields, answers, pages and repetitions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape, unescape
from urllib.parse import urlencode

import pytest

from gateway.errors import Outcome, StorageFull
from gateway.telemetry.events import tallies
from gateway.web.admission import KEY_HEADERS
from gateway.web.form_pages import POLICY
from gateway.web.media_types import JSON_TEXT
from tests.surfaces.form_stage import (
    BROWSER,
    FORM,
    KEYS,
    MULTIPART,
    PAGE,
    UNLIMITED,
    form_request,
    multipart,
    post,
    stored,
)
from tests.surfaces.stage import Surface, open_surface

JSON = "application/json"
ACCEPT_JSON = "*/*"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surface]:
    """One gateway without limits for all cases."""
    with open_surface(tmp_path_factory.mktemp("forms"), KEYS, UNLIMITED) as surface:
        yield surface


@pytest.fixture
def surface(app: Surface) -> Surface:
    """The gateway with its initial cells."""
    app.reset()
    return app


OWN = {"_next": f"{PAGE}/ok", "_gotcha": "", "_id": "contact"}
URLENCODED = urlencode({"name": "Ann", "state": "a\r\nb", **OWN}).encode()
AS_PARTS = multipart(
    ('name="name"', "Ann"),
    ('name="state"', "a\r\nb"),
    *((f'name="{name}"', value) for name, value in {**OWN, "_id": "other"}.items()),
)


@pytest.mark.parametrize(
    ("body", "media_type", "row"),
    [
        pytest.param(URLENCODED, FORM, ("Ann", "a\nb"), id="urlencoded"),
        pytest.param(AS_PARTS, MULTIPART, ("Ann", "a\nb"), id="multipart"),
        pytest.param(b"name=%3DA1%2B1&_method=post", FORM, ("=A1+1",), id="a formula is a text"),
        pytest.param(multipart(('name="name"', "é✓")), MULTIPART, ("é✓",), id="UTF-8"),
        pytest.param(
            multipart(('name="name"\r\nContent-Transfer-Encoding: 8bit', "é")),
            MULTIPART,
            ("é",),
            id="a coding that changes nothing",
        ),
        pytest.param(b"name=Ann&apiKey=x&rowIndex=9", FORM, ("Ann",), id="never stored"),
        pytest.param(b'{"name":"Ann"}', JSON, ("Ann",), id="JSON"),
        pytest.param(b'{"name":"Ann"}', FORM, ("Ann",), id="JSON as a form"),
    ],
)
def test_a_form_is_a_row(
    surface: Surface, body: bytes, media_type: str, row: tuple[str, ...]
) -> None:
    """Both encodings store the same row without the fields of the form itself, in 1 write."""
    answer = post(surface, body, media_type=media_type)

    assert answer.status_code in (201, 303)
    assert stored(surface) == [row]
    assert surface.calls.writes == 1


@pytest.mark.parametrize(
    ("key", "fields", "accept", "status", "location"),
    [
        pytest.param("form", {"_next": f"{PAGE}/ok#x"}, BROWSER, 303, f"{PAGE}/ok#x", id="_next"),
        pytest.param("next", {}, BROWSER, 303, f"{PAGE}/thanks", id="the key's"),
        pytest.param("next", {"_next": f"{PAGE}/b"}, BROWSER, 303, f"{PAGE}/b", id="_next first"),
        pytest.param("next", {"_next": ""}, BROWSER, 303, f"{PAGE}/thanks", id="empty _next"),
        pytest.param("form", {}, BROWSER, 201, None, id="thanks"),
        pytest.param("form", {"_next": f"{PAGE}/ok"}, "*/*", 201, None, id="fetch"),
        pytest.param("next", {}, "application/json, text/html", 201, None, id="both"),
        pytest.param("next", {}, "application/json, text/html;q=0.9", 201, None, id="JSON"),
        pytest.param("next", {}, "text/*", 201, None, id="no HTML by name"),
    ],
)
def test_a_browser_gets_the_next_page(
    surface: Surface,
    key: str,
    fields: dict[str, str],
    accept: str,
    status: int,
    location: str | None,
) -> None:
    """The answer is 303 or a page only if `Accept` prefers HTML. JSON has the sent fields."""
    answer = post(surface, {"name": "Ann", **fields}, key=key, accept=accept)

    assert (answer.status_code, answer.headers.get("location")) == (status, location)
    assert stored(surface) == [("Ann",)]
    if status == 201 and "text/html" in answer.headers["content-type"]:
        assert answer.headers["content-security-policy"] == POLICY
        assert b"Thank you" in answer.content
    elif status == 201:
        assert answer.json() == {"name": "Ann"}


@pytest.mark.parametrize("header", KEY_HEADERS)
@pytest.mark.parametrize(("key", "status"), [("form", 201), ("form", 400), ("paid", 400)])
def test_a_program_gets_json(surface: Surface, header: bytes, key: str, status: int) -> None:
    """A program with its key in a header gets JSON, even if its `Accept` prefers HTML."""
    accept = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
    fields = {"name" if status == 201 else "nmae": "Ann"}
    keyed = [(header.decode(), surface.keys[key])]
    request = form_request(surface, fields, accept=accept, headers=keyed)
    answer = surface.send(**{**request, "target": "New"})

    assert (answer.status_code, answer.headers["content-type"]) == (status, JSON_TEXT)
    assert answer.json().get("code") == (104 if status == 400 else None)


REFUSED: Sequence[tuple[str, int, int, Mapping[str, object]]] = [
    ("an unknown field", 400, 104, {"fields": {"nam<e": "Ann"}}),
    ("a field twice", 400, 104, {"fields": [("name", "a"), ("name", "b")]}),
    ("_next twice", 400, 104, {"fields": [("name", "a"), ("_next", PAGE), ("_next", PAGE)]}),
    ("no value", 400, 104, {"fields": {"name": "", "_id": "1", "_next": f"{PAGE}/"}}),
    (
        "_next as a field of JSON",
        400,
        104,
        {"fields": b'{"name":1,"_next":""}', "media_type": JSON},
    ),
    ("a list", 403, 4036, {"fields": b'[{"name":1}]', "media_type": JSON}),
    ("text/plain", 400, 104, {"fields": b"name=Ann", "media_type": "text/plain"}),
    ("another method", 400, 4000, {"fields": {"name": "Ann", "_method": "DELETE"}}),
    (
        "another method in parts",
        400,
        4000,
        {"fields": multipart(('name="_method"', "PUT")), "media_type": MULTIPART},
    ),
    (
        "a file",
        415,
        4150,
        {"fields": multipart(('name="a"; filename="b.txt"', "x")), "media_type": MULTIPART},
    ),
    (
        "an empty file",
        415,
        4150,
        {"fields": multipart(('filename=""; name="a"', "")), "media_type": MULTIPART},
    ),
    (
        "a cut form",
        400,
        104,
        {"fields": multipart(('name="name"', "Ann"), end=""), "media_type": MULTIPART},
    ),
    (
        "no boundary",
        400,
        104,
        {"fields": multipart(('name="name"', "x")), "media_type": "multipart/form-data"},
    ),
    ("Latin-1", 400, 104, {"fields": b"name=%E9"}),
    (
        "Latin-1 in parts",
        400,
        104,
        {
            "fields": multipart(('name="name"', "é")).decode().encode("latin-1"),
            "media_type": MULTIPART,
        },
    ),
    *(
        (
            f"the coding {coding}",
            400,
            104,
            {
                "fields": multipart(
                    (f'name="name"\r\nContent-Transfer-Encoding: {coding}', "QQ==")
                ),
                "media_type": MULTIPART,
            },
        )
        for coding in ("base64", "8bits")
    ),
    ("no Origin", 403, 4031, {"fields": {"name": "Ann"}, "origin": None}),
    ("a null Origin", 403, 4031, {"fields": {"name": "Ann"}, "origin": "null"}),
    (
        "another Origin",
        403,
        4031,
        {"fields": {"name": "Ann"}, "origin": "https://shop.example.org"},
    ),
    ("a key that may read", 401, 4012, {"fields": {"name": "Ann"}, "key": "paid"}),
    (
        "two keys of idempotency",
        400,
        4004,
        {"fields": {"name": "Ann", "_id": "1"}, "headers": [("Idempotency-Key", "2")]},
    ),
    ("a large body", 413, 4130, {"fields": b"name=" + b"x" * 1_048_577}),
]


@pytest.mark.parametrize(
    ("status", "code", "options"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED]
)
def test_an_error_is_a_page_with_the_text_of_the_json(
    surface: Surface, status: int, code: int, options: dict[str, object]
) -> None:
    """An error page has the status and text of the JSON error, and nothing is written."""
    page = post(surface, **options)  # type: ignore[arg-type]
    plain = post(surface, **options, accept=ACCEPT_JSON)  # type: ignore[arg-type]
    found = plain.json()
    is_browsers = options.get("media_type") != JSON
    shown = unescape(page.content.decode())

    assert (plain.status_code, found["code"]) == (status, code)
    assert page.status_code == status
    assert found["message"] in (shown if is_browsers else json.loads(page.content)["message"])
    assert surface.calls.writes == 0
    if is_browsers:
        assert page.headers["content-security-policy"] == POLICY
        assert f"<title>{'Your form was not stored'}</title>" in shown
        assert "nam<e" not in page.content.decode()


SEND_AGAIN, ASK, BACK = "Send it again in 7 seconds", "before you send it again", "Back button"


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [("not_applied", [SEND_AGAIN, BACK]), ("unknown", [ASK]), ("applied", [])],
)
def test_a_page_invites_to_send_only_what_was_not_stored(
    surface: Surface, outcome: Outcome, shown: Sequence[str]
) -> None:
    """A page suggests to send a form again only if no second row can result."""
    surface.calls.failure = StorageFull("", outcome=outcome, retry_after_seconds=7)
    page = post(surface, {"name": "Ann"}).content.decode()

    assert [each for each in (SEND_AGAIN, ASK, BACK) if each in page] == shown


@pytest.mark.parametrize("name", ["Your näme", "a/b~1", "100%25", "<b>"])
def test_an_error_page_names_fields_as_they_were_sent(surface: Surface, name: str) -> None:
    """An error page shows plain field names. JSON errors have encoded pointers."""
    page = post(surface, {name: "Ann"}).content.decode()

    assert f"<li>{escape(name)}: " in page


def test_a_key_without_origins_takes_a_form_of_any_page(surface: Surface) -> None:
    """A key without origins accepts forms of any page, also without `Origin`."""
    answers = [post(surface, {"name": "Ann"}, key="open", origin=each) for each in (None, "null")]

    assert [each.status_code for each in answers] == [201, 201]


@pytest.mark.parametrize(
    ("referer", "link"),
    [
        pytest.param(f'{PAGE}/form?a="b', f"{PAGE}/form?a=&quot;b", id="the page"),
        pytest.param(f"{PAGE}/", f"{PAGE}/", id="its origin"),
        pytest.param("https://evil.example/", None, id="another page"),
        pytest.param("javascript:alert(1)", None, id="no page"),
        pytest.param("", None, id="none"),
    ],
)
def test_the_page_has_a_link_back(surface: Surface, referer: str, link: str | None) -> None:
    """The page links back to the form if the browser sends its URL."""
    answer = post(surface, {"nam": "Ann"}, headers=[("Referer", referer)]).content.decode()

    assert (f'<a href="{link}">' in answer) == (link is not None)
    assert ("<a " in answer) == (link is not None)


@pytest.mark.parametrize("accept", [BROWSER, ACCEPT_JSON])
def test_a_filled_gotcha_is_discarded(surface: Surface, accept: str) -> None:
    """A form with `_gotcha` gets a usual answer and is counted, but Google is not called."""
    fields = {"name": "Ann", "_next": f"{PAGE}/ok"}
    usual = post(surface, fields, accept=accept)
    calls, counted = (surface.calls.reads, surface.calls.writes), tallies.discarded_forms
    tallies.use.clear()

    answer = post(surface, {**fields, "_gotcha": "x"}, accept=accept)

    assert (answer.status_code, answer.content) == (usual.status_code, usual.content)
    assert answer.headers.keys() == usual.headers.keys()
    assert (surface.calls.reads, surface.calls.writes) == calls
    assert tallies.discarded_forms == counted + 1
    assert [place[1:] for place in tallies.use] == [(None, None, 0)]


def test_a_double_click_is_one_row(surface: Surface) -> None:
    """Equal forms with an `_id` are one row, even at the same time. Another text is another row."""
    first = {"name": "Ann", "state": "hello", "_id": "contact"}

    with ThreadPoolExecutor(4) as threads:
        answers = [*threads.map(lambda _: post(surface, first), range(4))]
    others = [
        post(surface, {**first, "state": "other"}),
        post(surface, {**first, "name": "Bob"}),
        post(surface, {**first, "_next": f"{PAGE}/ok"}),
        post(surface, {"name": "Cid"}),
        post(surface, {"name": "Cid", "_id": " "}),
    ]

    assert {each.status_code for each in answers} == {201}
    assert {each.content for each in answers} == {answers[0].content}
    assert [each.status_code for each in others] == [201, 201, 303, 201, 201]
    assert sorted(map(str, stored(surface))) == sorted(
        map(str, [("Ann", "hello"), ("Ann", "other"), ("Bob", "hello"), ("Cid",), ("Cid",)])
    )
