"""`crfpunct word-classes`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from crfpunct.cli.notes import note, progress


def register(app: typer.Typer) -> None:
    """Add the command of this module to the program."""
    app.command("word-classes")(word_classes)


def word_classes(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Raw texts: files of any format, or `-`.")],
    out: Annotated[Path, typer.Option(help="The lexicon file to write; compressed if its name ends in .xz or .gz.")],
    classes: Annotated[
        str, typer.Option(metavar="N,N,…", help="How many classes; each number is a column of the file.")
    ] = "64,256,1024",
    min_count: Annotated[
        int, typer.Option(min=1, help="How often a word must occur for its neighbours to decide its class.")
    ] = 10,
    window: Annotated[int, typer.Option(min=1, max=10, help="Words on either side that count as neighbours.")] = 2,
    dimensions: Annotated[int, typer.Option(min=2, max=1000, help="Dimensions of the word vectors.")] = 100,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Where to compute: auto takes cuda where there is one.")
    ] = "auto",
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the texts (default: found out).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the random numbers.")] = 0,
    licence: Annotated[str | None, typer.Option(help="Licence of the file, for its first lines.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Learn classes of words from raw text, for feature files to use as a lexicon.

    Words that occur beside the same words come into the same class; rare words go where words of like spelling are,
    and unseen words by their endings. The same texts and options give the same file.
    """
    from crfpunct import clusters
    from crfpunct.errors import CorpusError
    from crfpunct.files import open_output

    sizes = _sizes(classes)
    if out.exists() and not force:
        raise CorpusError(f"{out}: is there already; name another file, or replace it with --force.")
    backend, why = clusters.choose(device)
    note(why)
    options = clusters.Options(sizes, min_count, window, dimensions, seed)
    with progress() as show:
        learned = clusters.learn(_texts(paths, from_), options, backend, lambda s, i, n: show("word classes", i, n, s))
    comments = [
        f"Word classes: word, or * and an ending, then its class of {', of '.join(map(str, sizes))}; TAB between.",
        f"Learned from {learned.summary}, by",
        # Files by their names alone: which folders this machine has is no one's business.
        "crfpunct " + shlex.join(Path(part).name if part in (*paths, str(out)) else part for part in sys.argv[1:]),
        f"Licence: {licence or 'not stated; that of the texts may apply'}.",
    ]
    with open_output(out) as stream:
        learned.write(stream, comments)
    note(f"{learned.summary}.")
    note(
        f"{out}: {len(learned.words):,} words and {len(learned.endings):,} endings, "
        f"{out.stat().st_size / 1e6:.2f} MB; a feature file uses it as a lexicon."
    )


def _sizes(classes: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in classes.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 2:
        raise typer.BadParameter(f"{classes!r}; expected numbers from 2 on with commas between them, such as 64,256.")
    return sizes


def _texts(paths: list[str], from_: str | None) -> Iterator[list[str]]:
    """The texts, as training hears them, with their marks as words of their own."""
    from crfpunct import clusters
    from crfpunct.training import heard

    for path in paths:
        for document in heard(path, from_):
            yield clusters.tokens(document.words, document.marks or ())
