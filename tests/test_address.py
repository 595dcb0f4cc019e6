"""Addresses to listen on, as they are written."""

import pytest

from gateway.address import Address, parse_address


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("127.0.0.1:9100", ("127.0.0.1", 9100)),
        ("9100", ("127.0.0.1", 9100)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:9100", ("::1", 9100)),
        ("10.0.0.1:65535", ("10.0.0.1", 65535)),
        (Address("::1", 1), ("::1", 1)),
    ],
    ids=str,
)
def test_an_address_is_read(written: object, address: tuple[str, int]) -> None:
    """Host and port, or a port of the loopback alone."""
    assert parse_address(written) == address


@pytest.mark.parametrize(
    "written",
    ["", ":9100", "a:", "a:65536", "::1:80", "http://a:1", "a:1/", "a b:1", "a:1\n", "a:١", 9100],
    ids=ascii,
)
def test_anything_else_is_refused(written: object) -> None:
    """Nothing is guessed: `:9100` would be every address to some, the loopback to others."""
    with pytest.raises(ValueError, match="HOST:PORT"):
        parse_address(written)
