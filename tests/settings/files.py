"""Configuration files for tests."""

from pathlib import Path


def written(directory: Path, text: str) -> Path:
    """Write a configuration file with this text and return its path."""
    path = directory / "gateway.toml"
    path.touch(mode=0o600)  # the file can contain the pepper, so only the owner can read it
    path.write_text(text, "utf-8")
    return path
