"""Tests of connection slots: the total limit, and the limit per client address."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from gateway.access.address_rates import network_of
from gateway.server.connection import Connection
from gateway.server.limits import MAX_REFUSED
from gateway.server.slots import IdleConnections, Slot, Slots, make_room
from gateway.settings.address import parse_proxies
from gateway.settings.model import ServerSettings
from tests.server.stage import LAST, REQUEST, UPLOAD, Stage, answers_in, settled
from tests.server.transport import Held, receive

INCOMPLETE_HEAD = b"GET / HTTP/1.1\r\nHost: gateway\r\nX-Slow: "
PROXIES = parse_proxies("10.0.0.0/8")
PROXY = "10.0.0.1"


def forwarded(number: int, address: str, claim: str | None = None) -> bytes:
    """Request that a proxy forwards. `claim` is the client's own Forwarded header."""
    own = "" if claim is None else f"Forwarded: {claim}\r\n"
    return (REQUEST % number)[:-2] + f"X-Forwarded-For: {address}\r\n{own}\r\n".encode()


def incomplete_heads(
    stage: Stage, count: int, peer: str = "127.0.0.1"
) -> list[tuple[Connection, Held]]:
    """Open `count` connections from one address, each with an incomplete head."""
    made = []
    for _ in range(count):
        made.append(stage.connect(peer=peer))
        receive(made[-1][0], INCOMPLETE_HEAD)
    return made


def statuses(made: Sequence[tuple[Connection, Held]]) -> list[str]:
    """Status of the first answer on each connection, or "" for a connection without an answer."""
    return [transport.written[9:12].decode() for _, transport in made]


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", "192.0.2.2", id="IPv4"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2", id="IPv4 within IPv6"),
        pytest.param("2001:db8:0:1::1", "2001:db8:0:1:ffff::", "2001:db8:0:2::1", id="IPv6"),
        pytest.param("fe80::1%eth0", "fe80::2%eth1", "fe81::1", id="IPv6 with a zone"),
        pytest.param("", "", "127.0.0.1", id="a Unix socket"),
    ],
)
def test_ipv6_addresses_count_by_network(address: str, same: str, other: str) -> None:
    """IPv6 addresses of one /64 network count together. Each IPv4 address counts separately."""
    assert network_of(address) == network_of(same) != network_of(other)


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({}, 1024),
        ({"max_connections": 100}, 25),
        ({"max_connections_per_address": 7}, 7),
        ({"max_connections_per_address": 0}, float("inf")),
        ({"max_connections": 3}, float("inf")),
    ],
    ids=["default", "a quarter", "set", "off", "a quarter of few"],
)
def test_default_limit_per_address(settings: dict[str, int], most: float) -> None:
    """By default an address can have a quarter of all connections. 0 means no limit."""
    assert Slots(ServerSettings.model_validate(settings)).max_per_address == most


async def test_the_limit_per_address() -> None:
    """An address above its limit gets 503, while other addresses can connect."""
    stage = Stage(max_connections=100, max_connections_per_address=3)
    greedy = incomplete_heads(stage, 5)
    other = incomplete_heads(stage, 1, peer="127.0.0.2")
    await settled()

    assert statuses(greedy) == ["", "", "", "503", "503"]
    assert statuses(other) == [""]
    assert b"retry-after: 5\r\n" in greedy[-1][1].written


async def test_connections_far_above_the_address_limit_are_aborted() -> None:
    """64 connections above an address's limit get an error answer. Further connections are
    closed.
    """
    stage = Stage(max_connections=1000, max_connections_per_address=1)
    *refused, last = incomplete_heads(stage, MAX_REFUSED + 2)
    await settled()

    assert set(statuses(refused[1:])) == {"503"}
    assert (last[1].written, last[1].is_aborted) == (b"", True)


async def test_a_new_connection_closes_an_idle_one_of_its_address() -> None:
    """At an address's limit, a new connection closes the longest idle connection of the same
    address.
    """
    stage = Stage(max_connections=100, max_connections_per_address=2)
    stage.app.may_answer.set()
    (other, _), (first, one), (_, two) = (
        stage.connect(peer=peer) for peer in ("127.0.0.2", "127.0.0.1", "127.0.0.1")
    )
    receive(first, REQUEST % 1)
    await settled()
    _, newcomer = stage.connect()
    await settled()

    assert (one.is_closed, two.is_closed, newcomer.written) == (False, True, b"")
    assert other.is_idle


