"""Findings of `check` about the configuration file and the key file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import EmulatorControl
from tests.journeys.process import run
from tests.journeys.report import Checkup, changed_key_file, run_check

VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
SECRET = "GOCSPX-what-nobody-may-see"
DOWNLOAD = "download a key of a service account"


@pytest.fixture
def checkup(emulator: EmulatorControl, tmp_path: Path) -> Iterator[Checkup]:
    emulator.reset()
    yield Checkup(folder=tmp_path, emulator=emulator)
    emulator.reset()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        pytest.param(None, "none.toml: there is no such file", id="missing"),
        pytest.param("[google", "none.toml: is not TOML: ", id="no TOML"),
        pytest.param("[gogle]", "gogle: there is no such setting; did you mean google?", id="typo"),
        pytest.param(
            '[google]\ncredentails = "x"',
            "google.credentails: there is no such setting; did you mean credentials?",
            id="typo in a setting",
        ),
        pytest.param(
            f'[access]\npepper = "{SECRET}"',
            "none.toml has this secret and is open to other users of this machine: run 'chmod 600'",
            id="pepper for all to read",
        ),
    ],
)
def test_a_configuration_file_that_cannot_be_used(
    tmp_path: Path, text: str | None, cause: str
) -> None:
    """An invalid configuration file gives status 2 and one error that names the setting."""
    path = tmp_path / "none.toml"
    if text is not None:
        path.write_text(text)

    report = run_check("--config", str(path))

    assert report.status == 2
    assert report.lines == []
    assert cause in report.errors
    assert SECRET not in report.errors


CLIENT = {"client_id": "1", "client_secret": SECRET}

KEY_FILES: list[Any] = [
    pytest.param({"installed": CLIENT}, 'an OAuth client ("installed", a desktop', id="installed"),
    pytest.param({"web": CLIENT}, 'an OAuth client ("web", a web app)', id="web"),
    pytest.param(
        {"type": "authorized_user", "refresh_token": SECRET}, "a person's sign-in", id="person"
    ),
    pytest.param({"api_key": f"AIzaSy{SECRET}-and-more"}, "an API key", id="API key in JSON"),
    pytest.param(f"AIzaSy{SECRET}-and-more", "an API key", id="API key"),
    pytest.param(f"-----BEGIN PRIVATE KEY-----\n{SECRET}", "a private key alone", id="PEM"),
    pytest.param(b"0\x82\x09\x5d\x02", "P12 format", id="P12"),
    pytest.param(f"<!DOCTYPE html>{SECRET}", "is a web page", id="web page"),
    pytest.param("", "is empty", id="empty"),
    pytest.param(SECRET, "is not JSON. It is damaged or of another kind;", id="text"),
    pytest.param([SECRET], "damaged or of another kind", id="list"),
    pytest.param({"type": "service_account"}, "is truncated or modified", id="cut"),
]


@pytest.mark.parametrize(("content", "kind"), KEY_FILES)
def test_a_file_that_is_no_key_file(
    checkup: Checkup, tmp_path: Path, content: object, kind: str
) -> None:
    """`check` says what kind of file was given and where to get a key file, and quotes no
    content.
    """
    path = tmp_path / "account.json"
    path.touch(mode=0o600)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    report = checkup.run(google={"credentials": str(path)})

    assert report.status == 1
    last = report.of("problem")[-1]
    assert last.startswith(f"google.credentials: {path} ")
    assert kind in last
    assert DOWNLOAD in last
    assert SECRET not in str(report)


@pytest.mark.parametrize("kind", ["external_account", "impersonated_service_account"])
def test_credentials_that_work_without_the_setting(
    checkup: Checkup, tmp_path: Path, kind: str
) -> None:
    """`check` says to give these kinds of credentials to google-auth by its environment
    variable.
    """
    path = tmp_path / "account.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"type": kind}))

    text = checkup.run(google={"credentials": str(path)}).problem

    assert f'"{kind}"' in text
    assert "leave google.credentials out and set the variable" in text


def test_a_key_file_that_is_not_there(checkup: Checkup, tmp_path: Path) -> None:
    """`check` names the path of a missing key file and says what file to put there."""
    text = checkup.run(google={"credentials": str(tmp_path / "none.json")}).problem

    assert "none.json cannot be read: No such file" in text
    assert f"Correct google.credentials, or put the file there: {DOWNLOAD}" in text


def test_a_folder_in_the_place_of_a_key_file(checkup: Checkup, tmp_path: Path) -> None:
    """`check` reports a directory in place of the key file as unreadable."""
    tmp_path.chmod(0o700)
    text = checkup.run(google={"credentials": str(tmp_path)}).problem

    assert "cannot be read: Is a directory. It must be a file" in text


def test_no_credentials_at_all(checkup: Checkup) -> None:
    """Without key file and default credentials, `check` says which setting to set."""
    text = checkup.run(google={"credentials": ""}).problem

    assert "google.credentials is not set, and this machine has no Application Default" in text
    assert f"Set google.credentials to a key file: {DOWNLOAD}" in text


def test_default_credentials_that_are_not_there(checkup: Checkup, tmp_path: Path) -> None:
    """`check` names the environment variable that points to a missing file."""
    named = {VARIABLE: str(tmp_path / "none.json")}

    text = checkup.run(google={"credentials": ""}, environ=named).problem

    assert f"{VARIABLE}: {tmp_path / 'none.json'} cannot be read: No such file" in text
    assert f"Correct {VARIABLE}" in text


def test_default_credentials_that_google_auth_cannot_use(checkup: Checkup, tmp_path: Path) -> None:
    """`check` quotes google-auth's error about a default credentials file with missing members."""
    path = tmp_path / "person.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"type": "authorized_user", "client_id": SECRET}))

    text = checkup.run(google={"credentials": ""}, environ={VARIABLE: str(path)}).problem

    assert f"the file that {VARIABLE} names cannot be used" in text
    assert "Failed to load authorized user credentials" in text
    assert SECRET not in text


