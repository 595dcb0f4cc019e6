"""Files of Application Default Credentials, which are used without a configured key file."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gateway.google.credentials import check_credentials
from gateway.settings.model import ConfigError, GoogleSettings
from tests.google.google_fake import KeyFile

VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
PERSON = {"type": "authorized_user", "client_id": "1", "client_secret": "s", "refresh_token": "r"}
FOREIGN = {
    "type": "external_account",
    "token_url": "https://sts.googleapis.com/v1/token",
    "credential_source": {"url": "http://169.254.169.254/token"},
}

Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Return a function that writes a credentials file at the path that gcloud uses."""

    def write(info: Mapping[str, object], mode: int = 0o600) -> Path:
        path = tmp_path / "application_default_credentials.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(info))
        path.chmod(mode)
        return path

    return write


def problems_of(environ: Mapping[str, str], **settings: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        check_credentials(GoogleSettings.model_validate(settings), environ)
    return caught.value.problems


def test_no_credentials_file_is_needed(tmp_path: Path) -> None:
    """Without a file the check passes, because a metadata server can provide credentials."""
    check_credentials(GoogleSettings(), {"CLOUDSDK_CONFIG": str(tmp_path)})


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_that_others_can_read_is_refused(mode: int, key_file: KeyFile) -> None:
    """A key file named by GOOGLE_APPLICATION_CREDENTIALS must not be readable by other users."""
    path = key_file()
    path.chmod(mode)

    (problem,) = problems_of({VARIABLE: str(path)})

    assert problem.startswith(f"{VARIABLE}: {path} can be read by users other")
    assert "chmod 600" in problem


def test_a_sign_in_of_gcloud_must_be_private(made: Made) -> None:
    """A file that gcloud wrote is accepted, but refused if other users can read it."""
    environ = {"CLOUDSDK_CONFIG": str(made(PERSON).parent)}
    check_credentials(GoogleSettings(), environ)
    made(PERSON, 0o644)

    (problem,) = problems_of(environ)

    assert "can be read by users other" in problem


def test_a_configured_key_file_is_the_only_file_read(key_file: KeyFile, made: Made) -> None:
    """With a configured key file, the file of GOOGLE_APPLICATION_CREDENTIALS is not read."""
    environ = {VARIABLE: str(made({}, 0o666))}

    check_credentials(GoogleSettings(credentials=key_file()), environ)


def test_an_external_account_file_can_be_readable(made: Made) -> None:
    """An external account's file must not be writable by others, nor readable with a secret."""
    path = made(FOREIGN, 0o644)
    environ = {VARIABLE: str(path)}
    check_credentials(GoogleSettings(), environ)
    path.chmod(0o666)
    changeable = problems_of(environ)
    made({**FOREIGN, "client_secret": "s"}, 0o644)
    secret = problems_of(environ)

    assert "can be changed by users other" in changeable[0]
    assert "can be read by users other" in secret[0]


STRANGER = "http://stranger.example/token"


@pytest.mark.parametrize(
    ("member", "info"),
    [
        pytest.param("token_uri", PERSON, id="person"),
        pytest.param("token_url", FOREIGN, id="foreign identity"),
        pytest.param("service_account_impersonation_url", FOREIGN, id="impersonation"),
    ],
)
def test_foreign_token_endpoints_are_refused(
    made: Made, member: str, info: Mapping[str, object]
) -> None:
    """Token endpoints must be Google's or on this machine, unless a setting allows others."""
    environ = {VARIABLE: str(made({**info, member: STRANGER}))}

    (problem,) = problems_of(environ)

    assert f"has a {member} that is neither Google's nor on this machine" in problem
    check_credentials(GoogleSettings(allow_insecure_endpoint=True), environ)


def test_all_that_is_wrong_with_a_key_is_reported(key_file: KeyFile) -> None:
    """All problems of a key file are reported, under the name GOOGLE_APPLICATION_CREDENTIALS."""
    path = key_file(token_uri=STRANGER, private_key=None)

    problems = problems_of({VARIABLE: str(path)})

    assert [problem.partition(f"{VARIABLE}: {path} has ")[2][:14] for problem in problems] == [
        "no private_key",
        "a token_uri th",
    ]
    assert "It is truncated or modified" in problems[-1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param('{"installed": {}}', "an OAuth client", id="client"),
        pytest.param("<html>", "is not JSON. It is a web page.", id="page"),
        pytest.param("[]", "is not a credentials file. It is damaged", id="list"),
        pytest.param(None, f"No such file or directory. Correct {VARIABLE}", id="missing"),
    ],
)
def test_a_file_of_another_kind_is_reported(
    tmp_path: Path, content: str | None, words: str
) -> None:
    """The error about another kind of file says which kind, as for the configured key file."""
    path = tmp_path / "file.json"
    if content is not None:
        path.touch(mode=0o600)
        path.write_text(content)

    (problem,) = problems_of({VARIABLE: str(path)})

    assert problem.startswith(f"{VARIABLE}: {path} ")
    assert words in problem
