"""The command `check`, run in this process on a configuration file of the test's own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from gateway.commands.cli import main
from tests.journeys.conftest import EmulatorControl

NO_DEFAULTS = {"NO_GCE_CHECK": "true", "CLOUDSDK_CONFIG": "none", "HOME": "none"}
"""An environment in which google-auth finds no credentials, and asks no network for some."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Exit status and output."""

    status: int
    lines: Sequence[str]
    errors: str

    def of(self, level: str) -> list[str]:
        """The texts of this level."""
        return [line[9:] for line in self.lines if line.startswith(f"{level} ")]

    @property
    def problem(self) -> str:
        """The one problem, for which the command failed."""
        assert self.status == 1, self.lines
        (text,) = self.of("problem")
        return text


@dataclass(frozen=True, kw_only=True)
class Checkup:
    """Runs `check`; `google` are settings of `[google]` beside those of the emulator.

    `tables` are more tables of the configuration.
    """

    folder: Path
    emulator: EmulatorControl

    def run(
        self,
        *arguments: str,
        google: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        tables: str = "",
    ) -> Report:
        settings = {
            "endpoint": self.emulator.url,
            "credentials": str(self.emulator.credentials),
            **(google or {}),
        }
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items() if value != ""]
        config = self.folder / "config.toml"
        config.write_text("\n".join(["[google]", *lines, tables]))
        return run_check("--config", str(config), *arguments, environ=environ)


def run_check(*arguments: str, environ: Mapping[str, str] | None = None) -> Report:
    result = CliRunner().invoke(
        main, ["check", *arguments], env={**NO_DEFAULTS, **(environ or {})}, catch_exceptions=False
    )
    return Report(status=result.exit_code, lines=result.stdout.splitlines(), errors=result.stderr)


def changed_key_file(emulator: EmulatorControl, folder: Path, **members: object) -> Path:
    """The emulator's key file with other members."""
    info = json.loads(emulator.credentials.read_bytes()) | members
    path = folder / "changed.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(info))
    return path
