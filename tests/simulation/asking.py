"""Send a write repeatedly until its outcome is known."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import httpx2

IN_PROGRESS = 4090
FAILURES = 500


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Limits of the requests for one write: seconds per request, number, and longest pause."""

    answer_seconds: float
    asks: int
    longest_pause_seconds: float


class HasOutcome(Protocol):
    @property
    def outcome(self) -> str: ...


R = TypeVar("R", bound=HasOutcome)


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[R]):
    """Result of a write, after all its requests."""

    read: R | None
    is_cut: bool
    """True if the connection broke before the last answer."""
    asks: int


async def ask(
    send: Callable[[], Awaitable[httpx2.Response]],
    read: Callable[[httpx2.Response], R],
    *,
    is_keyed: bool,
    patience: Patience,
    is_up: asyncio.Event,
) -> Asked[R]:
    """Send a write until its outcome is known, or `patience.asks` requests were sent.

    Waits while `is_up` is not set. Only a write with an Idempotency-Key (`is_keyed`) is repeated
    after a lost connection.
    """
    asked: Asked[R] = Asked(read=None, is_cut=False, asks=0)
    while asked.asks < patience.asks:
        await is_up.wait()
        try:
            answer = await send()
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            await asyncio.sleep(0.05)  # nothing was sent
            continue
        except httpx2.TransportError:
            asked = Asked(read=None, is_cut=True, asks=asked.asks + 1)
            pause_seconds, may_repeat = 0.1, is_keyed
        else:
            found = read(answer)
            asked = Asked(read=found, is_cut=asked.is_cut, asks=asked.asks + 1)
            pause_seconds = float(answer.headers.get("Retry-After", "1"))
            has_wait = "Retry-After" in answer.headers  # with `applied`: where its rows are
            may_repeat = has_wait and (is_keyed or found.outcome == "not_applied")
            may_repeat = may_repeat or (is_keyed and found.outcome == "unknown")
        if not may_repeat:
            break
        await asyncio.sleep(min(pause_seconds, patience.longest_pause_seconds))
    return asked
