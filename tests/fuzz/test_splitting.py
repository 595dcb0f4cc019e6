"""A short comparison of whole and split pipelines, and planted bugs that it must find."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests.fuzz.pipelines import PROBE, any_pipeline, cut
from tests.fuzz.splitting import Comparison, compare, compared, made_up

CASES = 2_000
FEW = 10


def test_splitting_finds_no_problem() -> None:
    """Whole and split pipelines get the same answers, and the log has no error."""
    comparison = compared(CASES)

    assert comparison.problems == []
    assert comparison.cases == CASES
    assert {"200", "201", "204", "400", "401", "404", "405", "408"} <= set(comparison.answers)


@asynccontextmanager
async def answering_each_part(answer: bytes) -> AsyncIterator[str]:
    """Run a server with a planted bug: it answers each received part as a request."""

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
async def test_a_planted_bug_of_splitting_is_found(answer: bytes, words: str) -> None:
    """A server that answers each part, or answers 500, is reported."""
    comparison = await _compared(answer)

    assert any(words in problem for problem in comparison.problems)


def test_pipelines_end_with_a_valid_request() -> None:
    """The parts of a pipeline join to its bytes, each pipeline ends with PROBE, and all
    100 differ.
    """
    random = Random(7)  # noqa: S311
    pipelines = [any_pipeline(random, b"key") for _ in range(100)]

    assert all(raw.endswith(PROBE) for raw in pipelines)
    assert all(b"".join(cut(random, raw)) == raw for raw in pipelines)
    assert all(len(cut(random, raw)) > 1 for raw in pipelines)
    assert len(set(pipelines)) == 100
