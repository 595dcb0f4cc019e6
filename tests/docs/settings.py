"""TOML blocks of the documentation: load each as a configuration."""

from pathlib import Path

from gateway.settings.model import ConfigError, load_settings
from tests.docs.blocks import Block


def problems(block: Block, folder: Path) -> list[str]:
    """Return the gateway's errors for this block as its `config.toml`."""
    file = folder / "config.toml"
    file.touch(0o600)  # because the file can contain a password
    file.write_text(block.text)
    try:
        load_settings(file, {})
    except ConfigError as error:
        return [f"{block}: {problem}" for problem in error.problems]
    return []
