"""Values that no gateway stores in Redis, to test damaged data."""

import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

BYTES = b"\xff\xfe\x00\n\n\xc3("
FUTURE = b"4102444800000000"
"""The year 2100, in microseconds."""
PIECE = 1024 * 1024

TEXTS: Mapping[str, bytes] = {
    "empty": b"",
    "random bytes": BYTES,
    "huge number": b"9" * 40,
    "large exponent": b"1e300",
    "negative": b"-5",
    "fraction": b"0.5",
    "nan": b"nan",
    "inf": b"inf",
    "far future": FUTURE,
    "long": b"x" * 100_000,
}
"""Damaged texts by name, each of which can replace any stored text."""

Spoil = Callable[[Any, str], Awaitable[object]]
"""Function that stores damaged data under a Redis key."""


async def text(client: Any, key: str) -> None:
    await client.set(key, "x")


async def empty_text(client: Any, key: str) -> None:
    await client.set(key, b"")


async def random_text(client: Any, key: str) -> None:
    await client.set(key, BYTES)


async def items(client: Any, key: str) -> None:
    """Store a Redis list, which is also the type of the changes of writes."""
    await client.rpush(key, "x", BYTES, b"", b"\n\n", b"9" * 400_000)


async def members_of_set(client: Any, key: str) -> None:
    await client.sadd(key, "x")


async def scores(client: Any, key: str) -> None:
    await client.zadd(key, {"x": 1})


async def fields(client: Any, key: str) -> None:
    await client.hset(key, mapping={"x": BYTES, "": ""})


async def stream(client: Any, key: str) -> None:
    await client.xadd(key, {"x": "y"})


KINDS: tuple[Spoil, ...] = (
    text,
    empty_text,
    random_text,
    items,
    members_of_set,
    scores,
    fields,
    stream,
)
"""One function for each Redis type."""

ANY_KIND = pytest.mark.parametrize("spoil", KINDS)
ANY_TEXT = pytest.mark.parametrize("garbage", TEXTS.values(), ids=TEXTS)


async def put(client: Any, key: str, spoil: Spoil) -> None:
    """Replace the value of a key by damaged data without an expiry."""
    await client.delete(key)
    await spoil(client, key)


def bomb(mib: int) -> bytes:
    """Return a compressed value that decompresses to `mib` MiB."""
    packing = zlib.compressobj(9)
    return b"".join([*(packing.compress(bytes(PIECE)) for _ in range(mib)), packing.flush()])


def body(*fields: object) -> bytes:
    """Return a rendering (all cells of a worksheet) in its stored format."""
    return zlib.compress(msgspec.msgpack.encode(fields))


GOOD_RANGE = "'Cities'!A1:D100"
COLUMNS = (("name", "Paris"),)

BODIES: Mapping[str, bytes] = {
    "random bytes": BYTES,
    "cut": body(1, GOOD_RANGE, COLUMNS, 100)[:-5],
    "nothing compressed": zlib.compress(b""),
    "much when decompressed": bomb(64),
    "text that is not UTF-8": zlib.compress(b"\x94\x01\xa2\xff\xfe\x90\x05"),
    "endless array": zlib.compress(b"\x94\x01\xa1x\xdd\xff\xff\xff\xff\x05"),
    "another format": body(99, GOOD_RANGE, COLUMNS, 100),
    "too few fields": body(1, GOOD_RANGE),
    "not a range": body(1, "nowhere", COLUMNS, 100),
    "another worksheet": body(1, "'Others'!A1:D100", COLUMNS, 100),
    "negative size": body(1, GOOD_RANGE, COLUMNS, -1),
    "huge size": body(1, GOOD_RANGE, COLUMNS, 2**62),
    "too many columns": body(1, GOOD_RANGE, [()] * 20_000, 100),
    "cells that are objects": body(1, GOOD_RANGE, ((["name"],),), 100),
}
"""Damaged renderings by name; they count as missing."""


HEADER = ["name", "state", "population", "note"]


def told(*news: object) -> bytes:
    """Return the changes of a write in their stored format."""
    return msgspec.msgpack.encode((1, news))


NEWS: Mapping[str, bytes] = {
    "empty": b"",
    "random bytes": BYTES,
    "another format": msgspec.msgpack.encode((99, [])),
    "cut": told((HEADER, 0, {3: ["Denver"]}))[:-3],
    "text that is not UTF-8": b"\x92\x01\x91\x91\x91\xa2\xff\xfe",
    "endless array": b"\x92\x01\xdd\xff\xff\xff\xff",
    "huge row": told((HEADER, 2**62)),
    "negative row": told((HEADER, 0, {-3: ["Denver"]})),
    "row of the header": told((HEADER, 0, None, [(1, {0: "x"}, {0: "x"})])),
    "huge column": told((HEADER, 0, None, [(3, {10**12: "x"}, {10**12: "x"})], {3: ["Denver"]})),
    "negative column": told((HEADER, 0, None, [(3, {-1: "x"}, {-1: "x"})], {3: ["Denver"]})),
    "many wide rows": told((HEADER, 0, {2: ["x"] * 200} | {row: [] for row in range(3, 30_000)})),
    "values of another type": told((HEADER, 0, None, [(3, {0: 5}, {0: [1]})])),
}
"""Damaged changes of a write by name; they count as missing."""
