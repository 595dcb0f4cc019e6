"""The address that a request comes from."""

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
    """The client of a request from this peer."""
    scope = {**make_scope(headers=headers), "client": (peer, 1)}
    return client_address(scope, parse_proxies(proxies))


@pytest.mark.parametrize("name", [XFF, FORWARDED])
@pytest.mark.parametrize(
    ("peer", "proxies"),
    [("192.0.2.1", "10.0.0.0/8"), ("10.0.0.1", ""), ("127.0.0.1", "10.0.0.0/8")],
    ids=["another peer", "no proxies", "loopback"],
)
def test_nobody_else_is_believed(peer: str, proxies: str, name: str) -> None:
    """Without a trusted proxy the socket's address counts."""
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
def test_the_last_hop_that_is_no_proxy_counts(value: str, client: str) -> None:
    """Earlier hops may be forged; a malformed hop ends the search."""
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
def test_forwarded_counts_alike(value: str, client: str) -> None:
    """The `for` of each hop, as RFC 7239 writes it."""
    assert found("10.0.0.1", [(FORWARDED, value)]) == client


def test_several_lines_are_one_list() -> None:
    """In the order in which they came."""
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
def test_two_headers_must_agree(x_forwarded_for: str, forwarded: str, client: str) -> None:
    """A proxy that writes one may pass on the other as a client made it up."""
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
def test_a_request_counts_for_each_client_that_its_headers_name(
    headers: Sequence[tuple[str, str]], counted: set[str]
) -> None:
    """For the proxy if they name none, and for no address if the request is the proxy's own."""
    scope = {**make_scope(headers=headers), "client": ("10.0.0.1", 1)}

    assert set(counted_addresses(scope, PROXIES)) == counted


def test_a_server_may_know_no_address() -> None:
    """As on a Unix socket; no proxy is trusted there."""
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
def test_every_peer_of_a_unix_socket_may_be_trusted(
    client: object, server: object, headers: Sequence[tuple[str, str]], found_there: str
) -> None:
    """Such a peer has no address of its own, and is a proxy where "unix" is one."""
    scope = {**make_scope(headers=headers), "client": client, "server": server}

    assert client_address(scope, parse_proxies("unix,10.0.0.0/8")) == found_there
    assert client_address(scope, PROXIES) == ""


@pytest.mark.parametrize("client", [None, ("192.0.2.1", 1)], ids=["gone already", "there"])
def test_who_comes_by_tcp_is_no_peer_of_a_unix_socket(client: tuple[str, int] | None) -> None:
    """Not even one that left before its address was looked at."""
    scope = {**make_scope(headers=[(XFF, "203.0.113.7")]), "client": client}

    assert client_address(scope, parse_proxies("unix")) == (client[0] if client else "")


@given(name=st.sampled_from([XFF, FORWARDED]), value=st.text(st.characters(max_codepoint=255)))
def test_any_text_may_come(name: str, value: str) -> None:
    """Any header gives an address."""
    client = found("10.0.0.1", [(name, value)])

    assert client
    assert client == "10.0.0.1" or client.strip() == client
