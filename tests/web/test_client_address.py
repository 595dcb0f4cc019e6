"""The client address of a request, with and without trusted proxies."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.settings.address import parse_proxies
from gateway.web.client_address import client_address, counted_addresses
from tests.web.requests import make_scope

PROXIES = parse_proxies("10.0.0.0/8,2001:db8::1")
XFF, FORWARDED = "X-Forwarded-For", "Forwarded"


def found(
    peer: str, headers: Sequence[tuple[str, str]] = (), proxies: str = "10.0.0.0/8,2001:db8::1"
) -> str:
    """Return the client address of a request from the socket address `peer`."""
    scope = {**make_scope(headers=headers), "client": (peer, 1)}
    return client_address(scope, parse_proxies(proxies))


@pytest.mark.parametrize("name", [XFF, FORWARDED])
@pytest.mark.parametrize(
    ("peer", "proxies"),
    [("192.0.2.1", "10.0.0.0/8"), ("10.0.0.1", ""), ("127.0.0.1", "10.0.0.0/8")],
    ids=["another peer", "no proxies", "loopback"],
)
def test_headers_of_untrusted_peers_are_ignored(peer: str, proxies: str, name: str) -> None:
    """If the peer is not a trusted proxy, its own address is the client address."""
    value = "203.0.113.7" if name == XFF else "for=203.0.113.7"

    assert found(peer, [(name, value)], proxies) == peer


@pytest.mark.parametrize(
    ("value", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("1.1.1.1, 203.0.113.7", "203.0.113.7"),
        ("1.1.1.1,203.0.113.7,10.1.2.3", "203.0.113.7"),
        ("1.1.1.1, 203.0.113.7, 10.1.2.3, 2001:db8::1", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("::ffff:10.0.0.9", "10.0.0.9"),
        ("10.0.0.8, 10.0.0.9", "10.0.0.8"),
        ("unknown", "10.0.0.1"),
        ("203.0.113.7, unknown", "10.0.0.1"),
        ("203.0.113.7, x, 10.0.0.9", "10.0.0.9"),
        ("203.0.113.7,", "10.0.0.1"),
        ("", "10.0.0.1"),
        ("203.0.113.7, 999.0.0.1", "10.0.0.1"),
        ("1.1.1.1," + "10.0.0.9," * 1000 + "10.0.0.8", "10.0.0.9"),
    ],
)
def test_the_last_untrusted_hop_is_the_client(value: str, client: str) -> None:
    """Hops before the last untrusted hop can be forged. A malformed hop ends the search."""
    assert found("10.0.0.1", [(XFF, value)]) == client


@pytest.mark.parametrize(
    ("value", "client"),
    [
        ("for=203.0.113.7", "203.0.113.7"),
        ("For=203.0.113.7; proto=https ;by=10.0.0.1", "203.0.113.7"),
        ('for=203.0.113.7;host="a,for=1.1.1.1"', "203.0.113.7"),
        ('for=203.0.113.7;host="a\\",for=1.1.1.1;by=\\""', "203.0.113.7"),
        ('by="x, for=203.0.113.7;host=",for=1.1.1.1;by="', "10.0.0.1"),
        ("proto=https;for=203.0.113.7", "203.0.113.7"),
        ('for="203.0.113.7:4711"', "203.0.113.7"),
        ('for="[2001:db8::7]:4711"', "2001:db8::7"),
        ("for=1.1.1.1, for=203.0.113.7, for=10.0.0.9", "203.0.113.7"),
        ("for=_hidden", "10.0.0.1"),
        ('for="_x,for=1.1.1.1"', "10.0.0.1"),
        ("by=203.0.113.7", "10.0.0.1"),
        ("host=for=203.0.113.7", "10.0.0.1"),
    ],
)
def test_forwarded_is_read_like_x_forwarded_for(value: str, client: str) -> None:
    """The `for` parameter of each hop in `Forwarded` is read by the grammar of RFC 7239."""
    assert found("10.0.0.1", [(FORWARDED, value)]) == client


def test_several_header_lines_are_one_list() -> None:
    """Several lines of X-Forwarded-For are read as one list, in the order of the lines."""
    lines = [(XFF, "1.1.1.1"), (XFF, "203.0.113.7"), (XFF, "10.0.0.9")]

    assert found("10.0.0.1", lines) == "203.0.113.7"


@pytest.mark.parametrize(
    ("x_forwarded_for", "forwarded", "client"),
    [
        ("203.0.113.7", "for=203.0.113.7", "203.0.113.7"),
        ("203.0.113.7", "for=1.1.1.1", "10.0.0.1"),
        ("203.0.113.7", "x", "203.0.113.7"),
        ("203.0.113.7", "for=_hidden", "203.0.113.7"),
        ("203.0.113.7", "for=10.0.0.9", "203.0.113.7"),
        ("unknown", "for=203.0.113.7", "203.0.113.7"),
        ("unknown", "x", "10.0.0.1"),
        ("10.0.0.8", "for=10.0.0.9", "10.0.0.1"),
    ],
)
def test_contradicting_headers_are_ignored(
    x_forwarded_for: str, forwarded: str, client: str
) -> None:
    """If X-Forwarded-For and Forwarded name two clients, the proxy's own address is the client."""
    headers = [(XFF, x_forwarded_for), (FORWARDED, forwarded)]

    assert found("10.0.0.1", headers) == client


