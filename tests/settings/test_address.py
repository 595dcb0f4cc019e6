"""Parsing of listening addresses."""

import pytest

from gateway.settings.address import Address, parse_address, parse_host_names, parse_proxies


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


@pytest.mark.parametrize(
    ("written", "networks"),
    [
        ([], []),
        ("", []),
        (["127.0.0.1"], ["127.0.0.1/32"]),
        ("127.0.0.1, 10.0.0.0/8", ["127.0.0.1/32", "10.0.0.0/8"]),
        (["::1", "2001:db8::/32"], ["::1/128", "2001:db8::/32"]),
        ("unix, 10.0.0.0/8", ["unix", "10.0.0.0/8"]),
        (["Unix "], ["unix"]),
    ],
)
def test_networks_are_a_list_or_separated_by_commas(written: object, networks: list[str]) -> None:
    """An address is a network of one, `unix` is itself; what was parsed is taken once more."""
    parsed = parse_proxies(written)

    assert [str(network) for network in parsed] == networks
    assert parse_proxies(parsed) == parsed


@pytest.mark.parametrize(
    "written",
    ["*", ["10.0.0.1/8"], ["localhost"], ["unix:"], [1], 7, None, ["10.0.0.0/33"], {"a": 1}],
)
def test_what_is_no_network_is_refused(written: object) -> None:
    """Every host is trusted by no word for it, only by a network that says so."""
    with pytest.raises(ValueError, match="list of addresses and networks"):
        parse_proxies(written)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ([], []),
        ("", []),
        (["Metrics.Internal."], ["metrics.internal"]),
        ("prometheus, sheets_gateway", ["prometheus", "sheets_gateway"]),
        (("a-1.example", "b"), ["a-1.example", "b"]),
    ],
)
def test_host_names_are_a_list_or_separated_by_commas(written: object, names: list[str]) -> None:
    """They are compared in lower case; what was parsed is taken once more."""
    parsed = parse_host_names(written)

    assert list(parsed) == names
    assert parse_host_names(parsed) == parsed


@pytest.mark.parametrize(
    "written",
    ["*", ["*.example"], ["a:9100"], ["http://a"], ["a b"], [" "], [1], 7, None, {"a": 1}],
)
def test_what_is_no_host_name_is_refused(written: object) -> None:
    """No pattern, no port and no URL."""
    with pytest.raises(ValueError, match="list of host names"):
        parse_host_names(written)
