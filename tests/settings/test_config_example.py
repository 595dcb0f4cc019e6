"""The file `config.example.toml`: each setting with its default and its description."""

import re
import tomllib
from pathlib import Path

import pytest

from gateway.settings.model import (
    AccessSettings,
    PlanSettings,
    Settings,
    WorksheetSettings,
    load_settings,
    setting_paths,
)

EXAMPLE = Path(__file__).parents[2] / "config.example.toml"


def described_models() -> dict[str, type]:
    """Return the class of each configuration table, by the name of the table."""
    sections = {name: type(getattr(Settings(), name)) for name in Settings.model_fields}
    return sections | {"plans": PlanSettings, "worksheets": WorksheetSettings}


def test_the_example_loads_as_the_defaults() -> None:
    """The example file gives the default settings."""
    settings = load_settings(EXAMPLE, {})

    assert settings == Settings(access=AccessSettings(database=EXAMPLE.parent / "keys.db"))


def test_the_example_is_complete_and_says_each_default() -> None:
    """The example has each setting with its default, commented out if the default is None."""
    tables = tomllib.loads(EXAMPLE.read_text("utf-8"))
    # In TOML, `accounts = []` would not allow [[google.accounts]] later in the file.
    none: dict[str, set[str] | bool] = {"google": {"accounts"}, "worksheets": True}
    defaults = Settings().model_dump(mode="json", exclude_none=True, exclude=none)

    assert tables == defaults


@pytest.mark.parametrize("at", list(setting_paths()), ids=".".join)
def test_the_example_has_each_description(at: tuple[str, ...]) -> None:
    """The comment above each setting is the description of the setting in the code."""
    section = "plans.paid" if at[0] == "plans" else at[0]
    field = described_models()[at[0]].model_fields[at[-1]]  # type: ignore[attr-defined]
    table = re.split(r"^(?:# \[)?\[", EXAMPLE.read_text("utf-8"), flags=re.MULTILINE)
    (lines,) = [part for part in table if part.startswith(f"{section}]")]

    assert re.search(
        rf"^# {re.escape(field.description)}\n(#.*\n){{0,2}}(# )?{at[-1]} = ", lines, re.MULTILINE
    )
