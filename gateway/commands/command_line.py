"""Groups of commands, whose help texts are not shortened and fit the terminal."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from gateway.commands.terminal import (
    OutputError,
    discard_unwritten,
    is_styled,
    open_closed_streams,
    say_status,
    styled_help,
    writing,
)

WIDEST = 120
"""Maximum width of a help text in columns; longer lines are hard to read."""


class CommandLine(typer.Typer):
    """A group of commands. `-h`, `--help` or a missing command print its help."""

    def __init__(self, help_text: str) -> None:
        super().__init__(
            cls=_Group,
            help=help_text,
            no_args_is_help=True,
            pretty_exceptions_show_locals=False,
            rich_markup_mode=None,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
        )

    def command(  # type: ignore[override]  # fewer options
        self, name: str | None = None, *, examples: Sequence[str] = ()
    ) -> Callable[..., Any]:
        """Return a decorator that adds a command, whose help ends with `examples`."""
        return super().command(name, cls=_Command, epilog="\n".join(examples))


class _Help:
    """Mixin for groups and commands: their help, and messages about usage errors."""

    help: str | None
    epilog: str | None
    no_args_is_help: bool

    def get_help(self, ctx: Any) -> str:
        text: str = super().get_help(ctx)  # type: ignore[misc]
        return styled_help(text) if is_styled() else text

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first paragraph of the help, unshortened, for the list of commands."""
        return " ".join((self.help or "").split("\n\n")[0].split())

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write_text(f"\b\n{self.epilog}")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_help = not args and self.no_args_is_help
        with writing(), nullcontext() if is_help else _explained_mistakes(ctx):
            rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        return rest


class _Command(_Help, TyperCommand):
    pass


class _Group(_Help, TyperGroup):
    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command. If its output cannot be written, print one line and exit with status 1."""
        open_closed_streams()
        try:
            return super().main(*args, **options)
        except OutputError as error:
            say_status("error", str(error), plain=f"sheets-gateway: {error}", err=True)
            sys.exit(1)
        finally:
            discard_unwritten()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with _explained_mistakes(ctx):
            return super().resolve_command(ctx, args)


@contextmanager
def _explained_mistakes(ctx: Any) -> Iterator[None]:
    """Add similar options to a usage error. On a terminal, print the error and exit."""
    try:
        yield
    except TyperException as error:
        if near := getattr(error, "possibilities", None):
            error.message = f"{error.message}. Did you mean {' or '.join(sorted(near))}?"
            error.possibilities = None  # type: ignore[attr-defined]
        if not is_styled(err=True):
            raise
        say_status("error", error.format_message(), plain="", err=True)
        say_status("help", f"{ctx.command_path} -h", plain="", err=True)
        raise typer.Exit(error.exit_code) from error
