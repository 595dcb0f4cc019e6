"""The command line on systems without POSIX."""

import subprocess
import sys

import pytest
import typer

from gateway.commands.cli import check_system

POSIX_ONLY = ("fcntl", "grp", "pwd", "resource", "termios", "uvloop")


def test_windows_is_reported_as_unsupported(capsys: pytest.CaptureFixture[str]) -> None:
    """On Windows every command exits with a message that names WSL and Docker."""
    with pytest.raises(typer.Exit) as ended:
        check_system("nt")

    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == (
        "sheets-gateway: Windows is not supported: run the gateway in WSL or Docker\n"
    )


def test_the_command_line_starts_without_posix() -> None:
    """The command line prints the message about Windows without importing POSIX modules."""
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({POSIX_ONLY}))\n"
        "from gateway.commands.cli import main\n"
        "import os, sysconfig; sysconfig.get_config_vars()\n"  # 3.13 would read them as on Windows
        "os.name = 'nt'\n"
        "main(['serve'])"
    )
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("sheets-gateway: Windows is not supported")
    assert "Traceback" not in done.stderr
