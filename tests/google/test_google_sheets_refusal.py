"""Details of an error answer of Google."""

import json
from collections.abc import Mapping

import pytest

from gateway.google.translation import GoogleRefusal
from gateway.google.wire import Answer

NOT_USED = "Google Sheets API has not been used in project 1234 before or it is disabled."
CONSUMER = {"reason": "SERVICE_DISABLED", "metadata": {"consumer": "projects/1234"}}


@pytest.mark.parametrize(
    ("status", "body", "project"),
    [
        pytest.param(403, {"message": NOT_USED}, "1234", id="words"),
        pytest.param(
            403,
            {"message": f"{NOT_USED[:30]} https://console.cloud.google.com/apis/x?project=a:b-1."},
            "a:b-1",
            id="link",
        ),
        pytest.param(403, {"details": [CONSUMER]}, "1234", id="consumer"),
        pytest.param(
            403, {"details": [{**CONSUMER, "metadata": {"consumer": "x y"}}]}, "", id="no project"
        ),
        pytest.param(403, {"details": [{**CONSUMER, "metadata": []}]}, "", id="odd metadata"),
        pytest.param(403, {"message": "The caller does not have permission"}, None, id="share"),
        pytest.param(
            403,
            {"message": NOT_USED, "details": [{"reason": "RATE_LIMIT_EXCEEDED"}]},
            None,
            id="another reason",
        ),
        pytest.param(400, {"message": NOT_USED}, None, id="another status"),
    ],
)
def test_the_project_without_the_api(
    status: int, body: Mapping[str, object], project: str | None
) -> None:
    """A refusal because the Sheets API is disabled has the project, if Google named the project."""
    content = json.dumps({"error": {"status": "PERMISSION_DENIED", **body}}).encode()

    refusal = GoogleRefusal(Answer(status=status, headers={}, body=content, digest=b""))

    assert refusal.disabled_in == project
    assert not refusal.is_page


def test_an_html_page_is_no_api_error() -> None:
    """An HTML page is not an error of the API, because any server on the way can send a page."""
    refusal = GoogleRefusal(Answer(status=403, headers={}, body=b"<p>no", digest=b""))

    assert refusal.is_page
    assert refusal.disabled_in is None