@pytest.mark.parametrize(
    ("headers", "counted"),
    [
        pytest.param([(XFF, "203.0.113.7")], {"203.0.113.7"}, id="one"),
        pytest.param(
            [(XFF, "203.0.113.7"), (FORWARDED, "for=203.0.113.7")], {"203.0.113.7"}, id="agree"
        ),
        pytest.param(
            [(XFF, "203.0.113.7"), (FORWARDED, "for=1.1.1.1")],
            {"203.0.113.7", "1.1.1.1"},
            id="contradict",
        ),
        pytest.param(
            [(XFF, "1.1.1.1, 2.2.2.2"), (FORWARDED, "for=3.3.3.3"), (FORWARDED, "for=4.4.4.4")],
            {"2.2.2.2", "4.4.4.4"},
            id="two at most",
        ),
        pytest.param([(XFF, "203.0.113.7"), (FORWARDED, "x")], {"203.0.113.7"}, id="malformed"),
        pytest.param([(XFF, "203.0.113.7"), (FORWARDED, "")], {"203.0.113.7"}, id="blank"),
        pytest.param(
            [(XFF, "203.0.113.7"), (FORWARDED, "for=10.0.0.9")], {"203.0.113.7"}, id="own"
        ),
        pytest.param([(FORWARDED, "x, for=203.0.113.7")], {"10.0.0.1"}, id="damaged"),
        pytest.param([(FORWARDED, 'for="x, for=203.0.113.7')], {"10.0.0.1"}, id="open quotes"),
        pytest.param([(FORWARDED, "for=_hidden")], {"10.0.0.1"}, id="obfuscated"),
        pytest.param([(XFF, "unknown")], {"10.0.0.1"}, id="unknown"),
        pytest.param([(XFF, "unknown, 10.0.0.9")], {"10.0.0.1"}, id="unknown to another proxy"),
        pytest.param([(XFF, "")], {"10.0.0.1"}, id="nothing"),
        pytest.param([(XFF, "203.0.113.7:47")], {"203.0.113.7"}, id="a port"),
        pytest.param([(XFF, "[2001:db8::7]:47")], {"2001:db8::7"}, id="brackets"),
        pytest.param([(XFF, "10.0.0.8, 10.0.0.9")], set(), id="a proxy's own"),
        pytest.param([], set(), id="no header"),
    ],
)
def test_limits_count_each_client_that_the_headers_name(
    headers: Sequence[tuple[str, str]], counted: set[str]
) -> None:
    """A request counts for each client in its headers; without a client, for the proxy."""
    scope = {**make_scope(headers=headers), "client": ("10.0.0.1", 1)}

    assert set(counted_addresses(scope, PROXIES)) == counted


def test_a_peer_without_an_address() -> None:
    """Without a peer address, as on a Unix socket, the client address is empty."""
    scope = make_scope(headers=[(XFF, "203.0.113.7")])

    assert client_address({**scope, "client": None}, PROXIES) == ""
    assert client_address({**scope, "client": ("", 0)}, PROXIES) == ""


@pytest.mark.parametrize("client", [None, ("", 0)], ids=repr)
@pytest.mark.parametrize("server", [("/run/x.sock", None), None], ids=repr)
@pytest.mark.parametrize(
    ("headers", "found_there"),
    [
        ([(XFF, "1.1.1.1, 203.0.113.7")], "203.0.113.7"),
        ([(XFF, "203.0.113.7, 10.0.0.9")], "203.0.113.7"),
        ([(FORWARDED, "for=203.0.113.7")], "203.0.113.7"),
        ([(XFF, "203.0.113.7"), (FORWARDED, "for=1.1.1.1")], ""),
        ([(XFF, "nobody")], ""),
        ([], ""),
    ],
)
def test_the_proxy_unix_trusts_unix_sockets(
    client: object, server: object, headers: Sequence[tuple[str, str]], found_there: str
) -> None:
    """With "unix" among the proxies, headers of requests over a Unix socket are trusted."""
    scope = {**make_scope(headers=headers), "client": client, "server": server}

    assert client_address(scope, parse_proxies("unix,10.0.0.0/8")) == found_there
    assert client_address(scope, PROXIES) == ""


@pytest.mark.parametrize("client", [None, ("192.0.2.1", 1)], ids=["gone already", "there"])
def test_the_proxy_unix_does_not_trust_tcp(client: tuple[str, int] | None) -> None:
    """The proxy "unix" trusts no TCP peer, not even one whose address is unknown after it left."""
    scope = {**make_scope(headers=[(XFF, "203.0.113.7")]), "client": client}

    assert client_address(scope, parse_proxies("unix")) == (client[0] if client else "")


@given(name=st.sampled_from([XFF, FORWARDED]), value=st.text(st.characters(max_codepoint=255)))
def test_any_header_gives_an_address(name: str, value: str) -> None:
    """Any text in a proxy header gives either an address or the proxy's own address."""
    client = found("10.0.0.1", [(name, value)])

    assert client
    assert client == "10.0.0.1" or client.strip() == client
