"""Bisect a rejected batch: find the write that made Google refuse it.

Rules
- Google refuses a group wholly, so nothing of it was written; every try is a write that counts.
- Mostly one write is to blame, and mostly it looks unlike the others: it is left out first, then
  the rest is halved. What cannot be told apart with the tries that there are, is refused.
- Those that were refused with the suspects only go along with the next try, and the last try is
  for them alone.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from gateway.errors import (
    GatewayError,
    InvalidBody,
    ProtectedCells,
    UpstreamError,
    UpstreamRefusal,
    write_outcome,
)
from gateway.worksheets.writes import Outcome

MAX_EXTRA_WRITES = 4

Part = TypeVar("Part")

_WORDS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")


async def separate(
    parts: Mapping[Part, Sequence[object]],
    send: Callable[[Sequence[Part]], Awaitable[Mapping[Part, Outcome]]],
    refusal: GatewayError,
    *,
    tries: int,
) -> Mapping[Part, Outcome]:
    """Send what Google takes of a refused group; the rest has the refusal for its outcome.

    `parts` come with the values that they write. At most `tries` writes, each in the order of
    the parts. An error of another kind ends it.
    """
    outcomes: dict[Part, Outcome] = {}
    suspects, share = _by_suspicion(parts)
    others: list[Part] = []
    while (len(suspects) > 1 or others) and tries > 0:
        tries -= 1
        tried = suspects[: 0 if others and tries == 0 else share]
        left = suspects[len(tried) :]
        together = {*others, *tried}
        group = [part for part in parts if part in together]
        try:
            outcomes.update(await send(group))
        except UpstreamRefusal:
            # Without a suspect among them, another one of these is to blame.
            suspects, others = (tried, [*others, *left]) if tried else (others, [])
        except GatewayError as error:
            outcomes.update(dict.fromkeys(group, error))
            refusal = error if write_outcome(error) == "not_applied" else refusal
            break
        else:
            suspects, others = left, []
        share = len(suspects) // 2
    if len(suspects) > 1 or others:
        shapes = {_shape(values) for part, values in parts.items() if part not in outcomes}
        refusal = undecided(refusal, are_alike=len(shapes) == 1)
    return {part: outcomes.get(part, refusal) for part in parts}


def undecided(refusal: GatewayError, *, are_alike: bool = False) -> GatewayError:
    """The error of writes of which one is to blame, and nobody knows which.

    Cells that are protected are so for all writes that are alike.
    """
    is_of_one = isinstance(refusal, InvalidBody | ProtectedCells) and not are_alike
    if not is_of_one and not isinstance(refusal, UpstreamRefusal):
        return refusal
    return UpstreamError(
        "Google refused several writes that went to it together, and not all of them may be to "
        "blame. This one was not written; send it again.",
        outcome="not_applied",
    )


def _by_suspicion(parts: Mapping[Part, Sequence[object]]) -> tuple[list[Part], int]:
    """The parts, those unlike most others at the end, and how many of them to try first."""
    shapes = {part: _shape(values) for part, values in parts.items()}
    counts = Counter(shapes.values())
    ordered = sorted(parts, key=lambda part: (-counts[shapes[part]], shapes[part]))
    is_odd = len(set(counts.values())) > 1
    return ordered, max(counts.values()) if is_odd else len(ordered) // 2


def _shape(values: Sequence[object]) -> str:
    """What is left of values when all words are one and all numbers are one."""
    return _DIGITS.sub("0", _WORDS.sub("a", repr(values)))
