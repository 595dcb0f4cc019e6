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
    """Request as a proxy forwards it, with the client's own Forwarded header in `claim`."""
    own = "" if claim is None else f"Forwarded: {claim}\r\n"
    return (REQUEST % number)[:-2] + f"X-Forwarded-For: {address}\r\n{own}\r\n".encode()


def incomplete_heads(
    stage: Stage, count: int, peer: str = "127.0.0.1"
) -> list[tuple[Connection, Held]]:
    """`count` connections of one address, each with an incomplete head."""
    made = []
    for _ in range(count):
        made.append(stage.connect(peer=peer))
        receive(made[-1][0], INCOMPLETE_HEAD)
    return made


def statuses(made: Sequence[tuple[Connection, Held]]) -> list[str]:
    """The status of the first answer on each connection, empty if none came."""
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
    """IPv6 addresses count by their /64; IPv4 addresses count separately."""
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
    """By default an address can have a quarter of all connections; 0 means no limit."""
    assert Slots(ServerSettings.model_validate(settings)).max_per_address == most


async def test_the_limit_per_address() -> None:
    """An address above its limit gets an error, while other addresses can connect."""
    stage = Stage(max_connections=100, max_connections_per_address=3)
    greedy = incomplete_heads(stage, 5)
    other = incomplete_heads(stage, 1, peer="127.0.0.2")
    await settled()

    assert statuses(greedy) == ["", "", "", "503", "503"]
    assert statuses(other) == [""]
    assert b"retry-after: 5\r\n" in greedy[-1][1].written


async def test_connections_far_above_the_address_limit_are_aborted() -> None:
    """A few connections above an address's limit get an error answer; further connections
    are closed.
    """
    stage = Stage(max_connections=1000, max_connections_per_address=1)
    *refused, last = incomplete_heads(stage, MAX_REFUSED + 2)
    await settled()

    assert set(statuses(refused[1:])) == {"503"}
    assert (last[1].written, last[1].is_aborted) == (b"", True)


async def test_a_new_connection_closes_an_idle_one_of_its_address() -> None:
    """At an address's limit, its longest idle connection is closed; connections of other
    addresses stay.
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
    """At the limit, a new connection gets 503 while the others are active, and a later
    one closes the connection that became idle.
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
    """Connections of an address count while they are open, and the count is deleted afterwards."""
    stage = Stage(max_connections=100, max_connections_per_address=1)
    for _ in range(3):
        ((connection, transport),) = incomplete_heads(stage, 1)
        await settled()
        assert transport.written == b""
        connection.connection_lost(None)

    assert stage.edge.slots.counts == {}


@pytest.mark.parametrize("peer", [PROXY, "::ffff:10.0.0.1"])
async def test_a_trusted_proxy_has_no_connection_limit(peer: str) -> None:
    """A trusted proxy has no limit, because its connections are of many clients."""
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
    """Unix socket clients count as one address, or as a trusted proxy."""
    slots = Slots(ServerSettings(), parse_proxies(proxies))
    connection, _ = Stage().connect()
    Slot(slots, connection).take(None, ("/run/gateway.sock", None), 1)

    assert sum(slots.counts.values()) == counted


async def test_requests_count_for_the_clients_of_a_proxy() -> None:
    """Requests of a proxy count for the client's address; above the limit a request fails
    and the connection stays.
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
    """A client's own `Forwarded` header does not change the address that its proxy wrote."""
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
    """A false address in a client's header does not use up the limit of this address."""
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
    """Requests of a proxy with an unreadable client address share one limit."""
    stage = Stage(PROXIES, max_connections=100, max_connections_per_address=2)
    made = [stage.connect(peer=PROXY) for _ in range(4)]
    for number, (connection, _) in enumerate(made[:3]):
        damaged = b'Forwarded: for="x, for=192.0.2.%d\r\n\r\n' % number
        receive(connection, (REQUEST % number)[:-2] + damaged)
    receive(made[3][0], REQUEST % 3)
    await settled()

    assert statuses(made) == ["", "", "503", ""]


async def test_a_request_counts_until_its_answer_is_read() -> None:
    """A request counts until its client has read the answer or the connection ends."""
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
    """The short body of a rejected upload is read, and the proxy's connection stays open."""
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
    """Connections in the order in which they became idle."""
    return OrderedDict.fromkeys(connections, None)


def test_make_room_closes_the_longest_idle_connection() -> None:
    """Each call closes the connection that is idle longest; without idle connections it
    returns False.
    """
    first, second = Waiting(), Waiting()
    idle = in_order(first, second)
    made = [make_room(idle)]
    closed = [(first.is_closed, second.is_closed)]
    made += [make_room(idle), make_room(idle)]

    assert made == [True, True, False]
    assert closed == [(True, False)]
    assert second.is_closed


def test_make_room_skips_busy_connections() -> None:
    """`make_room` skips a connection that is busy, and removes it from the idle list."""
    busy, free = Waiting(is_idle=False), Waiting()
    idle = in_order(busy, free)
    made = make_room(idle)

    assert (made, busy.is_closed, free.is_closed) == (True, False, True)
    assert len(idle) == 0
