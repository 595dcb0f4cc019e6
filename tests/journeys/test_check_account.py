"""Findings of `check` about the sign-in and this machine's clock."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gateway.commands.check import check_setup
from gateway.commands.doctor.reasons import Finding
from gateway.settings.model import load_settings
from tests.journeys.conftest import EmulatorControl
from tests.journeys.google_faults import PAGE
from tests.journeys.report import Checkup, changed_key_file

ACCOUNT = "gateway@emulator.iam.gserviceaccount.com"
SECRET = "GOCSPX-what-nobody-may-see"
DOWNLOAD = "download a key of a service account"
SHORT_LIVED = (
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
)


@pytest.fixture
def checkup(emulator: EmulatorControl, tmp_path: Path) -> Iterator[Checkup]:
    emulator.reset()
    yield Checkup(folder=tmp_path, emulator=emulator)
    emulator.reset()


@pytest.fixture(scope="module")
def private_pem() -> str:
    """A private key that Google does not know."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def refused(error: str, description: str, status: int = 400) -> dict[str, Any]:
    """A fault of the token endpoint in the form of RFC 6749."""
    text = json.dumps({"error": error, "error_description": description})
    return {"status": status, "text": text}


def test_all_is_well(checkup: Checkup) -> None:
    """`check` exits 0 with `ok` lines only, and costs 1 read."""
    report = checkup.run()

    assert report.status == 0
    assert [line[:8].rstrip() for line in report.lines] == ["ok"] * 3
    assert f"Google accepts {ACCOUNT}" in report.lines[1]
    assert "--spreadsheet ID" in report.lines[2]
    assert checkup.emulator.calls() == (1, 0)


SIGN_INS: list[Any] = [
    pytest.param(
        refused("invalid_grant", f"{SHORT_LIVED}Check your iat and exp values in the JWT claim."),
        "this machine's clock is off, so Google refuses",
        "timedatectl set-ntp true",
        id="clock",
    ),
    pytest.param(
        refused("invalid_grant", f"{SHORT_LIVED}Use a clock with skew."),
        "this machine's clock is off, so Google refuses",
        "Synchronise",
        id="clock in older words",
    ),
    pytest.param(
        refused("invalid_grant", "Invalid JWT Signature."),
        f"Google does not know this key of {ACCOUNT}",
        DOWNLOAD,
        id="key deleted",
    ),
    pytest.param(
        refused("invalid_grant", "Invalid grant: account not found"),
        f"{ACCOUNT} was deleted or disabled",
        "Enable it at https://console.cloud.google.com/iam-admin/serviceaccounts",
        id="account gone",
    ),
    pytest.param(
        refused("invalid_grant", "Robot is disabled."),
        f"{ACCOUNT} was deleted or disabled",
        "share the spreadsheets with its address",
        id="account disabled",
    ),
    pytest.param(
        refused("disabled_client", "The OAuth client was disabled.", 401),
        f"{ACCOUNT} was deleted or disabled",
        "Enable it",
        id="disabled client",
    ),
    pytest.param(
        refused("access_denied", "Account restricted.", 403),
        f"Google refuses {ACCOUNT} (access_denied: Account restricted)",
        "Check it at https://console",
        id="other refusal",
    ),
    pytest.param(
        {"status": 503},
        "token endpoint itself has a problem (HTTP 503)",
        "in a few minutes",
        id="503",
    ),
    pytest.param(
        {"status": 429},
        "token endpoint itself has a problem (HTTP 429)",
        "in a few minutes",
        id="429",
    ),
    pytest.param(
        {"status": 200, "text": PAGE},
        "is not from Google: perhaps from a sign-in page",
        "directly",
        id="portal",
    ),
    pytest.param(
        {"status": 403, "text": PAGE},
        "is not from Google: perhaps from a sign-in page",
        "directly",
        id="firewall",
    ),
    pytest.param(
        {"status": 200, "text": json.dumps({"id_token": SECRET})},
        "is not from Google",
        "its token_uri may be wrong",
        id="no token",
    ),
    pytest.param(
        {"drop": True}, "no token available: 127.0.0.1:", "port 443", id="connection dropped"
    ),
]


@pytest.mark.parametrize(("fault", "cause", "mend"), SIGN_INS)
def test_a_sign_in_that_fails(
    checkup: Checkup, fault: Mapping[str, Any], cause: str, mend: str
) -> None:
    """For each error of the token endpoint, `check` gives cause and remedy without a call
    to Sheets.
    """
    checkup.emulator.faults({"call": "token", "times": 9, **fault})

    text = checkup.run("--spreadsheet", "demo").problem

    assert text.startswith("credentials: ")
    assert cause in text
    assert mend in text
    assert SECRET not in text
    assert checkup.emulator.calls() == (0, 0)


@pytest.mark.parametrize(
    ("members", "cause"),
    [
        pytest.param(
            {"client_email": "gone@example.org"}, "gone@example.org was deleted", id="e-mail"
        ),
        pytest.param({}, f"Google does not know this key of {ACCOUNT}", id="key"),
    ],
)
def test_a_key_file_of_another_account_or_key(
    checkup: Checkup,
    tmp_path: Path,
    private_pem: str,
    members: Mapping[str, object],
    cause: str,
) -> None:
    """A signature that the emulator rejects gives the same text as Google's rejection."""
    path = changed_key_file(checkup.emulator, tmp_path, private_key=private_pem, **members)

    text = checkup.run(google={"credentials": str(path)}).problem

    assert cause in text
    assert f"replace {path}" in text
    assert private_pem[40:80] not in text


def offset_check(emulator: EmulatorControl, folder: Path, seconds: float) -> list[Finding]:
    """Findings of `check` on a machine whose clock is wrong by this many seconds."""
    settings = load_settings(
        None,
        {},
        {
            "google.endpoint": emulator.url,
            "google.credentials": str(emulator.credentials),
            "access.database": str(folder / "keys.db"),
        },
    )

    async def found() -> list[Finding]:
        findings = check_setup(settings, None, now=lambda: time.time() + seconds)
        return [finding async for finding in findings]

    return asyncio.run(found())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3720.0, "about 62 minutes ahead of"), (-200_000.0, "about 2 days behind")],
    ids=["ahead", "behind"],
)
@pytest.mark.parametrize(
    "description",
    [SHORT_LIVED, "Invalid JWT: words that nobody knows."],
    ids=["known words", "other words"],
)
def test_a_clock_error_that_makes_google_refuse(
    checkup: Checkup, tmp_path: Path, seconds: float, words: str, description: str
) -> None:
    """`check` computes the clock offset from Google's answer and reports it as a problem."""
    checkup.emulator.faults({"call": "token", **refused("invalid_grant", description)})

    (text,) = [
        finding.text
        for finding in offset_check(checkup.emulator, tmp_path, seconds)
        if finding.level == "problem"
    ]

    assert f"this machine's clock is off: {words} Google's" in text
    assert "timedatectl set-ntp true" in text


@pytest.mark.parametrize(
    ("seconds", "warnings"), [(100.0, 1), (-100.0, 1), (20.0, 0), (-20.0, 0), (0.0, 0)]
)
def test_a_small_clock_error(
    checkup: Checkup, tmp_path: Path, seconds: float, warnings: int
) -> None:
    """`check` warns about a clock that is wrong by more than half a minute."""
    odd = [
        finding
        for finding in offset_check(checkup.emulator, tmp_path, seconds)
        if finding.level != "ok"
    ]

    assert len(odd) == warnings
    for finding in odd:
        assert finding.level == "warning"
        assert finding.text.startswith("clock: this machine's clock is about ")
        assert "timedatectl" in finding.text
