"""Random sequences of HTTP/1.1 requests as bytes, with mistakes, and random positions to
split the bytes.
"""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

MARK = b"PROBE"
"""X-Request-Id of the last request, which its answer repeats."""

PROBE = b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Request-Id: %b\r\n\r\n" % MARK

METHODS = (b"GET", *[b"POST"] * 4, b"PUT", b"OPTIONS", b"HEAD", b"CONNECT", b"DELETE")
TARGETS = (
    *[b"/v2/sheets/a"] * 6,
    *(b"/v2/sheets/a/2", b"/v2/sheets/a/2/", b"/livez", b"/x?y#z", b"*", b"http://h/livez", b"//x"),
)
VERSIONS = (*[b"HTTP/1.1"] * 6, b"HTTP/1.0", b"HTTP/2.0")
BODIES = (b'{"name":1}', b'{"name":1}', b"x" * 10, b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n")
CHUNKS = (b"a", b'{"name":"b"}', b" ", b"GET / HTTP/1.1\r\n\r\n")
EXTENSIONS = (b"", b"", b";a=b", b';x="y"', b" ")
TRAILERS = (b"", b"", b"T: v\r\n")
NOW_AND_THEN: Sequence[tuple[float, Sequence[Sequence[bytes]]]] = (
    (0.2, ((b"Connection: Upgrade", b"Upgrade: h2c"), (b"Connection: Upgrade", b"Upgrade: x"))),
    (0.1, ((b"Expect: 100-continue",),)),
    (0.1, ((b"Connection: close",), (b"Connection: keep-alive",))),
    (0.1, ((b"Origin: https://x.example",),)),
)
"""Groups of header lines with the probability that a request has one of them."""

WRONG = b"\r\n\t \x00:;,0159abcfG\xff"


def any_pipeline(random: Random, key: bytes) -> bytes:
    """Return one to three requests with up to two mistakes, and then a valid request."""
    requests = [any_request(random, key) for _ in range(random.randint(1, 3))]
    return mutated(random, b"".join(requests)) + PROBE


def any_request(random: Random, key: bytes) -> bytes:
    """Return a well-formed request, which the gateway does not always accept."""
    lines = [b"Host: a"]
    if random.random() < 0.7:
        lines += [b"Authorization: Bearer %b" % key, b"Content-Type: application/json"]
    framing, body = _any_body(random)
    lines += framing
    for share, groups in NOW_AND_THEN:
        if random.random() < share:
            lines += random.choice(groups)
    random.shuffle(lines)
    first = b" ".join((random.choice(METHODS), random.choice(TARGETS), random.choice(VERSIONS)))
    return b"\r\n".join([first, *lines, b"", body])


def _any_body(random: Random) -> tuple[Sequence[bytes], bytes]:
    """Return the header lines of a body, and the body, which is often empty."""
    choice = random.random()
    if choice < 0.35:
        body = random.choice(BODIES)
        missing = random.choice((*[0] * 19, random.randint(1, 200)))
        return [b"Content-Length: %d" % (len(body) + missing)], body
    if choice < 0.7:
        chunks = random.choices(CHUNKS, k=random.randint(0, 4))
        parts = [b"%x%b\r\n%b\r\n" % (len(c), random.choice(EXTENSIONS), c) for c in chunks]
        last = b"0\r\n%b\r\n" % random.choice(TRAILERS)
        return [b"Transfer-Encoding: chunked"], b"".join([*parts, last])
    return [], b""


def mutated(random: Random, raw: bytes) -> bytes:
    """Return the bytes with up to two mistakes: replaced, omitted, inserted or repeated bytes."""
    changed = bytearray(raw)
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        at, choice = random.randrange(len(changed)), random.random()
        if choice < 0.4:
            changed[at] = random.choice(WRONG)
        elif choice < 0.6:
            del changed[at]
        elif choice < 0.8:
            changed.insert(at, random.choice(WRONG))
        else:
            changed[at:at] = changed[at : at + random.randint(1, 20)]
    return bytes(changed)


def cut(random: Random, raw: bytes) -> Sequence[bytes]:
    """Split the bytes into two to thirteen parts."""
    count = min(len(raw) - 1, random.randint(1, 12))
    places = sorted(random.sample(range(1, len(raw)), count))
    return [raw[start:end] for start, end in pairwise([0, *places, len(raw)])]
