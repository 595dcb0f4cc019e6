"""Calls of `sheets-gateway` outside shell blocks: in texts and in deployment samples."""

import re
import shlex
from collections.abc import Iterator, Sequence

import pytest
import yaml  # type: ignore[import-untyped]  # has no types

from tests.docs.blocks import PAGES, TOP
from tests.docs.command_line import COMMANDS, commands_in, problems_of

TEXTS = (*PAGES, *TOP.glob("*.md"), *TOP.glob("clients/*/README.md"))
SAMPLES = TOP / "docs" / "deployment"
NO_COMMANDS = {
    *("sheets-gateway keys", "sheets-gateway storage"),  # groups
    *("sheets-gateway lock", "sheets-gateway signals"),  # sessions in PostgreSQL
}

_SPAN = re.compile(r"`([^`\n]*(?<![\w-])sheets-gateway [a-z][^`\n]*)`")


def in_texts() -> Iterator[tuple[str, str]]:
    for page in sorted({*TEXTS}):
        for found in {*_SPAN.findall(page.read_text("utf-8"))} - NO_COMMANDS:
            yield str(page.relative_to(TOP)), found


def in_samples() -> Iterator[tuple[str, Sequence[str]]]:
    """Yield file and arguments of the services in systemd units, Compose and Kubernetes files."""
    for unit in sorted(SAMPLES.glob("*.service")):
        for line in re.findall(
            r"^ExecStart=\S*/sheets-gateway (.*)", unit.read_text(), re.MULTILINE
        ):
            yield unit.name, shlex.split(line)
    for file in sorted(SAMPLES.glob("**/*.yaml")):
        for document in yaml.safe_load_all(file.read_text("utf-8")):
            yield from ((file.name, words) for words in _arguments(document))


def _arguments(node: object) -> Iterator[Sequence[str]]:
    """Yield lists named `args` or `command` that start with a command of `sheets-gateway`."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name in ("args", "command") and isinstance(value, list) and value[0] in COMMANDS:
                yield value
            yield from _arguments(value)
    elif isinstance(node, list):
        for each in node:
            yield from _arguments(each)


@pytest.mark.parametrize(("page", "text"), sorted({*in_texts()}))
def test_commands_in_a_text_are_valid(page: str, text: str) -> None:
    """Each command in a text exists, and accepts its options."""
    (words,) = commands_in(text)

    assert problems_of(words) == []


@pytest.mark.parametrize(("file", "words"), [*in_samples()])
def test_commands_of_services_are_valid(file: str, words: Sequence[str]) -> None:
    """Each command in units and manifests exists, and accepts its options."""
    assert problems_of(words) == []


def test_commands_are_found() -> None:
    """Texts and samples contain commands, so that the tests above are not empty."""
    assert len([*in_texts()]) > 10
    assert {file for file, _ in in_samples()} == {
        "compose.yaml",
        "kubernetes.yaml",
        "sheets-gateway.service",
        "sheets-gateway@.service",
    }
