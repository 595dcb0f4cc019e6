"""Keys that need Cloudflare Turnstile."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import UUID

import pytest

from tests.surfaces.form_stage import KEYS, UNLIMITED, form_request, post, stored
from tests.surfaces.stage import Surface, open_surface
from tests.surfaces.turnstile import SECRET, Siteverify, running_siteverify

TOKEN = "cf-turnstile-response"
JSON = "application/json"
EXPIRED = {"success": False, "error-codes": ["timeout-or-duplicate"]}
"""Cloudflare's verdict on a token that was used or is older than 5 minutes."""


@dataclass(frozen=True)
class Scene:
    surface: Surface
    cloudflare: Siteverify


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Open a gateway with a stand-in for Cloudflare."""
    with running_siteverify() as cloudflare:
        settings = {**UNLIMITED, "turnstile.secret": SECRET, "turnstile.url": cloudflare.url}
        folder = tmp_path_factory.mktemp("turnstile")
        with open_surface(folder, KEYS, settings) as surface:
            yield Scene(surface, cloudflare)


@pytest.fixture
def scene(opened: Scene) -> Scene:
    opened.surface.reset()
    opened.cloudflare.asked.clear()
    opened.cloudflare.used.clear()
    opened.cloudflare.status, opened.cloudflare.text = 200, ""
    return opened


def send_as_person(
    surface: Surface, fields: Mapping[str, str], *, title: str = "New", **options: Any
) -> int:
    """Return the status of a form or JSON body, sent with a key that needs a token."""
    is_json = options.get("media_type") == JSON
    body = json.dumps(fields).encode() if is_json else fields
    request = form_request(surface, body, key="person", **{"accept": "*/*", **options})
    target = request["target"].replace("New", title)
    return surface.send(**{**request, "target": target}).status_code


@pytest.mark.parametrize("media_type", ["form", JSON])
def test_a_person_is_stored(scene: Scene, media_type: str) -> None:
    """A form or JSON body with a valid token is stored.

    The token is verified once and not stored.
    """
    fields = {"name": "Ann", TOKEN: "good-1"}
    options = {} if media_type == "form" else {"media_type": JSON}
    body = fields if media_type == "form" else json.dumps(fields).encode()

    answer = post(scene.surface, body, key="person", accept="*/*", **options)

    assert (answer.status_code, answer.json()) == (201, {"name": "Ann"})
    assert stored(scene.surface) == [("Ann",)]
    assert scene.cloudflare.asked == [{"secret": SECRET, "response": "good-1"}]


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        pytest.param({"name": "Ann"}, 0, id="missing"),
        pytest.param({"name": "Ann", TOKEN: ""}, 0, id="empty"),
        pytest.param({"name": "Ann", TOKEN: "good-" + "x" * 2048}, 0, id="too long"),
        pytest.param({"name": "Ann", TOKEN: "wrong"}, 1, id="wrong"),
        pytest.param(b'{"name": "Ann"}', 0, id="JSON without"),
        pytest.param(b'{"name": "Ann", "cf-turnstile-response": 5}', 1, id="JSON with another"),
    ],
)
def test_others_are_refused(scene: Scene, body: dict[str, str] | bytes, asked: int) -> None:
    """A missing or invalid token gets 400 4037, and nothing is written."""
    answer = post(scene.surface, body, key="person", accept="*/*")

    assert (answer.status_code, answer.json()["code"]) == (400, 4037)
    assert len(scene.cloudflare.asked) == asked
    assert (scene.surface.calls.writes, stored(scene.surface)) == (0, [])


@pytest.mark.parametrize(
    ("status", "text"),
    [
        pytest.param(500, "", id="failure"),
        pytest.param(500, '{"success": true}', id="failure with a verdict"),
        pytest.param(302, '{"success": true}', id="redirect with a verdict"),
        pytest.param(200, "<html>", id="no JSON"),
        pytest.param(200, '{"success": "true"}', id="no verdict"),
        pytest.param(200, '{"success": false}', id="no reason"),
        pytest.param(200, '{"success": false, "error-codes": ["internal-error"]}', id="its fault"),
        pytest.param(200, '{"success":false,"error-codes":["invalid-input-secret"]}', id="secret"),
        pytest.param(200, '{"success":false' + " " * 70_000 + "}", id="too large"),
    ],
)
def test_without_a_verdict_nothing_is_stored(scene: Scene, status: int, text: str) -> None:
    """Without Cloudflare's verdict the answer is 503 5030 with `Retry-After`."""
    scene.cloudflare.status, scene.cloudflare.text = status, text or "oops"

    answer = post(scene.surface, {"name": "Ann", TOKEN: "good-1"}, key="person", accept="*/*")

    found = answer.json()
    assert (answer.status_code, found["code"], found["retryable"]) == (503, 5030, True)
    assert answer.headers["retry-after"] == "10"
    assert SECRET not in answer.content.decode()
    assert stored(scene.surface) == []


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="no secret"),
        pytest.param(
            {"turnstile.secret": SECRET, "turnstile.url": "http://127.0.0.1:9/"}, id="unreachable"
        ),
    ],
)
def test_without_cloudflare_nothing_is_stored(tmp_path: Path, settings: dict[str, str]) -> None:
    """If Cloudflare fails or the secret is missing, the answer is 503 5030."""
    with open_surface(tmp_path, KEYS, {**UNLIMITED, **settings}) as surface:
        answer = post(surface, {"name": "Ann", TOKEN: "good-1"}, key="person", accept="*/*")

        assert (answer.status_code, answer.json()["code"]) == (503, 5030)
        assert stored(surface) == []


