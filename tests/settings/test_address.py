"""Parsing of addresses to listen on, proxy networks and host names."""

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
def test_an_address_is_parsed(written: object, address: tuple[str, int]) -> None:
    """An address is `HOST:PORT`, or only a port, which means the loopback."""
    assert parse_address(written) == address


@pytest.mark.parametrize(
    "written",
    ["", ":9100", "a:", "a:65536", "::1:80", "http://a:1", "a:1/", "a b:1", "a:1\n", "a:١", 9100],
    ids=ascii,
)
def test_other_addresses_are_refused(written: object) -> None:
    """Text of another form is refused, such as `:9100`, which programs interpret differently."""
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
    """Proxies are addresses, networks or `unix`; an address is a network of one host."""
    parsed = parse_proxies(written)

    assert [str(network) for network in parsed] == networks
    assert parse_proxies(parsed) == parsed


@pytest.mark.parametrize(
    "written",
    ["*", ["10.0.0.1/8"], ["localhost"], ["unix:"], [1], 7, None, ["10.0.0.0/33"], {"a": 1}],
)
def test_invalid_networks_are_refused(written: object) -> None:
    """A proxy that is neither an address, a network nor `unix` is refused, `*` included."""
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
    """Host names are converted to lower case without a final period."""
    parsed = parse_host_names(written)

    assert list(parsed) == names
    assert parse_host_names(parsed) == parsed


@pytest.mark.parametrize(
    "written",
    ["*", ["*.example"], ["a:9100"], ["http://a"], ["a b"], [" "], [1], 7, None, {"a": 1}],
)
def test_invalid_host_names_are_refused(written: object) -> None:
    """A pattern, a port or a URL in place of a host name is refused."""
    with pytest.raises(ValueError, match="list of host names"):
        parse_host_names(written)
