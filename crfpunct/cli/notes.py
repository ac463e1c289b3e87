"""Notes to the person at the terminal: stderr only, silent under --quiet."""

from __future__ import annotations

import typer

quiet = False


def note(text: str) -> None:
    """Print one line for the user, unless --quiet was given."""
    if not quiet:
        typer.echo(f"crfpunct: {text}", err=True)
