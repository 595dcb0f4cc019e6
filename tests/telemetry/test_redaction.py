"""Redaction of secrets in the log: keys, tokens, private keys and passwords in any encoding."""

import json
from typing import Any
from urllib.parse import quote, unquote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.keys import mint_key
from gateway.telemetry.events import RequestEvent, encoded_lines
from gateway.telemetry.redaction import MASK, redacted

KEY = mint_key()
TOKEN = "ya29.a0AfH6SMBx-1_y.Z"
CLAIMS = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln"
PEM = "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg\\n-----END PRIVATE KEY-----\\n"


def encoded(text: str) -> str:
    """Percent-encode every character of a text."""
    return "".join(f"%{ord(each):02X}" for each in text)


ENCODED = encoded(KEY)

SECRETS = [
    pytest.param(f"/v2/sheets/{KEY}", KEY, id="a key in a path"),
    pytest.param(f"/v2/sheets/Cities%3FapiKey={KEY}", KEY, id="a key in a path like a query"),
    pytest.param(f"/v2/sheets/x{ENCODED}", ENCODED, id="a key, percent-encoded"),
    pytest.param(f"/v2/sheets/{quote(ENCODED)}", quote(ENCODED), id="a key, encoded twice"),
    pytest.param(f"/v2/sheets/{KEY[:20]}", KEY[4:20], id="the beginning of a key"),
    pytest.param(f"/sga{KEY[3:]}", KEY[4:], id="an admin key"),
    pytest.param(f"/v2/sheets/Cities/sgs{KEY[3:]}", KEY[4:], id="a session"),
    pytest.param(f"/sgl{KEY[3:]}", KEY[4:], id="a sign-in link"),
    pytest.param("/x?a=1&apiKey=other-secret&b=2", "other-secret", id="apiKey"),
    pytest.param("/x?APIKEY=other-secret", "other-secret", id="apiKey in capitals"),
    pytest.param("/x%3Fapi%4Bey%3Dother-secret", "other-secret", id="apiKey, encoded"),
    pytest.param(f"bad header: Bearer {TOKEN}", TOKEN[5:], id="a token"),
    pytest.param("Authorization: Bearer 0123456789abcdef", "0123456789abcdef", id="a bearer"),
    pytest.param(f"posted assertion={CLAIMS}", CLAIMS[10:], id="signed claims"),
    pytest.param(f'"{PEM}"', "MIIEvQIBADANBg", id="a private key"),
    pytest.param(PEM.replace("\\n", "\n"), "MIIEvQIBADANBg", id="a private key with line ends"),
    pytest.param(PEM[:40], "MIIEvQ", id="the beginning of a private key"),
    pytest.param("redis://user:pass-word@host:6379/0", "pass-word", id="a URL's password"),
    pytest.param("postgresql+asyncpg://:pass-word@h/d", "pass-word", id="a password alone"),
]
HARMLESS = [
    "/v2/sheets/Cities",
    "/v2/sheets/St%C3%A4dte%20%F0%9F%8F%99/2",
    "/v2/sheets/a=b",
    "/v2/sheets/apiKey",
    "https://sheets.googleapis.com/v4/spreadsheets",
    "the bearer of this",
    "someone@example.org",
    "sgw_",
    "an API key: none",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_masked(text: str, secret: str) -> None:
    """A secret is replaced by `***`, and the text before the secret stays."""
    assert secret not in redacted(text)
    assert "***" in redacted(text)
    assert redacted(text)[:1] == text[:1]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_masked_in_the_line_of_a_request(text: str, secret: str) -> None:
    """The fast check of request lines finds every secret that a path can contain."""
    line = encoded_lines([RequestEvent("r1", "GET", text.replace(" ", "%20"))])

    assert secret.encode() not in line
    assert b"***" in line


@pytest.mark.parametrize("prefix", ["sgw", "sga", "sgs", "sgl"])
@pytest.mark.parametrize("member", ["id", "spreadsheet", "worksheet"])
def test_a_key_is_masked_in_each_member_of_a_line(prefix: str, member: str) -> None:
    """Keys are masked in every member whose value a client chooses."""
    members: Any = {"id": "r1", "method": "GET", "path": "/", member: prefix + KEY[3:]}

    assert KEY[4:].encode() not in encoded_lines([RequestEvent(**members)])


@pytest.mark.parametrize("text", HARMLESS)
def test_text_without_a_secret_is_unchanged(text: str) -> None:
    """Paths, names and addresses without a secret are logged unchanged."""
    assert redacted(text) == text
    assert json.loads(encoded_lines([RequestEvent("r1", "GET", text)]))["path"] == text


@given(before=st.text(max_size=9), after=st.text(max_size=9))
def test_a_key_is_masked_within_any_text(before: str, after: str) -> None:
    """A key is masked whatever text is before and after the key."""
    assert KEY[4:] not in redacted(f"{before}{KEY}{after}")


ENCODED_AGAIN = [
    pytest.param(f"/v2/sheets/{encoded(encoded('s'))}gw_{KEY[4:]}", id="its first letter"),
    pytest.param(f"/v2/sheets/sgw{encoded(encoded('_'))}{KEY[4:]}", id="a letter in its prefix"),
    pytest.param(f"/v2/sheets/{KEY[:9]}{encoded(encoded(KEY[9]))}{KEY[10:]}", id="a digit"),
    pytest.param(f"/v2/sheets/{encoded(ENCODED)}", id="all of it"),
    pytest.param(f"/v2/sheets/{encoded(encoded(ENCODED))}", id="all of it, three times"),
    pytest.param(f"/x%2%3573gw_{KEY[4:]}", id="an encoding in parts"),
    pytest.param(f"/{'%2' * 2}{'%3' * 20}%35%35{ENCODED}", id="too often to be undone"),
]


@pytest.mark.parametrize("text", ENCODED_AGAIN)
def test_a_doubly_encoded_key_masks_the_whole_value(text: str) -> None:
    """A path with a key that is percent-encoded twice is replaced by `***` completely."""
    event = RequestEvent("r1", "GET", text, status=404, worksheet='a "b\\')
    line = json.loads(msgspec.json.encode(event))

    assert json.loads(encoded_lines([event])) == line | {"path": "***"}
    assert redacted(text) == "***"


def test_only_the_value_with_the_secret_is_masked() -> None:
    """Other values with quotes or percent-encoding stay unchanged."""
    values = {"a": f'x"%2573gw_{KEY[4:]}"\\', "b": 'say "%2520%41"', "c": "%25%37%33"}
    found = json.loads(redacted(json.dumps(values)))

    assert KEY[4:] not in found["a"]
    assert {**found, "a": ""} == {**values, "a": ""}


@given(depths=st.lists(st.integers(0, 3), min_size=len(KEY), max_size=len(KEY)), all_=st.booleans())
def test_a_key_is_masked_in_any_encoding(depths: list[int], all_: bool) -> None:
    """No eight characters of a key can be decoded from a path, with up to three encodings each."""
    text = ""
    for character, depth in zip(KEY, depths, strict=True):
        for level in range(depth):
            character = encoded(character) if all_ or not level else quote(character)
        text += character

    plain = redacted(f"/v2/sheets/{text}/2")
    for _ in range(4):
        plain = unquote(plain)

    assert "***" in plain
    assert not any(KEY[at : at + 8] in plain for at in range(4, len(KEY) - 8))


@pytest.mark.parametrize(
    "value",
    ['/apiKey=a"', r"/x?apiKey=ab\"cd&z=1", '-----BEGIN PRIVATE KEY-----MII"b', "apiKey=a\\"],
)
def test_a_masked_line_is_valid_json(value: str) -> None:
    """Masking never cuts a JSON escape, so the line is still valid JSON."""
    masked = json.loads(redacted(json.dumps({"path": value, "status": 404})))

    assert MASK in masked["path"]
    assert masked["status"] == 404
