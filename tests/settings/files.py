"""Configuration files of tests."""

from pathlib import Path


def written(directory: Path, text: str) -> Path:
    """A configuration file with this text."""
    path = directory / "gateway.toml"
    path.touch(mode=0o600)  # it may hold the pepper
    path.write_text(text, "utf-8")
    return path
