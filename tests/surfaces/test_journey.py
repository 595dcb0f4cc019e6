"""The functions and files of the gateway that a request passes through: a ratchet.

The numbers may only fall: each change that makes a journey shorter lowers them here. The fake
`Sheets` stands for all behind this interface.
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from urllib.parse import urlencode

import pytest

import gateway
from gateway.storage.key_store import Grants, KeyRequest
from gateway.web import parameters
from tests.surfaces.stage import GRANTED, Headers, open_surface

ROOT = str(Path(gateway.__file__).parent)
SLACK, FILE_SLACK = 6, 2
"""Allowed difference below each limit, because objects made once per process can exist already."""
BESIDE = frozenset({"LastUse._keep_all", "KeyStore.touch", "_set_up_connection"})
"""Functions that run in the background of requests now and then."""
ATTEMPTS = 3
"""Number of attempts. On a busy machine a slice of work can take one more function."""
KEYED = ("Idempotency-Key", "a-1")
JSON = ("Content-Type", "application/json")
BODY = b'{"name":"X","population":5}'
KEYS = {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=GRANTED, may_delete=True))}
SETTINGS = {"cache.rows_ttl_seconds": 60, "plans.paid.deletes": True}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request, the request before it, and its maximum number of functions and files."""

    method: str
    target: str
    functions: int
    files: int
    before: str = ""
    headers: Headers = ()
    body: bytes = b""


def listed(population: int) -> str:
    """Return a filtered and sorted list."""
    where = json.dumps({"population": {"$gte": population}})
    return "Cities?" + urlencode({"where": where, "order": "-name"})


def chosen(name: str, state: str) -> str:
    """Return the target of a write by filter."""
    return "Cities?" + urlencode({"where": json.dumps({"name": name, "state": state})})


JOURNEYS = {
    "list": Ask(method="GET", target=listed(2800001), functions=217, files=36),
    "another page": Ask(
        method="GET",
        target=listed(2800002) + "&skip=1",
        before=listed(2800002),
        functions=82,
        files=24,
    ),
    "the same again": Ask(
        method="GET", target=listed(2800003), before=listed(2800003), functions=32, files=13
    ),
    "row": Ask(method="GET", target="Cities/2?keys=population,state,name", functions=144, files=28),
    "cached row": Ask(
        method="GET",
        target="Cities/2?keys=country,population,name",
        before=listed(2800004),
        functions=52,
        files=16,
    ),
    "create": Ask(method="POST", target="Cities", body=BODY, functions=198, files=38),
    "create after a list": Ask(
        method="POST", target="Cities", before=listed(2800005), body=BODY, functions=199, files=40
    ),
    "create with a key": Ask(
        method="POST", target="Cities", headers=[KEYED], body=BODY, functions=231, files=41
    ),
    "update": Ask(method="PATCH", target="Cities/2", body=BODY, functions=216, files=40),
    "upsert": Ask(
        method="POST", target="Cities?on_conflict=name", body=BODY, functions=304, files=48
    ),
    "update by filter": Ask(
        method="PATCH", target=chosen("Chicago", "Illinois"), body=BODY, functions=336, files=51
    ),
    "delete": Ask(method="DELETE", target="Cities/2", functions=190, files=38),
    "delete by filter": Ask(
        method="DELETE", target=chosen("New York", "New York"), functions=315, files=49
    ),
}


@dataclass(kw_only=True)
class Journey:
    """Functions that were entered, each as file and qualified name.

    Comprehensions and lambdas do not count, because later versions of Python inline comprehensions.
    """

    functions: set[tuple[str, str]] = field(default_factory=set)

    @property
    def size(self) -> tuple[int, int]:
        """Number of functions, and of their files."""
        return len(self.functions), len({file for file, _ in self.functions})

    def note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_counted = code.co_name[0] != "<" and code.co_qualname not in BESIDE
        if event == "call" and is_counted and code.co_filename.startswith(ROOT):
            self.functions.add((code.co_filename, code.co_qualname))


def travelled(folder: Path, ask: Ask) -> Journey:
    """Return the journey of a request in an application that has served other requests.

    Clears the caches of parsed parameters, because earlier attempts sent the same values.
    """
    journey = Journey()
    for each in vars(parameters).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()

    def send(method: str, target: str, headers: Headers = (), body: bytes = b"") -> None:
        headers = [*headers, JSON] if body else headers
        answer = surface.send(method, target, headers=headers, body=body)
        assert answer.status_code < 300, answer.content

    with open_surface(folder, KEYS, SETTINGS) as surface:
        send("GET", "New")
        send("POST", "New", body=BODY)
        if ask.before:
            send("GET", ask.before)
        surface.portal.call(sys.setprofile, journey.note)
        try:
            send(ask.method, ask.target, ask.headers, ask.body)
        finally:
            surface.portal.call(sys.setprofile, None)
    return journey


@pytest.mark.parametrize("ask", JOURNEYS.values(), ids=JOURNEYS)
def test_journeys_grow_no_longer(tmp_path: Path, ask: Ask) -> None:
    """A request passes through at most as many functions and files as the table says."""
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        functions, files = travelled(folder, ask).size
        if functions <= ask.functions and files <= ask.files:
            break

    assert ask.functions - SLACK <= functions <= ask.functions, "lower the number, never raise it"
    assert ask.files - FILE_SLACK <= files <= ask.files, "lower the number, never raise it"
