"""Shell blocks of the documentation work."""

import shutil
from collections.abc import Sequence

import pytest

from tests.docs.blocks import Block, blocks_of, by_page
from tests.docs.command_line import commands_in, problems_of
from tests.docs.shell import LANGUAGES, Stage, has_comment, is_run, problems_run, problems_unrun

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl to run")

BLOCKS = blocks_of(*LANGUAGES)
RUN = by_page(block for block in BLOCKS if is_run(block))
UNRUN = [block for block in BLOCKS if not is_run(block)]

SET_UP = """\
KEY=sgw_…
SHEET=http://127.0.0.1:8000/v2/sheets/Cities
AUTH="Authorization: Bearer $KEY"
"""


def block(text: str, language: str = "sh", *notes: str) -> Block:
    return Block(page="page.md", line=5, language=language, text=text, notes=notes)


@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_work(page: str, stage: Stage) -> None:
    """The commands of a page run in order, with the documented statuses and outputs."""
    assert problems_run(page, RUN[page], stage) == []


@pytest.mark.parametrize("each", UNRUN, ids=str)
def test_commands_for_a_real_machine_are_valid(each: Block) -> None:
    """Blocks that are not run have valid syntax, valid `sheets-gateway` options and
    existing files.
    """
    assert problems_unrun(each) == []


def test_few_blocks_are_not_run() -> None:
    """Only pages that install the gateway or create an account have blocks that are not run."""
    pages = {each.page.removeprefix("docs/") for each in UNRUN}

    assert pages <= {
        "how-to/back-up-and-restore.md",
        "how-to/cloud-run.md",
        "how-to/deployment.md",
        "how-to/postgresql.md",
        "how-to/rolling-upgrade.md",
        "how-to/service-account-gcloud.md",
        "how-to/several-processes.md",
        "how-to/upgrade.md",
        "reference/cli.md",
    }
    assert len(UNRUN) < len(BLOCKS) / 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('curl -H "$AUTH" "$SHEET/2"', [], id="right"),
        pytest.param('curl -H "$AUTH" "$SHEET/99"', ["8: answered 404, not 2xx"], id="wrong row"),
        pytest.param(
            'curl -H "$AUTH" \\\n  "${SHEET}x"', ["8: answered 404, not 2xx"], id="wrong path"
        ),
        pytest.param(
            'X=$(curl -w "%{http_code}" -H "$AUTH" "$SHEET/99")',
            ["8: answered 404, not 2xx"],
            id="within a value",
        ),
        pytest.param("curl http://127.0.0.1:8000:x", ["8: ended with 3"], id="no URL"),
        pytest.param('false && curl "$SHEET"', ["8: no answer"], id="never asked"),
        pytest.param("grep Paris config.example.toml", ["8: ended with 2"], id="failed command"),
        pytest.param("sheets-gateway keys make", ["8: ended with 2"], id="no such command"),
        pytest.param("if true; then", ["the shell ended with"], id="no shell"),
    ],
)
def test_a_mistake_in_a_command_is_found(stage: Stage, text: str, words: Sequence[str]) -> None:
    """A wrong path, status, option or command is reported with its line in the page."""
    found = problems_run("page.md", [block(SET_UP + text)], stage)

    assert bool(found) == bool(words)
    assert all(each in "".join(found) for each in words)


@pytest.mark.parametrize(
    ("statuses", "words"),
    [
        pytest.param(["200", "404"], "", id="right"),
        pytest.param(["404", "404"], "8: answered 200, not 404", id="no error"),
        pytest.param(["200", "200"], "9: answered 404, not 200", id="error"),
    ],
)
def test_answers_have_the_noted_statuses(stage: Stage, statuses: Sequence[str], words: str) -> None:
    """Statuses after a block's language are compared with the answers of its curl commands."""
    text = SET_UP + 'curl -H "$AUTH" "$SHEET/2"\ncurl -H "$AUTH" "$SHEET/99"'
    found = problems_run("page.md", [block(text, "sh", *statuses)], stage)

    assert bool(found) == bool(words)
    assert words in "".join(found)


@pytest.mark.parametrize("each", BLOCKS, ids=str)
def test_no_command_has_a_comment(each: Block) -> None:
    """Shell blocks have no comments, because zsh on macOS does not recognise comments in
    pasted lines.
    """
    assert not has_comment(each.text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        pytest.param("ls  # all", True, id="behind a command"),
        pytest.param("# all\nls", True, id="in a line of its own"),
        pytest.param('ls \'a # b\' "c # \\" # d" e#f', False, id="in words"),
    ],
)
def test_a_comment_is_found(text: str, is_one: bool) -> None:
    """A `#` starts a comment, except in quotes or within a word."""
    assert has_comment(text) == is_one


@pytest.mark.parametrize(
    ("printed", "is_right"),
    [
        pytest.param('{"rowIndex":3,"name":"Los Angeles"}', True, id="right"),
        pytest.param('{"rowIndex":3,"name":"…"}', True, id="right, with a gap"),
        pytest.param('{"rowIndex":3,"name":"Paris"}', False, id="wrong value"),
        pytest.param('{"rowIndex":3}', False, id="too short"),
        pytest.param('{"rowIndex":3,"name":"Los Angeles"}\n{}', False, id="too much"),
    ],
)
def test_the_output_of_a_command_is_compared(stage: Stage, printed: str, is_right: bool) -> None:
    """The output of a command must equal the lines below it in a `console` block."""
    console = f'$ curl -H "API-Key: $KEY" "$SHEET/3?keys=name"\n{printed}'
    set_up = Block(page="page.md", line=1, language="sh", text=SET_UP)
    found = problems_run("page.md", [set_up, block(console, "console")], stage)

    assert (found == []) == is_right


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("sudo bin/sheets-gateway serve --prot 80", "--prot", id="option"),
        pytest.param("sudo x && sheets-gateway keys make", "no command", id="command"),
        pytest.param("docker exec x sheets-gateway keys create", "name", id="needed option"),
        pytest.param("docker build --file docs/Dockerfile .", "docs/Dockerfile", id="file"),
        pytest.param("sudo (", "syntax", id="syntax"),
        pytest.param(
            "runuser -u x -- sheets-gateway storage migrate", "not on the path", id="path"
        ),
    ],
)
def test_a_mistake_in_an_unrun_block_is_found(text: str, word: str) -> None:
    """Unknown options, missing files and invalid syntax are reported without running the block."""
    assert not is_run(block(text))
    assert word in "".join(problems_unrun(block(text)))


def test_commands_are_found_in_shell_texts() -> None:
    """A call is found with a path, after other commands and over several lines; an image
    name is not a call.
    """
    text = "docker run --tag sheets-gateway .\nx; /opt/bin/sheets-gateway keys \\\n  list --json"

    assert list(commands_in(text)) == [["keys", "list", "--json"]]
    assert problems_of(["keys", "list", "--json"]) == []
