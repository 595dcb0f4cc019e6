"""Work on bodies: short ones at once, long ones beside the event loop and in turns."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial

from gateway.web.parsing import MOST_BYTES, Parsing


async def test_long_bodies_are_worked_on_in_a_thread() -> None:
    """Short ones are not worth the way there."""
    parsing = Parsing()
    short = await parsing.run("k", MOST_BYTES, threading.get_ident)
    long = await parsing.run("k", MOST_BYTES + 1, threading.get_ident)

    assert short == threading.get_ident() != long


async def test_keys_take_turns() -> None:
    """Of each key one body is in line, so that nobody waits for all bodies of another."""
    parsing, gate, order = Parsing(), threading.Event(), list[str]()

    def work(name: str) -> None:
        gate.wait(10.0)
        order.append(name)

    def sent(key_id: str, name: str) -> asyncio.Task[None]:
        return asyncio.create_task(parsing.beside(key_id, partial(work, name)))

    tasks = [sent("a", f"a{number}") for number in range(5)]
    tasks += [sent("b", "b0"), sent("c", "c0"), sent("b", "b1")]
    for _ in range(20):
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)

    assert order == ["a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"]


async def test_a_failure_ends_a_turn() -> None:
    """Also one whose client has left."""
    parsing = Parsing()
    failing: Callable[[], None] = partial(_fail, "damaged")
    failed = await asyncio.gather(
        *(parsing.beside("k", failing) for _ in range(3)), return_exceptions=True
    )
    leaving = asyncio.create_task(parsing.beside("k", lambda: None))
    await asyncio.sleep(0)
    leaving.cancel()

    assert [str(error) for error in failed] == ["damaged"] * 3
    assert await asyncio.wait_for(parsing.beside("k", lambda: 1), 10.0) == 1


def _fail(text: str) -> None:
    raise ValueError(text)
