"""Which connection makes room where there are too many."""

from dataclasses import dataclass

from gateway.edge.idle import IdleConnections


@dataclass(eq=False)
class Waiting:
    """A connection that notes that it was closed."""

    is_idle: bool = True
    is_closed: bool = False

    def close_idle(self) -> None:
        self.is_closed = True


def test_the_one_that_is_idle_for_longest_goes() -> None:
    """Each makes room once; without any there is none."""
    idle = IdleConnections()
    first, second = Waiting(), Waiting()
    idle.add(second)
    idle.add(first)
    idle.discard(second)
    idle.add(second)
    made = [idle.make_room()]
    closed = [(first.is_closed, second.is_closed)]
    made += [idle.make_room(), idle.make_room()]

    assert made == [True, True, False]
    assert closed == [(True, False)]
    assert second.is_closed


def test_one_that_is_not_idle_after_all_is_passed_over() -> None:
    """It is not asked again until it says so."""
    idle = IdleConnections()
    busy, free = Waiting(is_idle=False), Waiting()
    idle.add(busy)
    idle.add(free)
    made = idle.make_room()

    assert (made, busy.is_closed, free.is_closed) == (True, False, True)
    assert len(idle) == 0


def test_who_is_gone_is_forgotten() -> None:
    """Also if it was not there."""
    idle = IdleConnections()
    gone = Waiting()
    idle.add(gone)
    idle.discard(gone)
    idle.discard(gone)

    assert not idle.make_room()
    assert not gone.is_closed
