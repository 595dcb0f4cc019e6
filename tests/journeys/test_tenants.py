"""Tenants of one gateway cannot detect each other."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import (
    Api,
    EmulatorControl,
    make_keys,
    running_emulator,
    running_gateways,
)
from tests.journeys.matrix import KEYS, WORKBOOK, visible
from tests.journeys.waiting import PATIENCE_SECONDS

SCRIPT: Sequence[tuple[str, str, Mapping[str, Any]]] = [
    ("GET", "Open", {}),
    ("GET", "Open", {"params": {"where": '{"note":{"$text":"3"}}', "count": "true"}}),
    ("GET", "Open", {"params": {"order": "-name", "limit": "2"}}),
    ("GET", "Open", {"params": {"order": "hidden"}}),
    ("GET", "Open/3", {}),
    ("POST", "Open/3", {"json": {"note": "changed"}}),
    ("GET", "Open/3", {}),
    ("POST", "Open", {"json": {"note": "created"}}),
    ("POST", "Open", {"json": {"name": "x", "note": "y"}}),
    ("POST", "Open", {"json": {"hidden": "x"}}),
    ("PATCH", "Open/4", {"json": {"note": "x"}, "headers": {"If-Match": '"stale"'}}),
    ("PATCH", "Open/4", {"json": {"note": "x"}, "headers": {"If-Match": "*"}}),
    ("GET", "Shut", {}),
    ("GET", "Open", {"params": {"no-cache": "true"}}),
    ("GET", "Open", {"params": {"keys": "hidden,name"}}),
]
SAME_BOOK: Sequence[tuple[str, str, Mapping[str, Any]]] = [
    ("GET", "Open", {}),
    ("GET", "Open", {"params": {"order": "hidden"}}),
    ("GET", "Open/3", {}),
    ("PATCH", "Open/3", {"json": {"hidden": "theirs"}}),
    ("PATCH", "Open/4", {"json": {"hidden": "theirs too"}}),
    ("GET", "Open", {"params": {"where": '{"hidden":{"$text":"theirs"}}'}}),
    ("POST", "Open", {"json": {"nope": "x"}}),
]


@pytest.fixture(scope="module")
def book_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with the books of the matrix."""
    with running_emulator(tmp_path_factory.mktemp("tenants"), WORKBOOK) as control:
        yield control


def played(api: Api, key: str) -> list[httpx2.Response]:
    """The answers to the requests of `SCRIPT` on the first spreadsheet."""
    return [
        api.send(method, path, key=key, spreadsheet="book0", **options)
        for method, path, options in SCRIPT
    ]


def is_strong(answer: httpx2.Response) -> bool:
    """True if an answer has the strong ETag of a single row. ETags of lists are weak."""
    return not answer.headers.get("etag", "W/").startswith("W/")


@contextmanager
def traffic(
    api: Api, key: str, book: str, script: Sequence[tuple[str, str, Mapping[str, Any]]]
) -> Iterator[list[int]]:
    """Requests of another tenant during the block. Yields their statuses."""
    has_begun, is_over = threading.Event(), threading.Event()
    statuses: list[int] = []

    def run() -> None:
        with httpx2.Client(base_url=api.url, timeout=30.0) as client:
            other = Api(url=api.url, emulator=api.emulator, keys=api.keys, client=client)
            while script and not is_over.is_set():
                for method, path, options in script:
                    answer = other.send(method, path, key=key, spreadsheet=book, **options)
                    statuses.append(answer.status_code)
                    has_begun.set()

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run) for _ in range(2)]
        try:
            assert has_begun.wait(PATIENCE_SECONDS if script else 0) is bool(script)
            yield statuses
        finally:
            is_over.set()
    for each in runs:
        each.result()


@pytest.mark.parametrize(
    ("key", "book", "script", "settings", "besides"),
    [
        pytest.param(
            "b1 all whole",
            "book1",
            SCRIPT,
            {"cache.rows_ttl_seconds": 60},
            (),
            id="another book, kept",
        ),
        pytest.param("b1 all whole", "book1", SCRIPT, {}, (), id="another book, looking each time"),
        pytest.param(
            "b0-2 all whole",
            "book0",
            SAME_BOOK,
            {},
            ("cache-status", "etag"),
            id="hidden columns",
        ),
    ],
)
def test_a_tenant_is_answered_as_if_it_were_alone(
    book_emulator: EmulatorControl,
    tmp_path: Path,
    key: str,
    book: str,
    script: Sequence[tuple[str, str, Mapping[str, Any]]],
    settings: Mapping[str, object],
    besides: Sequence[str],
) -> None:
    """Answers and worksheet of a tenant are the same with and without traffic of another tenant.

    The other tenant uses another spreadsheet, or hidden columns of the same rows. Changes of hidden
    columns show only in the ETags of rows.
    """
    found = []
    keys = make_keys(tmp_path, KEYS)
    for others in (None, script):
        with running_gateways(book_emulator, keys) as start:
            api = start(settings)
            with traffic(api, key, book, others or ()) as statuses:
                answers = [
                    visible(
                        answer, *(name for name in besides if name != "etag" or is_strong(answer))
                    )
                    for answer in played(api, "b0 all some")
                ]
            rows = [row[:1] + row[2:] for row in api.emulator.texts("Open", "book0")]
        found.append((answers, rows))

    assert found[0] == found[1]
    assert {status for status, *_ in answers} == {200, 201, 400, 403, 412}
    assert {status for status in statuses if status < 300}
    assert max(statuses) < 500
