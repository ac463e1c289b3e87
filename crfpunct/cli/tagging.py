"""`crfpunct tag` and `crfpunct models`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crfpunct.cli.notes import note
from crfpunct.errors import CorpusError, CrfpunctError

if TYPE_CHECKING:
    from crfpunct.formats.clntmstmp import Times
    from crfpunct.restorer import Restorer


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command()(tag)
    app.command()(models)


def tag(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[INPUT…]", help="Texts to restore; - is standard input (the default)."),
    ] = None,
    model: Annotated[str, typer.Option(help="A model folder, or the name of a shipped model.")] = "pl",
    times: Annotated[
        str | None,
        typer.Option(help="Folder or .tar.gz of .clntmstmp files with the word times, matched by text id."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the input (default: found out).")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Format of the output (default: the input's).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; for several inputs, an existing folder.")
    ] = None,
    _no_case: Annotated[bool, typer.Option("--no-case", help="Leave the case of the words as it is.")] = False,
) -> None:
    """Put marks behind the words of transcripts.

    Words come out as they went in, in the same order; only marks are added. With word times (in the
    input, or from --times) the pauses between the words are used too.
    """
    from crfpunct.restorer import load

    restorer = load(model)
    if restorer.manifest.get("non_commercial"):
        note(f"model {model}: for non-commercial use only, as is its training data ({restorer.manifest['licence']}).")
    word_times = None
    if times is not None:
        from crfpunct.formats.clntmstmp import Times

        word_times = Times(times)
    inputs = inputs or ["-"]
    if inputs == ["-"] and sys.stdin.isatty():
        note("reading from the terminal; end with Ctrl-D.")
    failed = 0
    for name in inputs:
        try:
            _tag_one(name, restorer, word_times, from_, to, _target(name, output, len(inputs) > 1))
        except CrfpunctError as error:
            if len(inputs) == 1:
                raise
            failed += 1
            typer.echo(f"crfpunct: {error}", err=True)
    for line in word_times.notes() if word_times else ():
        note(line)
    if failed:
        raise CorpusError(f"{failed} of {len(inputs)} inputs failed; the others are done.")


def _target(name: str, output: Path | None, several: bool) -> str | Path:
    if output is None:
        return "-"
    if output.is_dir():
        return output / ("stdin.txt" if name == "-" else Path(name).name)
    if several:
        raise CorpusError(f"{output}: not a folder, but there are several inputs; make the folder or name one input.")
    return output


def _tag_one(
    name: str, restorer: Restorer, word_times: Times | None, from_: str | None, to: str | None, target: str | Path
) -> None:
    from crfpunct import formats
    from crfpunct.files import open_output

    from_ = from_ or formats.identify(name)
    documents = formats.read(name, from_)
    if word_times is not None:
        documents = word_times.attach(documents)
    with open_output(target) as out:
        formats.write(restorer.tag(documents), out, to or from_, restorer.typography)


def models() -> None:
    """List the models at hand: language, tasks, size, score, data and licence."""
    from rich.console import Console
    from rich.table import Table

    from crfpunct import model_folder, resources

    table = Table("model", "language", "tasks", "MB", "score", "data", "licence", box=None, pad_edge=False)
    for name, folder in resources.shipped("models").items():
        manifest = model_folder.read(folder).manifest
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        table.add_row(
            name,
            manifest.get("language") or "–",
            ", ".join(task for task in ("punct", "case") if task in manifest),
            f"{size / 1e6:.1f}",
            manifest.get("score") or "–",
            manifest.get("data") or "–",
            manifest.get("licence") or "–",
        )
    Console().print(table)
