"""Translation of Google's refusals and of broken connections into errors."""

import traceback

import httpx
import pytest

from gateway.errors import (
    GatewayError,
    QuotaSpent,
    SheetTooLarge,
    SpreadsheetNotFound,
    SpreadsheetNotShared,
    UnsupportedDocument,
    UpstreamAuth,
    UpstreamError,
    UpstreamRefusal,
    WriteTooLarge,
)
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import (
    A_READ,
    ACCOUNT,
    READS,
    WRITES,
    FakeGoogle,
    Pieces,
    assert_open,
    error_answer,
    failure,
    failures,
    read_and_write,
    verbs,
)

HTML = httpx.Response(503, html="<html>secret cell</html>")
HTML_429 = httpx.Response(429, html="<html>secret cell</html>")

REFUSALS: dict[str, tuple[httpx.Response, type[GatewayError]]] = {
    "bad range": (error_answer(400, "INVALID_ARGUMENT"), UpstreamRefusal),
    "400 as HTML": (httpx.Response(400, html="<p>secret cell"), UpstreamRefusal),
    "400 of another shape": (httpx.Response(400, json={"error": 1}), UpstreamRefusal),
    "Office file": (error_answer(400, "FAILED_PRECONDITION"), UnsupportedDocument),
    "not shared": (error_answer(403, "PERMISSION_DENIED"), SpreadsheetNotShared),
    "403 as HTML": (httpx.Response(403, html="<p>secret cell"), SpreadsheetNotShared),
    "API disabled": (
        error_answer(403, "PERMISSION_DENIED", reason="SERVICE_DISABLED"),
        UpstreamAuth,
    ),
    "API disabled, without a reason": (
        error_answer(
            403,
            "PERMISSION_DENIED",
            "Activar: https://console.developers.google.com/apis/api/sheets.googleapis.com/"
            "overview?project=1234567890. secret cell",
        ),
        UpstreamAuth,
    ),
    "API disabled, in words alone": (
        error_answer(
            403,
            "PERMISSION_DENIED",
            "Google Sheets API has not been used in project 1234567890 before or it is disabled.",
        ),
        UpstreamAuth,
    ),
    "scope missing": (
        error_answer(403, "PERMISSION_DENIED", reason="ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        UpstreamAuth,
    ),
    "project suspended": (
        error_answer(403, "PERMISSION_DENIED", reason="CONSUMER_SUSPENDED"),
        UpstreamAuth,
    ),
    "quota as 403": (
        error_answer(403, "PERMISSION_DENIED", reason="RATE_LIMIT_EXCEEDED"),
        QuotaSpent,
    ),
    "unknown id": (error_answer(404, "NOT_FOUND"), SpreadsheetNotFound),
    "quota": (
        error_answer(429, "RESOURCE_EXHAUSTED", reason="RATE_LIMIT_EXCEEDED"),
        QuotaSpent,
    ),
    "quota as HTML": (HTML_429, QuotaSpent),
    "another 4xx": (error_answer(410, "NOT_FOUND"), UpstreamError),
}

FAILURES: dict[str, httpx.Response] = {
    "408 as HTML": httpx.Response(408, html="<p>secret cell"),
    "409": error_answer(409, "ABORTED"),
    "499": error_answer(499, "CANCELLED"),
    "500": error_answer(500, "INTERNAL"),
    "502 as HTML": httpx.Response(502, html="<p>secret cell"),
    "503": error_answer(503, "UNAVAILABLE"),
    "503 as HTML": HTML,
    "redirect": httpx.Response(302, headers={"location": "https://sheets.googleapis.com/x"}),
    "no content": httpx.Response(204),
}

UNREADABLE: dict[str, httpx.Response] = {
    "HTML": httpx.Response(200, html="<html>secret cell</html>"),
    "empty": httpx.Response(200),
    "truncated JSON": httpx.Response(200, content=b'{"range": "T!A1", "values": [["secret ce'),
    "not UTF-8": httpx.Response(200, content=b'{"range": "\xff"}'),
    "list": httpx.Response(200, json=[]),
    "null": httpx.Response(200, json=None, content=b"null"),
    "members missing": httpx.Response(200, json={}),
    "members of other types": httpx.Response(
        200,
        json={
            "range": 1,
            "valueRanges": {},
            "sheets": "",
            "updatedSpreadsheet": [],
            "spreadsheetId": None,
        },
    ),
    "too few parts": httpx.Response(
        200,
        json={
            "range": "T!A1",
            "values": "none",
            "valueRanges": [{"range": "T!A1"}],
            "sheets": [{"properties": {"sheetId": 0, "title": "T"}}],
            "updatedSpreadsheet": {"sheets": []},
        },
    ),
    "nested too deeply": httpx.Response(200, content=b'{"x":' + b"[" * 50_000),
    "broken gzip": httpx.Response(
        200,
        headers={"content-encoding": "gzip"},
        stream=Pieces([b"no gzip at all"]),
    ),
}


@pytest.mark.parametrize(("answer", "kind"), REFUSALS.values(), ids=REFUSALS)
async def test_errors_of_refusals(
    answer: httpx.Response, kind: type[GatewayError], settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A refusal raises the same error for all methods, without Google's text, and without retry."""
    google.sheets.mock(return_value=answer)

    errors = await failures(settings, verbs())

    assert {type(error) for error in errors.values()} == {kind}
    assert not any("secret" in error.message for error in errors.values())
    assert google.sheets.call_count == len(errors)


@pytest.mark.parametrize(("answer", "kind"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refused_write_was_not_applied(
    answer: httpx.Response, kind: type[GatewayError], settings: GoogleSettings, google: FakeGoogle
) -> None:
    """The error of a write that Google refused has the outcome `not_applied`."""
    google.sheets.mock(return_value=answer)

    errors = await failures(settings, WRITES)

    outcome = None if kind is SpreadsheetNotFound else "not_applied"
    assert {error.outcome for error in errors.values()} == {outcome}


async def test_the_text_of_a_400_is_in_google_message(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """`google_message` has the whole text of a 400; the chain of causes has only known phrases."""
    text = "Range (Solar!Y1) exceeds grid limits. Max rows: 981, max columns: 24"
    google.sheets.mock(return_value=error_answer(400, "INVALID_ARGUMENT", text))

    error = await failure(settings, A_READ)

    assert isinstance(error, UpstreamRefusal)
    assert error.google_message == text
    assert str(error.__cause__) == "HTTP 400 INVALID_ARGUMENT: exceeds grid limits"


async def test_the_error_names_the_account_to_share_with(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """The error about a spreadsheet that is not shared has the account's address."""
    google.sheets.mock(return_value=error_answer(403, "PERMISSION_DENIED"))

    error = await failure(settings, A_READ)

    assert ACCOUNT in error.message
    assert "Editor" in error.message


@pytest.mark.parametrize("name", ["quota", "quota as HTML", "quota as 403"])
async def test_a_429_is_retryable_after_a_minute(
    name: str, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """The error of a 429 is retryable after 60 s, because Google's limits are per minute."""
    google.sheets.mock(return_value=REFUSALS[name][0])

    read, write = await read_and_write(settings)

    assert (read.retry_after_seconds, write.retry_after_seconds) == (60, 60)


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_a_failed_read_is_an_upstream_error(
    answer: httpx.Response, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A read that fails at Google raises UpstreamError, is sent once, and follows no redirect."""
    google.sheets.mock(return_value=answer)

    errors = await failures(settings, READS)

    assert {type(error) for error in errors.values()} == {UpstreamError}
    assert not any("secret" in error.message for error in errors.values())
    assert google.sheets.call_count == len(errors)


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_the_outcome_of_a_failed_write_is_unknown(
    answer: httpx.Response, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A write that fails at Google has an unknown outcome and is sent once."""
    google.sheets.mock(return_value=answer)

    errors = await failures(settings, WRITES)

    assert_open(*errors.values())
    assert google.sheets.call_count == len(errors)


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_unreadable_read_is_an_upstream_error(
    answer: httpx.Response, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """An unreadable answer to a read raises UpstreamError, instead of an empty result."""
    google.sheets.mock(return_value=answer)

    errors = await failures(settings, READS)

    assert {type(error) for error in errors.values()} == {UpstreamError}
    assert {error.message for error in errors.values()} == {
        "Google's answer is unreadable. Try again."
    }


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
async def test_the_outcome_of_a_write_with_an_unreadable_answer(
    answer: httpx.Response, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """A write with an unreadable answer has an unknown outcome."""
    google.sheets.mock(return_value=answer)

    errors = await failures(settings, WRITES)

    assert_open(*errors.values())


async def test_413_of_reads_and_writes(settings: GoogleSettings, google: FakeGoogle) -> None:
    """A 413 raises SheetTooLarge for a read, and WriteTooLarge with `not_applied` for a write."""
    google.sheets.mock(return_value=httpx.Response(413))

    read, write = await read_and_write(settings)

    assert type(read) is SheetTooLarge
    assert (type(write), write.outcome) == (WriteTooLarge, "not_applied")
    assert not write.retryable


async def test_a_request_body_over_10_mb(settings: GoogleSettings, google: FakeGoogle) -> None:
    """A 400 about a payload over 10 MB raises WriteTooLarge with `not_applied`."""
    message = "Request payload size exceeds the limit: 10485760 bytes."
    google.sheets.mock(return_value=error_answer(400, "INVALID_ARGUMENT", message))

    _, write = await read_and_write(settings)

    assert (type(write), write.outcome) == (WriteTooLarge, "not_applied")


async def test_no_token_is_part_of_a_traceback(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """The formatted traceback of an error has Google's known phrases, but not the token."""
    google.sheets.mock(
        return_value=error_answer(403, "PERMISSION_DENIED", "The caller does not have permission")
    )

    text = "".join(traceback.format_exception(await failure(settings, A_READ)))

    assert "HTTP 403 PERMISSION_DENIED: The caller does not have permission" in text
    assert "token-1" not in text
    assert "Bearer" not in text
