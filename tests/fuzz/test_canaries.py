"""Canaries in all encodings."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.fuzz.canaries import CELL, Canary, found

CANARIES = {"cell": Canary(name="hidden cell", text=CELL)}
OTHER = "another text of about the same length"


def percent(text: str) -> str:
    return "".join(f"%{ord(each):02x}" for each in text)


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(each):04X}" for each in text)


FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps({"text": text})),
    "percent": percent,
    "percent, in part": lambda text: text[:3] + percent(text[3]) + text[4:],
    "percent twice": lambda text: quote(percent(text)),
    "percent three times": lambda text: percent(percent(percent(text))),
    "escaped": escaped,
    "escaped, in part": lambda text: text[:5] + escaped(text[5:9]) + text[9:],
    "escaped and percent": lambda text: percent(escaped(text)),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64, one after": lambda text: b64encode(f"x{text}y".encode()).decode(),
    "base64, two after": lambda text: b64encode(f"xy{text}\xff".encode()).decode(),
    "base64 for URLs": lambda text: urlsafe_b64encode(f"?>{text}".encode()).decode(),
    "base64 and percent": lambda text: quote(b64encode(f"{text}>>".encode()).decode(), safe=""),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["{}", '{{"message":"No {} there."}}', "GET /{}?x=%zz\n"])
def test_a_canary_is_found_in_every_form(form: str, around: str) -> None:
    """A canary is found in every encoding and context; another text is not reported."""
    said = around.format(FORMS[form](CELL)).encode()
    other = around.format(FORMS[form](OTHER)).encode()

    assert [*found(CANARIES, said)] == ["hidden cell"]
    assert [*found(CANARIES, other)] == []