async def test_a_connection_can_be_replaced_after_its_answer() -> None:
    """At the limit, a new connection gets 503 while all are active, and later replaces one that
    became idle.
    """
    stage = Stage(max_connections=2, max_connections_per_address=0)
    stage.app.may_answer.set()
    (busy, first), (half, _) = stage.connect(), stage.connect()
    receive(busy, REQUEST % 1)
    receive(half, INCOMPLETE_HEAD)
    await settled()
    stage.app.may_answer.clear()
    receive(busy, REQUEST % 2)
    await settled()
    refused, second = stage.connect()
    await settled()
    was_closed = first.is_closed
    refused.connection_lost(None)
    stage.app.may_answer.set()
    await settled()
    _, newcomer = stage.connect()
    await settled()

    assert second.written.startswith(b"HTTP/1.1 503 ")
    assert (was_closed, first.is_closed) == (False, True)
    assert newcomer.written == b""


async def test_closed_connections_free_their_slots() -> None:
    """Connections of an address count while they are open. Afterwards the count is deleted."""
    stage = Stage(max_connections=100, max_connections_per_address=1)
    for _ in range(3):
        ((connection, transport),) = incomplete_heads(stage, 1)
        await settled()
        assert transport.written == b""
        connection.connection_lost(None)

    assert stage.edge.slots.counts == {}


@pytest.mark.parametrize("peer", [PROXY, "::ffff:10.0.0.1"])
async def test_a_trusted_proxy_has_no_connection_limit(peer: str) -> None:
    """A trusted proxy has no limit per address, because its connections are for many clients."""
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=1)
    made = [stage.connect(peer=peer) for _ in range(10)]
    for number, (connection, _) in enumerate(made):
        receive(connection, REQUEST % number)
    await settled()

    assert statuses(made) == [""] * 10
    assert len(stage.app.began) == 10
    assert stage.edge.slots.counts == {}


@pytest.mark.parametrize(("proxies", "counted"), [("unix", 0), ("10.0.0.0/8", 1)])
async def test_peers_of_a_unix_socket_count_unless_they_are_trusted(
    proxies: str, counted: int
) -> None:
    """Clients of a Unix socket count as one address, or have no limit if the proxy is trusted."""
    slots = Slots(ServerSettings(), parse_proxies(proxies))
    connection, _ = Stage().connect()
    Slot(slots, connection).take(None, ("/run/gateway.sock", None), 1)

    assert sum(slots.counts.values()) == counted


async def test_requests_count_for_the_clients_of_a_proxy() -> None:
    """A proxy's request counts for the client's address. Above the limit it gets 503 on an open
    connection.
    """
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=2)
    made = [stage.connect(peer=PROXY) for _ in range(4)]
    addresses = ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"]
    for number, ((connection, _), address) in enumerate(zip(made, addresses, strict=True)):
        receive(connection, forwarded(number, address))
    await settled()
    refused, transport = made[2]
    refusal, is_open = transport.written, not transport.has_ended
    stage.app.may_answer.set()
    await settled()
    receive(refused, forwarded(9, "192.0.2.1"))
    await settled()

    assert refusal.startswith(b"HTTP/1.1 503 ")
    assert is_open
    assert b"connection: close" not in refusal
    assert sorted(stage.app.ended) == ["/0", "/1", "/3", "/9"]
    assert stage.edge.slots.counts == {}


CLAIMS = [f"for=198.51.100.{number}" for number in range(3)]


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param(["x"] * 3, id="malformed"),
        pytest.param([""] * 3, id="blank"),
        pytest.param(["for=_x"] * 3, id="obfuscated"),
        pytest.param(["for=198.51.100.7"] * 3, id="an address"),
        pytest.param(CLAIMS, id="other addresses"),
        pytest.param([f"for={PROXY}"] * 3, id="the proxy"),
    ],
)
async def test_a_client_cannot_avoid_its_limit_by_a_header(claims: Sequence[str]) -> None:
    """A client's own `Forwarded` header does not change the address that the proxy added."""
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=2)
    made = [stage.connect(peer=PROXY) for _ in claims]
    for number, ((connection, _), claim) in enumerate(zip(made, claims, strict=True)):
        receive(connection, forwarded(number, "192.0.2.1", claim))
    await settled()
    seen = statuses(made)
    stage.app.may_answer.set()
    await settled()

    assert seen == ["", "", "503"]
    assert stage.edge.slots.counts == {}