def test_default_credentials_pass_the_checks_of_a_key_file(
    checkup: Checkup, emulator: EmulatorControl, tmp_path: Path
) -> None:
    """Default credentials that others can read, or with a foreign token_uri, are a problem."""
    path = changed_key_file(emulator, tmp_path, token_uri="http://192.0.2.1:9/token")
    named = {VARIABLE: str(path)}
    stranger = checkup.run(google={"credentials": ""}, environ=named).problem
    path.chmod(0o644)
    readable = checkup.run(google={"credentials": ""}, environ=named).problem
    config = str(tmp_path / "config.toml")
    served = run("serve", "--port", "0", "--config", config, environ=named)

    assert "has a token_uri that is neither Google's nor on this machine" in stranger
    assert f"{VARIABLE}: {path} can be read by users other" in readable
    assert served.returncode == 2
    assert f"{VARIABLE}: {path} can be read by users other" in served.stderr


def test_an_identity_with_a_foreign_token_endpoint(checkup: Checkup, tmp_path: Path) -> None:
    """A foreign credential source is refused at its use; the error shows only the host."""
    path = tmp_path / "identity.json"
    path.touch(mode=0o600)
    identity = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"url": f"http://x:{SECRET}@192.0.2.1:9/{SECRET}"},
    }
    path.write_text(json.dumps(identity))

    text = checkup.run(google={"credentials": ""}, environ={VARIABLE: str(path)}).problem

    assert "the token endpoint is 192.0.2.1:9, which is neither Google's" in text
    assert "google.allow_insecure_endpoint" in text
    assert SECRET not in text


def test_serve_reports_a_wrong_key_file_as_check_does(checkup: Checkup, tmp_path: Path) -> None:
    """`serve` prints the same error as `check` about a wrong key file."""
    path = tmp_path / "account.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"installed": CLIENT}))
    checked = checkup.run(google={"credentials": str(path)}).problem

    served = run("serve", "--port", "0", "--config", str(tmp_path / "config.toml"))

    assert served.returncode == 2
    assert checked in served.stderr
    assert DOWNLOAD in served.stderr
