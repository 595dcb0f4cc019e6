"""Tests of `normal_origin`, which normalises an origin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.caller import normal_origin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://example.org", "https://example.org"),
        ("HTTPS://Example.ORG", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:80", "http://example.org"),
        ("http://example.org:443", "http://example.org:443"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("capacitor://localhost", "capacitor://localhost"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
    ],
)
def test_normal_form_of_origins(text: str, expected: str) -> None:
    """Upper case and default ports do not make a different origin."""
    assert normal_origin(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "*",
        "example.org",
        "https://",
        "https://*.example.org",
        "https://example.org/",
        "https://example.org/path",
        "https://example.org:0",
        "https://example.org:65536",
        "https://example.org:",
        "https://example.org\n",
        "https://user@example.org",
        "https://exämple.org",
        "https://a.org https://b.org",
    ],
)
def test_other_text_is_no_origin(text: str) -> None:
    assert normal_origin(text) is None


@given(text=st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_normal_form_is_stable_for_any_text(text: str) -> None:
    """Normalizing is idempotent, and accepts any text without an exception."""
    normal = normal_origin(f"https://{text}")

    assert normal is None or normal_origin(normal) == normal
