"""A short campaign, and planted bugs that a campaign must find."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from urllib.parse import quote_from_bytes

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.telemetry.events import log
from tests.fuzz.campaign import Campaign, fought
from tests.fuzz.canaries import CELL, OTHER_TENANT, PEPPER

CASES = 300
FEW = 120
"""Number of requests after which every planted bug is found."""

Change = Callable[[Message], Message]


def test_a_campaign_finds_no_problem() -> None:
    """All answers are correct, and no answer or log line contains a secret."""
    report = fought(Campaign(cases=CASES))

    assert report.problems == []
    assert report.answers.total() >= CASES
    assert {200, 201, 400, 401, 404, 405} <= set(report.answers)
    assert len(report.canaries) == 7


def changing(change: Change) -> Callable[[ASGIApp, Mapping[str, str]], ASGIApp]:
    """Return a wrapper that changes the gateway's messages."""

    def wrap(app: ASGIApp, _: Mapping[str, str]) -> ASGIApp:
        async def changed(scope: Scope, receive: Receive, send: Send) -> None:
            async def sending(message: Message) -> None:
                await send(change(message))

            await app(scope, receive, sending)

        return changed

    return wrap


def starting(**changes: object) -> Change:
    """Return a function that changes the start of an answer."""
    return lambda message: {**message, **changes} if "status" in message else message


def saying(text: str) -> Change:
    """Return a function that replaces the body of an answer."""
    return lambda message: {**message, "body": text.encode()} if "body" in message else message


def logging_cell(app: ASGIApp, _: Mapping[str, str]) -> ASGIApp:
    async def logged(scope: Scope, receive: Receive, send: Send) -> None:
        log.info("asked", secret=CELL)
        await app(scope, receive, send)

    return logged


def failing(app: ASGIApp, _: Mapping[str, str]) -> ASGIApp:
    async def failed(scope: Scope, receive: Receive, send: Send) -> None:
        log.error("fault", id="x")
        await app(scope, receive, send)

    return failed


def raising(_: ASGIApp, __: Mapping[str, str]) -> ASGIApp:
    async def raised(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a bug")

    return raised


def telling_key(app: ASGIApp, keys: Mapping[str, str]) -> ASGIApp:
    return changing(saying(keys["paid"]))(app, keys)


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        pytest.param(changing(starting(status=500)), "a 500", id="500"),
        pytest.param(changing(starting(status=503)), "a 503", id="503"),
        pytest.param(changing(starting(headers=[])), "no x-request-id", id="no headers"),
        pytest.param(changing(saying("<html>")), "not the contract's", id="HTML"),
        pytest.param(changing(saying("{}")), "not the contract's", id="another shape"),
        pytest.param(changing(saying(f'"{CELL}"')), "hidden cell in an answer", id="cell"),
        pytest.param(
            changing(saying(quote_from_bytes(CELL.encode(), safe="").replace("-", "%2D"))),
            "hidden cell in an answer",
            id="cell, encoded",
        ),
        pytest.param(
            changing(saying(b64encode(f'"{CELL}"'.encode()).decode())),
            "hidden cell in an answer",
            id="cell in base64",
        ),
        pytest.param(changing(saying(OTHER_TENANT)), "spreadsheet in an answer", id="tenant"),
        pytest.param(changing(saying(PEPPER)), "pepper in an answer", id="pepper"),
        pytest.param(telling_key, "key in an answer", id="key"),
        pytest.param(logging_cell, "hidden cell in the log", id="cell in the log"),
        pytest.param(failing, "a fault in the log", id="fault in the log"),
        pytest.param(raising, "RuntimeError", id="exception"),
    ],
)
def test_a_planted_bug_is_found(
    wrap: Callable[[ASGIApp, Mapping[str, str]], ASGIApp], words: str
) -> None:
    """The campaign reports each planted bug."""
    report = fought(Campaign(cases=FEW, wrap=wrap))

    assert any(words in problem for problem in report.problems), report.problems