Way = Literal["_id", "header", "JSON"]
"""How a submission is marked as a repetition."""
REPEATED = pytest.mark.parametrize("way", get_args(Way))


def marked(way: Way, key: str) -> tuple[Mapping[str, str], Mapping[str, Any]]:
    """Return fields and options of `send_as_person` for a submission with this idempotency key."""
    if way == "_id":
        return {"_id": key}, {}
    media_type = {"media_type": JSON} if way == "JSON" else {}
    return {}, {"headers": [("Idempotency-Key", f"{key}-{way}")], **media_type}


@REPEATED
def test_a_token_counts_once(scene: Scene, way: Way) -> None:
    """A repetition with the same token is the same row. Other data with the token is rejected."""
    own, options = marked(way, "once")

    def send(name: str, title: str = "New", **others: Any) -> int:
        fields = {"name": name, TOKEN: "good-1", **({} if others else own)}
        return send_as_person(scene.surface, fields, title=title, **{**options, **others})

    assert [send("Ann"), send("Ann")] == [201, 201]
    assert [send("Bob"), send("Ann", "Cities"), send("Ann", headers=())] == [400] * 3
    assert stored(scene.surface) == [("Ann",)]
    assert scene.surface.calls.writes == 1
    assert UUID(scene.cloudflare.asked[0]["idempotency_key"]).version == 4


@REPEATED
def test_a_repetition_passes_when_its_token_has_expired(scene: Scene, way: Way) -> None:
    """A repetition after expiry gets its answer without a call.

    Another token or none gets nothing.
    """
    own, options = marked(way, "expired")

    def send(name: str, token: str) -> int:
        return send_as_person(scene.surface, {"name": name, TOKEN: token, **own}, **options)

    first = send("Ann", "good-1")
    scene.cloudflare.text = json.dumps(EXPIRED)

    assert [first, send("Ann", "good-1")] == [201, 201]
    assert len(scene.cloudflare.asked) == 1
    others = [("Ann", "good-2"), ("Ann", ""), ("Bob", "good-1"), ("Bob", "good-2")]
    assert [send(*other) for other in others] == [400] * 4
    scene.cloudflare.text = ""
    assert send("Ann", "good-2") == 201
    assert (stored(scene.surface), scene.surface.calls.writes) == ([("Ann",)], 1)


def test_a_program_costs_no_question(scene: Scene) -> None:
    """A form with `_gotcha` is dropped before Cloudflare is called. Other keys need no token."""
    post(scene.surface, {"name": "Ann", "_gotcha": "x"}, key="person")
    post(scene.surface, {"name": "Ann"}, key="form")

    assert scene.cloudflare.asked == []
    assert stored(scene.surface) == [("Ann",)]
