"""Random texts, bytes and values, often unusual, that depend only on the `Random`."""

import json
import string
from collections.abc import Callable, Sequence
from random import Random

from gateway.table.record import Stored
from tests.fuzz.requests import FIELDS, ODD_TEXTS, OPERATORS
from tests.journeys.formula_payloads import PAYLOADS

_ALPHABETS: Sequence[str] = (
    string.digits + ".,-+eE% $€/:'",
    string.ascii_letters,
    '{}[]",:\\ $nulltrue0',
    "%0123456789abcdefABCDEF",
    "=+-@'\t\r\n ＝＋\u00a0\u200b\ufeff",
    "äß😀\u0301\u202e\x00\x7f\u2028\ufffd",
    "\ud800\udfff\udc00",
)


def any_text(random: Random, *, longest: int = 12, is_whole: bool = False) -> str:
    """Return any text. With `is_whole`, the text has no lone surrogates."""
    choice = random.random()
    if choice < 0.2:
        text = random.choice(ODD_TEXTS)
    elif choice < 0.3:
        text = random.choice(PAYLOADS[:-1])
    elif choice < 0.4:
        text = random.choice(FIELDS + OPERATORS)
    else:
        alphabets = random.choices(_ALPHABETS, k=random.choice((1, 1, 2)))
        text = "".join(
            random.choice(random.choice(alphabets)) for _ in range(random.randint(0, longest))
        )
    return text.encode("utf-8", "ignore").decode() if is_whole else text


def any_bytes(random: Random) -> bytes:
    """Return any bytes, mostly an encoded text."""
    if random.random() < 0.2:
        return random.randbytes(random.randint(0, 20))
    return any_text(random, longest=30).encode("utf-8", "surrogatepass")


def any_stored(random: Random) -> Stored:
    """Return a value that a client can write."""
    return random.choice(_VALUES)(random)


def any_json(random: Random, depth: int = 0) -> object:
    """Return a JSON value with a few levels."""
    choice = random.random()
    if depth < 3 and choice < 0.2:
        return [any_json(random, depth + 1) for _ in range(random.randint(0, 3))]
    if depth < 3 and choice < 0.5:
        return {
            random.choice((*FIELDS, *OPERATORS)): any_json(random, depth + 1)
            for _ in range(random.randint(0, 3))
        }
    return any_stored(random)


def any_json_text(random: Random) -> str:
    """Return JSON, sometimes with a small mistake."""
    text = json.dumps(any_json(random), ensure_ascii=random.random() < 0.5)
    if random.random() < 0.2 and text:
        at = random.randrange(len(text))
        text = text[:at] + any_text(random, longest=3) + text[at + random.randint(0, 3) :]
    return text


_VALUES: Sequence[Callable[[Random], Stored]] = (
    lambda random: any_text(random, is_whole=True),
    lambda random: any_text(random, is_whole=True),
    lambda random: random.randint(-20, 20),
    lambda random: random.randint(-(2**53), 2**53),
    lambda random: random.uniform(-1e6, 1e6),
    lambda random: random.choice((0.0, -0.0, 1e300, 5e-324, 0.1, 1e15)),
    lambda random: random.random() < 0.5,
    lambda _: None,
)
