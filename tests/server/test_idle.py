"""Which connection makes room where there are too many."""

from collections import OrderedDict
from dataclasses import dataclass

from gateway.server.idle import IdleConnections, Idling, make_room


@dataclass(eq=False)
class Waiting:
    """A connection that notes that it was closed."""

    is_idle: bool = True
    is_closed: bool = False

    def close_idle(self) -> None:
        self.is_closed = True


def in_order(*connections: Idling) -> IdleConnections:
    """Connections that began to wait in this order."""
    return OrderedDict.fromkeys(connections, None)


def test_the_one_that_is_idle_for_longest_goes() -> None:
    """Each makes room once; without any there is none."""
    first, second = Waiting(), Waiting()
    idle = in_order(first, second)
    made = [make_room(idle)]
    closed = [(first.is_closed, second.is_closed)]
    made += [make_room(idle), make_room(idle)]

    assert made == [True, True, False]
    assert closed == [(True, False)]
    assert second.is_closed


def test_one_that_is_not_idle_after_all_is_passed_over() -> None:
    """It is not asked again until it says so."""
    busy, free = Waiting(is_idle=False), Waiting()
    idle = in_order(busy, free)
    made = make_room(idle)

    assert (made, busy.is_closed, free.is_closed) == (True, False, True)
    assert len(idle) == 0
