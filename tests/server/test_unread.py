"""Tests of `UnreadAnswers`, the limits for answers that clients do not read."""

import socket
from collections.abc import Sequence

import pytest

from gateway.server.slots import NEVER, Sweeper
from gateway.server.unread import MIN_READ_BYTES, UnreadAnswers, show_progress
from tests.server.transport import Held

TIMEOUT_SECONDS = 10.0
LARGE = 1_000_000


def passed(sweeper: Sweeper, seconds: float) -> None:
    """Advance the sweeper's clock by `seconds`."""
    for _ in range(round(seconds * 10)):
        sweeper.sweep([], 0.1)


def unread_of(left: int) -> Held:
    """Transport with `left` unsent bytes."""
    transport = Held()
    transport.left = left
    return transport


@pytest.mark.parametrize(
    ("taken", "is_kept"),
    [
        pytest.param(0, False, id="nothing"),
        pytest.param(1_000, False, id="drops"),
        pytest.param(MIN_READ_BYTES, True, id="enough"),
        pytest.param(MIN_READ_BYTES * 2 // 3, True, id="enough, of which not all is seen"),
    ],
)
def test_a_client_that_reads_too_little_is_aborted(taken: int, is_kept: bool) -> None:
    """A client that reads less than required before the deadline is disconnected."""
    sweeper = Sweeper(TIMEOUT_SECONDS)
    answers, transport = UnreadAnswers(sweeper, TIMEOUT_SECONDS), unread_of(LARGE)
    answers.begin(transport, LARGE)
    passed(sweeper, TIMEOUT_SECONDS)
    transport.left -= taken
    deadline = answers.look(transport)

    assert transport.is_aborted is not is_kept
    assert (deadline == NEVER) is not is_kept


@pytest.mark.parametrize(
    ("taken", "silence"),
    [(0, 1.0), (1_000, 1.0), (MIN_READ_BYTES * 2, 2.0), (LARGE * 50, 4.0)],
    ids=["nothing", "little", "twice the least", "much"],
)
@pytest.mark.parametrize("is_first", [True, False], ids=["at once", "later"])
def test_a_client_that_read_much_gets_more_time(taken: int, silence: float, is_first: bool) -> None:
    """A client whose kernel has accepted many bytes can pause longer, up to a maximum."""
    sweeper = Sweeper(TIMEOUT_SECONDS)
    answers, transport = UnreadAnswers(sweeper, TIMEOUT_SECONDS), unread_of(LARGE)
    if is_first:
        deadline = answers.begin(transport, LARGE + taken)
    else:
        transport.left += max(taken, MIN_READ_BYTES)
        answers.begin(transport, transport.left)
        transport.left = LARGE
        deadline = answers.look(transport)

    assert deadline == sweeper.after(silence * TIMEOUT_SECONDS)


def held(answers: UnreadAnswers, sizes: Sequence[int]) -> list[Held]:
    """Transports with an unread answer of each size in `sizes`."""
    transports = [unread_of(size) for size in sizes]
    for transport in transports:
        answers.begin(transport, transport.left)
    return transports


def cut(transports: Sequence[Held]) -> list[bool]:
    return [transport.is_aborted for transport in transports]


def test_all_unread_answers_are_limited() -> None:
    """Above the limit of all unread answers, the client that needs most time is disconnected."""
    sweeper = Sweeper(TIMEOUT_SECONDS)
    answers = UnreadAnswers(sweeper, TIMEOUT_SECONDS, max_bytes=3_500_000)
    waiting = held(answers, [LARGE, LARGE, LARGE])
    passed(sweeper, 5.0)
    waiting[0].left -= 100_000
    waiting[2].left -= 10_000
    before = cut(waiting)
    waiting += held(answers, [700_000])

    assert before == [False, False, False]
    assert cut(waiting) == [False, True, False, False]


def test_read_answers_do_not_count() -> None:
    """Answers that the client has read, or whose client disconnected, do not count for the
    limit.
    """
    answers = UnreadAnswers(Sweeper(TIMEOUT_SECONDS), TIMEOUT_SECONDS, max_bytes=2_500_000)
    for _ in range(5):
        waiting = held(answers, [LARGE])
        answers.end(waiting[0])
        answers.end(waiting[0])
    waiting = held(answers, [LARGE, LARGE])
    waiting[0].left -= 600_000
    waiting += held(answers, [LARGE])
    sound = cut(waiting)
    waiting += held(answers, [LARGE])

    assert sound == [False, False, False]
    assert sum(cut(waiting)) == 1


def test_an_aborted_client_has_no_deadline() -> None:
    """A client that was disconnected because of the limit has no further deadline."""
    answers = UnreadAnswers(Sweeper(TIMEOUT_SECONDS), TIMEOUT_SECONDS, max_bytes=100)
    (transport,) = held(answers, [LARGE])

    assert transport.is_aborted
    assert answers.look(transport) == NEVER


@pytest.mark.skipif(
    not hasattr(socket, "TCP_NOTSENT_LOWAT"), reason="the system has no such option"
)
def test_accepted_sockets_inherit_the_unsent_limit() -> None:
    """Accepted connections inherit TCP_NOTSENT_LOWAT from the listening socket."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        show_progress(listening)
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
            with connection:
                most = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT)

    assert 0 < most <= MIN_READ_BYTES


def test_a_unix_socket_has_no_unsent_limit() -> None:
    """`show_progress` does not set the TCP option on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as listening:
        show_progress(listening)

        assert listening.fileno() >= 0
