"""JSON examples of the documentation have the members of the gateway's answers."""

import pytest

from gateway.commands.demo import Demo
from tests.docs.answers import problems
from tests.docs.blocks import Block, blocks_of

BLOCKS = blocks_of("json")
ERROR = (
    '{"type": "SheetsonError", "name": "RowNotFound", "code": 103, "message": "…", "status": 404, '
    '"requestId": "…", "retryable": false}'
)
RECORD = '{"rowIndex": 2, "name": "…", "state": "…", "country": "…", "population": "1"}'


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_an_example_matches_the_real_answer(block: Block, demo: Demo) -> None:
    """A JSON example has the members of the gateway's answer, with values of the same types."""
    assert problems(block, demo) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param(ERROR, None, id="right error"),
        pytest.param(ERROR[:-1], "delimiter", id="no JSON"),
        pytest.param(ERROR.replace("404", "400"), "#/status", id="status"),
        pytest.param(ERROR.replace("RowNot", "WorksheetNot"), "#/name", id="name"),
        pytest.param(ERROR.replace("requestId", "id"), "lacks requestId", id="member"),
        pytest.param(ERROR.replace("}", ', "outcome": "applied"}'), "#/outcome", id="outcome"),
        pytest.param(ERROR.replace("}", ', "title": "Oh"}'), "#/title", id="title"),
        pytest.param(RECORD, None, id="right record"),
        pytest.param(RECORD.replace('"1"', "1"), "#/population", id="number for a text"),
        pytest.param(f'{{"results": [{RECORD}], "hasNextPage": false}}', None, id="right list"),
        pytest.param(f'{{"results": [{RECORD}]}}', "lacks hasNextPage", id="list"),
        pytest.param('{"event": "request", "level": "info"}', "lacks status", id="log line"),
        pytest.param('{"a": 1}', "nobody knows", id="unknown"),
    ],
)
def test_a_mistake_in_an_example_is_found(text: str, word: str | None, demo: Demo) -> None:
    """Invalid JSON, a missing member, and another type or status are reported."""
    found = problems(Block(page="page.md", line=1, language="json", text=text), demo)

    assert bool(found) == (word is not None)
    assert (word or "") in "".join(found)
