"""TOML blocks of the documentation are valid configurations."""

from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks_of
from tests.docs.settings import problems


@pytest.mark.parametrize("block", blocks_of("toml"), ids=str)
def test_a_configuration_loads(block: Block, tmp_path: Path) -> None:
    """The gateway loads each TOML block without errors."""
    assert problems(block, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("[google", "is not TOML", id="no TOML"),
        pytest.param("[google]\ncredential = 'x'", "google.credential", id="no such setting"),
        pytest.param("[server]\nport = 'x'", "server.port", id="no number"),
        pytest.param("[access]\ntrusted_proxies = ['*']", "trusted_proxies", id="no network"),
    ],
)
def test_a_mistake_in_a_configuration_is_found(text: str, word: str, tmp_path: Path) -> None:
    """Invalid TOML, an unknown setting and a wrong value are reported."""
    block = Block(page="page.md", line=1, language="toml", text=text)

    assert word in "".join(problems(block, tmp_path))
