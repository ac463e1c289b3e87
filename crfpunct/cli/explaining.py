"""`crfpunct explain`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crfpunct.errors import CorpusError, ModelError

if TYPE_CHECKING:
    from crfpunct.document import Document
    from crfpunct.explanation import Explained, Explainer
    from crfpunct.restorer import Restorer


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command()(explain)


_TO_OF_SUFFIX: dict[str, Literal["json", "html", "svg"]] = {".json": "json", ".html": "html", ".svg": "svg"}


def explain(
    model: Annotated[str, typer.Argument(help="A model folder, or the name of a shipped model.")],
    text: Annotated[
        str | None, typer.Argument(help="A text whose marks are to be explained: any readable format; - is stdin.")
    ] = None,
    task: Annotated[Literal["punct", "case"], typer.Option(help="Explain the marks, or the case.")] = "punct",
    at: Annotated[
        list[int] | None,
        typer.Option("--at", metavar="N", min=1, help="Explain what stands behind the Nth word; may be repeated."),
    ] = None,
    document: Annotated[
        str | None, typer.Option(metavar="ID|N", help="Explain only this document: its id, or its number from 1.")
    ] = None,
    chain: Annotated[
        Literal["text", "timed"] | None,
        typer.Option(help="The CRF to ask: the one without or with pauses (default: as for tagging)."),
    ] = None,
    times: Annotated[
        str | None,
        typer.Option(help="Folder or .tar.gz of .clntmstmp files with the word times, matched by text id."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the text (default: found out).")
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=10_000, help="Attributes that are named for each label or place.")] = 8,
    details: Annotated[bool, typer.Option("--details", help="Table: all reasons of every mark.")] = False,
    to: Annotated[
        Literal["table", "json", "html", "svg"] | None,
        typer.Option(
            "--to", help="How to print it; svg draws a text (default: as the output's suffix says, else table)."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write, whole or not at all; - is stdout.")
    ] = "-",
) -> None:
    """Show why: what a model has learned, and the reasons of each mark that it places in a text.

    Without a text, the strongest attributes of every label, the transitions and what the templates weigh. With one,
    for every mark placed or for a place of your own (--at): the attributes with their weights for the mark and
    for the runner-up, the pause, and the probability of each mark. Marks of the text itself are taken off first.
    """
    from crfpunct.files import open_output, printable
    from crfpunct.report import data, explained, terminal
    from crfpunct.report.explained import Reading
    from crfpunct.restorer import load

    to = to or _TO_OF_SUFFIX.get(Path(output).suffix.lower(), "table")
    if text is None:
        given = {"--at": at, "--document": document, "--times": times, "--from": from_, "--details": details}
        if unused := [name for name, value in given.items() if value]:
            raise typer.BadParameter(f"{unused[0]} is about a text; name one behind the model.")
        if to == "svg":
            raise typer.BadParameter("--to svg draws a text; name one behind the model.")
    if task == "case" and chain is not None:
        raise typer.BadParameter("--chain is about marks; leave it out with --task case.")
    restorer = load(model)
    name = printable(Path(model).name or model)
    if text is None:
        chains = _chains(name, restorer, task, chain)
        with open_output(output) as out:
            if to == "json":
                data.write(explained.model_data(name, chains, top), out)
            elif to == "html":
                from crfpunct.report import explained_page

                explained_page.write_model(explained.model_report(name, chains, top), out)
            else:
                terminal.write(explained.model_report(name, chains, top), out)
        return
    _check_part(name, restorer, task)
    chosen = _chosen(text, list(_documents(text, from_, times)), document)
    texts = _explained(restorer, task, chain, [document for _, document in chosen])
    numbers = [number for number, _ in chosen]
    places = _asked(text, texts, numbers, at or [])
    if not places and not any(explained_text.placed for explained_text in texts):
        words = sum(len(explained_text.words) for explained_text in texts)
        done = "gives no capital to" if task == "case" else "places no mark behind"
        raise CorpusError(f"{text}: {name} {done} any of its {words} words; name a word to explain with --at.")
    reading = Reading(name, task, printable(text), texts, numbers, places, top)
    with open_output(output) as out:
        if to == "json":
            data.write(explained.text_data(reading), out)
        elif to == "html":
            from crfpunct.report import explained_page

            explained_page.write_text(reading, out)
        elif to == "svg":
            from crfpunct.report import explained_picture

            out.write(explained_picture.drawn(reading))
        else:
            terminal.write(explained.text_report(reading, details), out)


def _chains(name: str, restorer: Restorer, task: str, chain: str | None) -> dict[str, Explainer]:
    """The CRFs of a task, by name; ModelError where the model lacks it."""
    from crfpunct.explanation import Explainer

    _check_part(name, restorer, task)
    if task == "case":
        return {"case": Explainer(restorer.truecaser.chain)} if restorer.truecaser else {}
    punctuator = restorer.punctuator
    found = {"text": punctuator.text, "timed": punctuator.timed} if punctuator else {}
    if chain == "timed" and found.get("timed") is None:
        raise ModelError(f"{name}: has no CRF for texts with word times; leave out --chain timed.")
    return {kind: Explainer(c) for kind, c in found.items() if c is not None and chain in (None, kind)}


def _check_part(name: str, restorer: Restorer, task: str) -> None:
    if task == "punct" and restorer.punctuator is None:
        raise ModelError(f"{name}: has no punctuation part, only case; explain that with --task case.")
    if task == "case" and restorer.truecaser is None:
        raise ModelError(f"{name}: has no case part, only punctuation; leave out --task case.")


def _documents(text: str, from_: str | None, times: str | None) -> Iterator[Document]:
    """The documents of a text, with their marks off the words and their word times."""
    from crfpunct import formats
    from crfpunct.cli.notes import note
    from crfpunct.formats.clntmstmp import Times

    documents = formats.read_punctuated(text, from_)
    if times is None:
        yield from documents
    else:
        found = Times(times)
        yield from found.attach(documents)
        for line in found.notes():
            note(line)


def _chosen(source: str, documents: list[Document], wanted: str | None) -> list[tuple[int, Document]]:
    """Documents with their numbers, from 1: all that have words, or those of the id or number that is wanted."""
    numbered = list(enumerate(documents, 1))
    if wanted is None:
        chosen = [(number, document) for number, document in numbered if document.words]
    else:
        chosen = [(number, document) for number, document in numbered if _plain(document.id) == _plain(wanted)]
        chosen = chosen or [(number, document) for number, document in numbered if str(number) == wanted]
    if wanted is not None and not chosen:
        ids = [_plain(document.id) for document in documents if document.id]
        known = f"1 to {len(documents)}" + (f" or an id such as {ids[0]}" if ids else "")
        raise CorpusError(f"{source}: has no document {wanted!r}; name one of {known} with --document.")
    if not any(document.words for _, document in chosen):
        raise CorpusError(f"{source}: has no words to explain; check the file, its format, and --document.")
    return chosen


def _plain(name: str) -> str:
    """An id as it is shown: some formats make one of two fields with a tab between them."""
    return " ".join(name.split())


def _explained(
    restorer: Restorer, task: str, chain: Literal["text", "timed"] | None, documents: list[Document]
) -> list[Explained]:
    from crfpunct.explanation import explain_case, explain_marks

    if task == "case" and restorer.truecaser is not None:
        return explain_case(restorer.truecaser, documents, restorer.punctuator)
    return explain_marks(restorer.punctuator, documents, chain) if restorer.punctuator else []


def _asked(source: str, texts: list[Explained], numbers: list[int], at: list[int]) -> list[tuple[int, int]]:
    """The places (text, word from 0) that the user named."""
    if at and len(texts) > 1:
        raise CorpusError(
            f"{source}: has {len(texts)} documents; say with --document which of them word {at[0]} is in (its number, "
            "from 1, or its id)."
        )
    for word in at:
        size = len(texts[0].words)
        if word > size:
            raise CorpusError(
                f"{source}: document {numbers[0]} has {size} words, so there is no word {word}; "
                f"let --at be from 1 to {size}."
            )
    return [(0, word - 1) for word in dict.fromkeys(at)]