async def test_a_forged_header_does_not_use_the_limit_of_another() -> None:
    """A forged address in a client's header does not use up the limit of this address."""
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=2)
    made = [stage.connect(peer=PROXY) for _ in range(6)]
    for number, (connection, _) in enumerate(made):
        is_owner = number >= 4
        address = "192.0.2.9" if is_owner else f"192.0.2.{number}"
        claim = None if is_owner else "for=192.0.2.9"
        receive(connection, forwarded(number, address, claim))
    await settled()

    assert statuses(made) == ["", "", "503", "503", "", ""]


async def test_requests_without_a_readable_client_count_together() -> None:
    """Requests of a proxy with invalid client addresses share one limit."""
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=2)
    made = [stage.connect(peer=PROXY) for _ in range(4)]
    for number, (connection, _) in enumerate(made[:3]):
        damaged = b'Forwarded: for="x, for=192.0.2.%d\r\n\r\n' % number
        receive(connection, (REQUEST % number)[:-2] + damaged)
    receive(made[3][0], REQUEST % 3)
    await settled()

    assert statuses(made) == ["", "", "503", ""]


async def test_a_request_counts_until_its_answer_is_read() -> None:
    """A proxy's request counts until the client has read the answer or the connection ends."""
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=1)
    stage.app.may_answer.set()
    (slow, transport), (other, refused) = stage.connect(100, PROXY), stage.connect(peer=PROXY)
    receive(slow, forwarded(1, "192.0.2.1"))
    await settled()
    receive(other, forwarded(2, "192.0.2.1"))
    await settled()
    transport.abort()
    slow.connection_lost(None)
    receive(other, forwarded(3, "192.0.2.1"))
    await settled()

    assert refused.written.count(b"HTTP/1.1 503 ") == 1
    assert answers_in(refused) == 1
    assert stage.app.ended == ["/1", "/3"]


async def test_the_body_of_a_refused_upload_is_skipped() -> None:
    """The short body of a refused request is read and discarded. The proxy's connection stays
    open.
    """
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=1)
    (busy, _), (connection, transport) = (stage.connect(peer=PROXY) for _ in range(2))
    receive(busy, forwarded(1, "192.0.2.1"))
    upload = (UPLOAD % 2).replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
    receive(connection, upload)
    await settled()
    stage.app.may_answer.set()
    receive(connection, b"cde" + LAST)
    await settled()

    assert transport.written.count(b"HTTP/1.1 503 ") == 1
    assert stage.app.ended == ["/1", "/9"]


@dataclass(eq=False)
class Waiting:
    """Fake connection that records `close_idle`."""

    is_idle: bool = True
    is_closed: bool = False

    def close_idle(self) -> None:
        self.is_closed = True


def in_order(*connections: Waiting) -> IdleConnections:
    """Idle connections, the longest idle first."""
    return OrderedDict.fromkeys(connections, None)


def test_make_room_closes_the_longest_idle_connection() -> None:
    """Each call of `make_room` closes the longest idle connection, or returns False without one."""
    first, second = Waiting(), Waiting()
    idle = in_order(first, second)
    made = [make_room(idle)]
    closed = [(first.is_closed, second.is_closed)]
    made += [make_room(idle), make_room(idle)]

    assert made == [True, True, False]
    assert closed == [(True, False)]
    assert second.is_closed


def test_make_room_skips_busy_connections() -> None:
    """`make_room` skips a busy connection, and removes it from the idle connections."""
    busy, free = Waiting(is_idle=False), Waiting()
    idle = in_order(busy, free)
    made = make_room(idle)

    assert (made, busy.is_closed, free.is_closed) == (True, False, True)
    assert len(idle) == 0
