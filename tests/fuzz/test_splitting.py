"""A short comparison of pipelines sent whole and in parts, and the bugs that one must find."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests.fuzz.pipelines import PROBE, any_pipeline, cut
from tests.fuzz.splitting import Comparison, compare, compared, made_up

CASES = 2_000
FEW = 10


def test_nothing_is_found() -> None:
    """However the bytes arrive the answers are the same, all come, and the log has no fault."""
    comparison = compared(CASES)

    assert comparison.problems == []
    assert comparison.cases == CASES
    assert {"200", "201", "204", "400", "401", "404", "405", "408"} <= set(comparison.answers)


@asynccontextmanager
async def answering_each_part(answer: bytes) -> AsyncIterator[str]:
    """Planted bug: a server that takes each read for a request, until the probe."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = b""
        while not heard.endswith(PROBE):
            heard += await reader.read(65_536)
            writer.write(answer)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}"


async def _compared(answer: bytes) -> Comparison:
    comparison = Comparison()
    async with answering_each_part(answer) as url:
        await compare(url, made_up(FEW, 1, "key"), comparison)
    return comparison


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", "in parts Told", id="another answer"),
        pytest.param(b"HTTP/1.1 500 Oh\r\n\r\n", "'500'", id="500"),
    ],
)
async def test_a_bug_is_found(answer: bytes, words: str) -> None:
    """A server that minds how bytes arrive, or that fails, is reported."""
    comparison = await _compared(answer)

    assert any(words in problem for problem in comparison.problems)


def test_what_is_sent() -> None:
    """Parts are the whole, all end with a right request, and most are right in themselves."""
    random = Random(7)  # noqa: S311
    pipelines = [any_pipeline(random, b"key") for _ in range(100)]

    assert all(raw.endswith(PROBE) for raw in pipelines)
    assert all(b"".join(cut(random, raw)) == raw for raw in pipelines)
    assert all(len(cut(random, raw)) > 1 for raw in pipelines)
    assert len(set(pipelines)) == 100
