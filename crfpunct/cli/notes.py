"""Notes to the person at the terminal: stderr only, silent under --quiet."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

import typer

quiet = False


def note(text: str) -> None:
    """Print one line for the user, unless --quiet was given."""
    if not quiet:
        typer.echo(f"crfpunct: {text}", err=True)


def fail(error: Exception | str) -> None:
    """Print an error as one line, whatever names of files stand in it."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(error))
    typer.echo(f"crfpunct: {text}", err=True)


@contextlib.contextmanager
def progress() -> Iterator[Callable[[str, int, int, str], None]]:
    """Progress bars on stderr if that is a terminal; gives a function of (what, done, total, text to show)."""
    if quiet or not sys.stderr.isatty():
        yield lambda _what, _done, _total, _text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int, text: str) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total, text="")
            bar.update(tasks[what], completed=done, total=total, text=text)

        yield show
