"""Method overrides: refused where their effect would differ from the request's own."""

import pytest

from tests.journeys.operations import JSON, ROW
from tests.surfaces.stage import Surface

HEADERS = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]
FORM = ("Content-Type", "application/x-www-form-urlencoded")
DIFFERENT = [
    *(("GET", "Cities", other) for other in ("POST", "PATCH", "DELETE", "delete")),
    *(("GET", "Cities/2", other) for other in ("PUT", "DELETE")),
    *(("POST", "Cities", other) for other in ("GET", "PUT", "PATCH", "DELETE", " patch ", "MERGE")),
    ("POST", "Cities?on_conflict=name", "PATCH"),
    *(("POST", "Cities/2", other) for other in ("GET", "DELETE")),
    *(("PUT", "Cities/2", other) for other in ("GET", "DELETE")),
    *(("PATCH", 'Cities?where={"name":"Chicago"}', other) for other in ("GET", "POST", "DELETE")),
]
SAME = [
    *(("GET", "Cities", other) for other in ("GET", "get", "HEAD", "")),
    ("HEAD", "Cities/2", "GET"),
    ("POST", "Cities", "POST"),
    *(("POST", "Cities/2", other) for other in ("PATCH", "PUT", "POST", " patch ")),
    *(("PUT", "Cities/2", other) for other in ("PATCH", "POST")),
    ("PATCH", 'Cities?where={"name":"Chicago"}', "PATCH"),
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(("method", "target", "other"), DIFFERENT)
def test_header_of_another_effect(
    surface: Surface, method: str, target: str, other: str, header: str
) -> None:
    """A header that names another method is rejected and named, and nothing is written."""
    code, answer = surface.refused(method, target, headers=[JSON, (header, other)], body=ROW)

    assert code == (400, 4000)
    assert header in answer.json()["message"]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(("method", "target", "other"), SAME)
def test_header_of_the_same_effect(
    surface: Surface, method: str, target: str, other: str, header: str
) -> None:
    """A header that names the request's own method changes nothing."""
    answer = surface.send(method, target, headers=[JSON, (header, other)], body=ROW)

    assert answer.status_code == (201 if target == "Cities" and method == "POST" else 200)


@pytest.mark.parametrize("is_cached", [False, True], ids=["cold", "warm"])
def test_override_of_a_read(surface: Surface, is_cached: bool) -> None:
    """An override of a read is rejected, even if the key is cached."""
    if is_cached:
        surface.send("GET", "Cities")

    code, answer = surface.refused("GET", "Cities", headers=[(HEADERS[0], "DELETE")])

    assert code == (400, 4000)
    assert 'X-HTTP-Method-Override names the method "DELETE"' in answer.json()["message"]


@pytest.mark.parametrize("target", ["Cities?_method={}", "Cities?limit=1&_method={}&_method=GET"])
@pytest.mark.parametrize("other", ["DELETE", "patch", "POST"])
def test_method_in_the_query_of_a_read(surface: Surface, target: str, other: str) -> None:
    """`_method` in a query counts like a header."""
    code, answer = surface.refused("GET", target.format(other))

    assert code == (400, 4000)
    assert answer.json()["message"].startswith("_method names the method")


@pytest.mark.parametrize(
    "name",
    [
        *("_METHOD", "_Method", "_method[]", "_method%5B%5D", "%5Fmethod", "%5fMETHOD%5b%5d"),
        *("x-http-method-override", "X-HTTP-Method-Override", "X-HTTP-Method"),
        *("X-Method-Override", "x_http_method_override"),
    ],
)
@pytest.mark.parametrize("sign", ["=", "%3D"])
def test_another_name_of_an_override_in_a_query(surface: Surface, name: str, sign: str) -> None:
    """Other names of override parameters are rejected if they would change the method."""
    codes = [
        surface.refused(method, f"Cities?{name}{sign}DELETE", body=body)[0]
        for method, body in (("GET", b""), ("POST", ROW))
    ]
    same = surface.send("GET", f"Cities?{name}{sign}GET")
    other = surface.send("GET", f"Cities?{name}{sign}PayPal")

    assert codes == [(400, 4000)] * 2
    assert (same.status_code, other.status_code) == (200, 200)


@pytest.mark.parametrize("name", ["method", "x-method", "_methods"])
def test_another_word_than_an_override(surface: Surface, name: str) -> None:
    """A similar header that is not an override is ignored."""
    assert surface.send("GET", f"Cities?{name}=DELETE").status_code == 200


def test_method_in_the_query_of_a_write(surface: Surface) -> None:
    """A create with the method of a delete writes nothing. An update as PATCH is carried out."""
    code, _ = surface.refused("POST", "Cities?_method=DELETE", headers=[JSON], body=ROW)
    updated = surface.send("POST", "Cities/2?_method=PATCH", headers=[JSON], body=ROW)

    assert code == (400, 4000)
    assert updated.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        *(b"_method=DELETE&name=x", b"name=x&_method=delete", b"_method=DELETE+&name=x"),
        *(b"_method=%20DELETE&name=x", b"name=x&%5Fmethod=delete", b"%5fmethod=%44ELETE&name=x"),
        *(b"_METHOD=DELETE&name=x", b"_method%5B%5D=DELETE&name=x"),
    ],
)
@pytest.mark.parametrize("target", ["Cities", "Cities/2"])
def test_method_in_a_form(surface: Surface, target: str, body: bytes) -> None:
    """A form with the method of a delete writes nothing."""
    code, answer = surface.refused("POST", target, headers=[FORM], body=body)

    assert code == (400, 4000)
    assert answer.json()["message"].startswith("_method in the form names")


@pytest.mark.parametrize(
    "body",
    [
        *(b"_method=PATCH&name=x", b"name=x&_method=put", b"name=x"),
        *(b"%5Fmethod=PATCH+&name=x", b"name=x&_method=%20put"),
    ],
)
def test_method_of_the_same_effect_in_a_form(surface: Surface, body: bytes) -> None:
    """`_method` that changes nothing is not stored as a field."""
    answer = surface.send("POST", "Cities/2", headers=[FORM], body=body)

    assert answer.json() == {"rowIndex": 2, "name": "x"}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"_method":"DELETE"}'),
        (FORM[1], b'{"_method":"DELETE"}'),
        (FORM[1], b"_method=PayPal"),
    ],
    ids=["JSON", "JSON as a form", "another word"],
)
def test_field_called_method(surface: Surface, content_type: str, body: bytes) -> None:
    """In JSON, and with a value that is not a method, `_method` is a usual field."""
    surface.sheets.add("Payments", [["_method"], ["cash"]])

    answer = surface.send("POST", "Payments", headers=[("Content-Type", content_type)], body=body)

    assert answer.status_code == 201


def test_override_without_a_key(surface: Surface) -> None:
    """A request without a key gets the error for the key first."""
    code, _ = surface.refused("GET", "Cities", key=None, headers=[(HEADERS[0], "DELETE")])

    assert code == (401, 4010)
