"""Reads are no larger than what a connection may keep."""

from gateway.server.limits import Edge
from gateway.server.reads import READ_BYTES, BoundedReads
from gateway.settings.model import ServerSettings
from tests.server.conftest import ServeEcho
from tests.server.stage import REQUEST, Stage
from tests.server.wire import exchange

LAST = b"POST /a HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"


async def test_a_read_fills_the_room_of_its_connection() -> None:
    """The more of a connection waits, the less is read; another is not affected."""
    stage = Stage()
    (first, _), (other, _) = stage.connect(), stage.connect()
    reads = [BoundedReads(each, stage.edge.buffer) for each in (first, other)]
    sizes = [len(each.get_buffer(65_536)) for each in reads]
    came = REQUEST % 1 + REQUEST % 2
    reads[0].get_buffer(65_536)[: len(came)] = came
    reads[0].buffer_updated(len(came))
    sizes += [len(each.get_buffer(65_536)) for each in reads]

    assert sizes == [READ_BYTES, READ_BYTES, READ_BYTES - len(REQUEST % 2), READ_BYTES]


def test_a_body_of_many_reads_is_whole(serve_echo: ServeEcho) -> None:
    """What came in each of them is told apart from what lies in the shared buffer."""
    body = bytes(range(256)) * (READ_BYTES // 64)
    (answer,) = exchange(serve_echo(), LAST % len(body) + body)

    assert answer.json["body"].encode("latin-1") == body


def test_servers_of_one_process_share_no_buffer() -> None:
    """They read at the same time, each in its own thread."""
    one, other = (Edge(ServerSettings()) for _ in range(2))

    assert one.buffer.obj is not other.buffer.obj
