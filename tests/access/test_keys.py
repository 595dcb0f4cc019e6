"""Tests of the text format of API keys."""

import string
import zlib
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.access.keys import ALPHABET, digest, is_well_formed, mint_key, random_digits

KEY = mint_key(lambda count: bytes(range(7, 7 + count)))
POSITIONS = st.integers(min_value=0, max_value=len(KEY) - 1)


def test_format_of_new_keys() -> None:
    """A key is `sgw_` and 36 base62 digits, which need no escapes in a URL or shell."""
    assert KEY.startswith("sgw_")
    assert len(KEY) == 40
    assert set(KEY[4:]) <= set(string.ascii_letters + string.digits)
    assert is_well_formed(KEY)


def with_checksum(unchecked: str) -> str:
    """The text followed by its CRC32 as 6 base62 digits."""
    number = zlib.crc32(unchecked.encode())
    return unchecked + "".join(ALPHABET[number // 62**at % 62] for at in reversed(range(6)))


def test_the_checksum_never_changes() -> None:
    """The checksum algorithm never changes, so that keys in use stay well formed."""
    assert KEY == "sgw_789ABCDEFGHIJKLMNOPQRSTUVWXYZa1riWF1"
    assert with_checksum(KEY[:34]) == KEY


def test_a_hundred_thousand_keys_are_all_different_and_well_formed() -> None:
    """In 100,000 new keys there is no duplicate, and all are well formed."""
    keys = [mint_key() for _ in range(100_000)]

    assert len(set(keys)) == len(keys)
    assert all(map(is_well_formed, keys))


def test_every_digit_is_as_likely_as_any_other() -> None:
    """Each base62 digit comes from four of the 256 values of a random byte; other values
    are drawn again.
    """
    draws = iter([bytes(range(256)), bytes(8)])
    digits = random_digits(256, lambda _: next(draws))

    assert Counter(digits[:248]) == dict.fromkeys(ALPHABET, 4)
    assert digits[248:] == ALPHABET[0] * 8


@given(at=POSITIONS, typo=st.characters())
def test_every_single_typo_is_caught(at: int, typo: str) -> None:
    """A key with one character replaced by any other character is not well formed."""
    assume(typo != KEY[at])

    assert not is_well_formed(KEY[:at] + typo + KEY[at + 1 :])


def test_every_single_typo_within_the_alphabet_is_caught() -> None:
    """A key with one digit replaced by any other base62 digit is not well formed."""
    typos = [
        KEY[:at] + digit + KEY[at + 1 :]
        for at in range(len(KEY))
        for digit in ALPHABET
        if digit != KEY[at]
    ]

    assert not any(map(is_well_formed, typos))


@given(secret=st.binary(min_size=64, max_size=64), at=POSITIONS)
def test_every_transposition_of_neighbours_is_caught(secret: bytes, at: int) -> None:
    """A key with two neighbouring characters swapped is not well formed."""
    key = mint_key(lambda count: bytes(byte % 248 for byte in secret[:count]))
    swapped = key[:at] + key[at : at + 2][::-1] + key[at + 2 :]
    assume(swapped != key)

    assert not is_well_formed(swapped)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda key: "", id="empty"),
        pytest.param(lambda key: key + "\n", id="line end after it"),
        pytest.param(lambda key: " " + key, id="blank before it"),
        pytest.param(lambda key: with_checksum(key[:33]), id="one short"),
        pytest.param(lambda key: with_checksum(key[:34] + "0"), id="one long"),
        pytest.param(lambda key: with_checksum("sgx_" + key[4:34]), id="other prefix"),
        pytest.param(lambda key: key.swapcase(), id="other case"),
        pytest.param(lambda key: key.replace("7", "７"), id="full-width digit"),
    ],
)
def test_other_text_is_not_well_formed(change: Callable[[str], str]) -> None:
    assert not is_well_formed(change(KEY))


@given(text=st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_format_check_accepts_any_text(text: str) -> None:
    """The check of a key's format accepts any text, also lone surrogates and NUL, without
    an exception.
    """
    assert not is_well_formed(text)
    assert not is_well_formed("sgw_" + text)


def test_a_digest_depends_on_key_and_pepper() -> None:
    """Equal keys have equal digests under one pepper, and different digests under two peppers."""
    other_key = mint_key()

    assert digest(KEY, b"pepper") == digest(KEY, b"pepper")
    assert len({digest(KEY, b"pepper"), digest(KEY, b"salt"), digest(other_key, b"pepper")}) == 3
    assert len(digest(KEY, b"pepper")) == 32
