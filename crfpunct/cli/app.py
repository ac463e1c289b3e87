"""The `crfpunct` program: its commands, its global options and the way errors leave it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Annotated, Any

import typer
import typer.core

from crfpunct import __version__
from crfpunct.cli import classes, explaining, notes, scoring, tagging, training
from crfpunct.cli.notes import fail
from crfpunct.errors import CrfpunctError

app = typer.Typer(
    name="crfpunct",
    help="Put punctuation and capitals back into speech-recogniser output, and score any system that does.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for group in (training, classes, tagging, explaining, scoring):
    group.register(app)

_debug = False


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"crfpunct {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no notes and no progress on stderr.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    global _debug  # noqa: PLW0603  main() asks for it after the command has failed
    _debug = debug
    notes.quiet = quiet


class _ReaderLeft(Exception):
    """Whoever read standard output closed it; typer would end with exit code 1 on the BrokenPipeError itself."""


class _Command(typer.core.TyperCommand):
    """A command that takes --quiet and --debug behind its name as well as before it: `crfpunct tag -q`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own parameters, those two options, and --help."""
        *own, help = super().get_params(ctx)
        program = ctx.find_root().command
        return [*own, *(option for option in program.params if option.name in ("quiet", "debug")), help]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        global _debug  # noqa: PLW0603
        notes.quiet |= ctx.params.pop("quiet")
        _debug |= ctx.params.pop("debug")
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderLeft from error


for command in app.registered_commands:
    command.cls = _Command


def main() -> None:
    """Run the program; data errors are one line on stderr and exit code 1, a closed pipe ends quietly."""
    if threading.current_thread() is threading.main_thread():
        # Ended from outside, the program still takes its temporary files with it.
        signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        app()
    except CrfpunctError as error:
        if _debug:
            raise
        fail(error)
        sys.exit(1)
    except _ReaderLeft:
        # `crfpunct tag … | head`: the reader left. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        # A full disk, a device that went away: the machine's trouble, not the program's.
        if _debug or error.errno is None:
            raise
        fail(f"{error.filename or 'output'}: {error.strerror}; the command ends here.")
        # What is still in the buffer cannot be written either, and Python would complain of it once more.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
