"""Key files of service accounts: accepted files, and messages about other files."""

from pathlib import Path

import pytest

from gateway.google.credentials import load_service_account
from gateway.settings.model import ConfigError
from tests.google.google_fake import ACCOUNT, KeyFile

SECRET = "what-nobody-may-see"


def problems_of(path: Path, *, allow_insecure_endpoint: bool = False) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_service_account(path, allow_insecure_endpoint=allow_insecure_endpoint)
    return caught.value.problems


def test_a_valid_key_file_is_accepted(key_file: KeyFile) -> None:
    """The credentials of a valid key file have the scope of Google Sheets only."""
    credentials = load_service_account(key_file(), allow_insecure_endpoint=False)

    assert credentials.service_account_email == ACCOUNT
    assert credentials.scopes == ("https://www.googleapis.com/auth/spreadsheets",)


def test_a_key_file_with_a_subject(key_file: KeyFile) -> None:
    """With `subject`, the credentials act for that user (domain-wide delegation)."""
    credentials = load_service_account(
        key_file(), allow_insecure_endpoint=False, subject="ann@example.com"
    )

    assert credentials._subject == "ann@example.com"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_file_that_others_can_read_is_refused(mode: int, key_file: KeyFile) -> None:
    """A key file that other users can read is an error with the remedy `chmod 600`."""
    path = key_file()
    path.chmod(mode)

    (problem,) = problems_of(path)

    assert problem.startswith("google.credentials: ")
    assert "chmod 600" in problem


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    """The error about a missing file has the setting and the path."""
    (problem,) = problems_of(tmp_path / "none.json")

    assert "google.credentials: " in problem
    assert "none.json cannot be read: No such file" in problem


def test_a_directory_is_reported(tmp_path: Path) -> None:
    """A directory in place of the key file is an error."""
    tmp_path.chmod(0o700)

    (problem,) = problems_of(tmp_path)

    assert "cannot be read" in problem


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        pytest.param(SECRET, "is not JSON. It is damaged or of another kind;", id="text"),
        pytest.param(b"\xff", "is not JSON. It is damaged", id="not UTF-8"),
        pytest.param(f'["{SECRET}"]', "It is damaged or of another kind;", id="list"),
        pytest.param(
            f'{{"type": "authorized_user", "refresh_token": "{SECRET}"}}',
            "It is a person's sign-in",
            id="a person's",
        ),
        pytest.param(f'{{"installed": {{"x": "{SECRET}"}}}}', "an OAuth client", id="client"),
        pytest.param(" " * 70_000, "is too large for a credentials file. It is", id="huge"),
    ],
)
def test_another_file_is_refused(content: str | bytes, kind: str, key_file: KeyFile) -> None:
    """The error about another kind of file names the kind and does not quote the content."""
    path = key_file()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    (problem,) = problems_of(path)

    assert problem.startswith(f"google.credentials: {path} ")
    assert kind in problem
    assert "download a key of a service account" in problem
    assert SECRET not in problem


def test_all_that_is_missing_is_reported_at_once(key_file: KeyFile) -> None:
    """Each missing member of a key file is one problem."""
    problems = problems_of(key_file(client_email=None, private_key=None, token_uri=None))

    assert len(problems) == 3


def test_a_broken_private_key_is_not_quoted(key_file: KeyFile) -> None:
    """The error about an invalid private key does not quote it, because it can be most of a key."""
    path = key_file(private_key="-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----")

    with pytest.raises(ConfigError, match="private_key") as caught:
        load_service_account(path, allow_insecure_endpoint=False)

    assert "c2VjcmV0" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "token_uri",
    ["https://evil.example/token", "http://oauth2.googleapis.com/token", "file:///etc/passwd"],
)
def test_a_foreign_token_url_is_refused(token_uri: str, key_file: KeyFile) -> None:
    """The token URL in a key file must be Google's or on this machine."""
    (problem,) = problems_of(key_file(token_uri=token_uri))

    assert "token_uri" in problem


def test_a_foreign_token_url_is_allowed_by_a_setting(key_file: KeyFile) -> None:
    """With `allow_insecure_endpoint`, a key file with a foreign token URL is accepted."""
    path = key_file(token_uri="https://proxy.example/token")

    assert load_service_account(path, allow_insecure_endpoint=True)
