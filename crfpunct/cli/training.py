"""`crfpunct train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crfpunct.cli.notes import note, progress

if TYPE_CHECKING:
    from crfpunct.estimators import Progress


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command()(train)


def train(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Punctuated texts: a WikiPunct folder, or files of any format.")
    ],
    out: Annotated[Path, typer.Option(help="The model folder to write.", show_default=False)],
    times: Annotated[
        str | None,
        typer.Option(help="Folder or .tar.gz of .clntmstmp files with the word times, matched by text id."),
    ] = None,
    features: Annotated[str, typer.Option(help="A feature file, or the name of a shipped one.")] = "punct",
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the texts (default: found out).")
    ] = None,
    folds: Annotated[
        int, typer.Option(min=0, help="Cross-validate with so many folds; the scores go into the model (0: do not).")
    ] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Folds that are trained side by side.")] = 1,
    c1: Annotated[float | None, typer.Option(min=0, help="L1 penalty (default: the feature file's).")] = None,
    c2: Annotated[float | None, typer.Option(min=0, help="L2 penalty (default: the feature file's).")] = None,
    max_iterations: Annotated[
        int | None, typer.Option(min=1, help="Iterations at most (default: the feature file's).")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Language of the texts, for the card.")] = None,
    data: Annotated[str | None, typer.Option(help="Name of the texts, for the card.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the texts, for the card.")] = None,
    non_commercial: Annotated[
        bool, typer.Option("--non-commercial", help="That licence forbids commercial use; tagging will say so.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a model that is there already.")] = False,
) -> None:
    """Train a punctuation model on punctuated text, with or without word times.

    The model folder holds all that tagging needs. The same texts and options give the same model.
    """
    from crfpunct import formats, model_folder
    from crfpunct.training import About, Options, train_punctuation

    if folds == 1:
        raise typer.BadParameter("one fold leaves nothing to train on; use at least 2, or 0 for none.")
    model_folder.check_free(out, force)
    documents = [document for path in paths for document in formats.read_punctuated(path, from_)]
    if times is not None:
        from crfpunct.formats.clntmstmp import Times

        found = Times(times)
        documents = list(found.attach(documents))
        for line in found.notes():
            note(line)
    with progress() as show:

        def report(chain: str, step: Progress) -> None:
            show(f"training ({chain})", step.iteration, step.limit, f"loss {step.loss:,.0f}")

        folder, summary = train_punctuation(
            documents,
            About(language, data, licence, non_commercial),
            Options(features, c1, c2, max_iterations),
            folds=folds,
            jobs=jobs,
            progress=report,
        )
    model_folder.write(out, folder, force)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    note(
        f"{summary.documents:,} documents, {summary.timed_documents:,} of them with word times; "
        f"{summary.words:,} words; {summary.seconds:.0f} s; {out} is {size / 1e6:.1f} MB."
    )
    for name, (kept, candidates) in summary.attributes.items():
        note(f"{name}: {kept:,} attributes kept of {candidates:,}, {summary.iterations[name]} iterations.")
    for name, score in folder.manifest["punct"]["scores"].items():
        note(f"{name}: weighted F1 {score['all']['mean']:.2f} (rule:all), {score['geval']['mean']:.2f} (rule:geval).")
    note(f"try it: crfpunct tag --model {out} FILE")
