"""Tests of `Intake`, which finds the end of a request in received bytes and counts its limits."""

import math

import pytest

from gateway.server.intake import IN_HEAD, Intake
from gateway.settings.model import ServerSettings

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
SETTINGS = ServerSettings(max_head_bytes=500)


def within_head(came: bytes) -> Intake:
    """Intake that has received the beginning of a head."""
    intake = Intake(SETTINGS)
    intake.take(came)
    intake.phase = IN_HEAD
    return intake


def within_body(length: float, came: bytes = b"") -> Intake:
    """Intake that has received a head and the beginning of a body."""
    intake = within_head(HEAD[:-1])
    intake.begin_body(length)
    if came:
        intake.take(came)
    return intake


@pytest.mark.parametrize(
    "data", [HEAD, b"\r\n" * 9 + HEAD, b"\n" + HEAD, HEAD[:-1], b"\r\n" * 9, b"\r"]
)
def test_one_head_is_one_portion(data: bytes) -> None:
    """A head with the blank lines before it is one portion. Blank lines alone are one portion,
    too.
    """
    assert Intake(SETTINGS).take(data) == len(data)
    assert Intake(SETTINGS).take(data + b"x") == len(data) + (not data.endswith(HEAD))


@pytest.mark.parametrize("cut", range(1, len(HEAD)))
def test_the_end_of_a_head_is_found_wherever_it_is_cut(cut: int) -> None:
    """The end of a head is found for each split into two reads. Later bytes stay unparsed."""
    assert within_head(HEAD[:cut]).take(HEAD[cut:] + HEAD) == len(HEAD) - cut


@pytest.mark.parametrize(
    ("length", "came", "data", "expected"),
    [
        pytest.param(5.0, b"", b"abcde" + HEAD, 5, id="length"),
        pytest.param(5.0, b"", b"\r\n\r\n", 4, id="part of a length"),
        pytest.param(math.inf, b"", b"1\r\na\r\n0\r\n\r\n" + HEAD, 11, id="chunks"),
        pytest.param(math.inf, b"1\r\na\r\n0\r\n", b"\r\n" + HEAD, 2, id="end of chunks"),
        pytest.param(math.inf, b"0\r\nT: x\r\n\r", b"\n" + HEAD, 1, id="end of trailers"),
        pytest.param(math.inf, b"0\r\nT: x", b"\r\n\r\n" + HEAD, 4, id="trailers"),
    ],
)
def test_a_portion_ends_with_the_body(
    length: float, came: bytes, data: bytes, expected: int
) -> None:
    """A portion ends after Content-Length bytes, or after the empty line that ends chunks."""
    assert within_body(length, came).take(data) == expected


def test_a_portion_is_at_most_twice_the_head_limit() -> None:
    """Portions of a head without an end have at most twice `max_head_bytes` in total."""
    assert Intake(SETTINGS).take(b"x" * 5_000) == 2 * SETTINGS.max_head_bytes
    assert within_head(b"x" * 300).take(b"x" * 5_000) == 2 * SETTINGS.max_head_bytes - 300


def test_many_portions_use_up_the_body_limit() -> None:
    """A body of 1 MB in small chunks reaches the limit after some 2,000 splits, because splits
    cost extra.
    """
    intake = Intake(ServerSettings(max_body_bytes=1_000_000))
    intake.begin_body(math.inf)
    cuts = 0
    while intake.body_room > 0:
        intake.take(b"\r\n\r\n" * 2)
        cuts += 1

    assert cuts < 2_500
