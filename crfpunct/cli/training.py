"""`crfpunct train`."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crfpunct.cli.notes import note, progress
from crfpunct.errors import CorpusError

if TYPE_CHECKING:
    from crfpunct.document import Document
    from crfpunct.estimators import Progress
    from crfpunct.training import Part


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command()(train)


def train(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Punctuated texts: a WikiPunct folder, or files of any format.")
    ],
    out: Annotated[Path | None, typer.Option(help="The model folder to write.", show_default=False)] = None,
    into: Annotated[Path | None, typer.Option(help="A model folder to which the task is added, or replaced.")] = None,
    task: Annotated[
        Literal["punct", "case", "both"], typer.Option(help="What the model is to restore: marks, case, or both.")
    ] = "punct",
    times: Annotated[
        str | None,
        typer.Option(help="Folder or .tar.gz of .clntmstmp files with the word times, matched by text id."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="More punctuated text, without word times, that the model learns from as well; repeat it.",
        ),
    ] = None,
    pauses: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Punctuated speech with word times, in any language: where the texts have none, "
            "pauses are learned from it; repeat it.",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A model to build on: what it knows is kept where the texts do not differ."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="A feature file, or the name of a shipped one (default: punct, case).")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the texts (default: found out).")
    ] = None,
    folds: Annotated[
        int, typer.Option(min=0, help="Cross-validate with so many folds; the scores go into the model (0: do not).")
    ] = 0,
    jobs: Annotated[int, typer.Option(min=1, max=1024, help="Folds that are trained side by side.")] = 1,
    c1: Annotated[float | None, typer.Option(min=0, max=1e6, help="L1 penalty (default: the feature file's).")] = None,
    c2: Annotated[float | None, typer.Option(min=0, max=1e6, help="L2 penalty (default: the feature file's).")] = None,
    max_iterations: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Iterations at most (default: the feature file's).")
    ] = None,
    bias: Annotated[
        float | None,
        typer.Option(min=0, max=1e6, help="Added to the score of every mark when tagging: more places it more often."),
    ] = None,
    report_to: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write a page about the marks: pauses and, with --folds, learning curve, confusions, errors.",
        ),
    ] = None,
    most_attributes: Annotated[
        int | None,
        typer.Option(
            min=1, max=1_000_000, help="Keep so many attributes, by chi-squared (default: the feature file's)."
        ),
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        typer.Option(help="Where chi-squared is computed: auto takes cuda where there is one. CRFsuite uses the CPU."),
    ] = "cpu",
    language: Annotated[str | None, typer.Option(help="Language of the texts, for the card.")] = None,
    data: Annotated[str | None, typer.Option(help="Name of the texts, for the card.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the texts, for the card.")] = None,
    non_commercial: Annotated[
        bool, typer.Option("--non-commercial", help="That licence forbids commercial use; tagging will say so.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a model that is there already.")] = False,
) -> None:
    """Train a model on punctuated text: its marks, with or without word times, its case, or both.

    The model folder holds all that tagging needs. The same texts and options give the same model.
    """
    from crfpunct import formats, model_folder
    from crfpunct.clusters import backend
    from crfpunct.files import check_output, printable
    from crfpunct.scoring.poleval import RULES
    from crfpunct.training import About, Base, Options, assemble, bare, like_speech, train_case, train_punctuation

    target = into or out
    if target is None or (into and out):
        raise typer.BadParameter("give either --out, for a new model, or --into, for one that is there.")
    if folds == 1:
        raise typer.BadParameter("one fold leaves nothing to train on; use at least 2, or 0 for none.")
    if prior is not None and (text or features or task != "punct"):
        raise typer.BadParameter("--prior is for marks alone, and the model brings its own text and features.")
    if pauses and (times is not None or task == "case"):
        raise typer.BadParameter("--pauses is for marks of texts without word times.")
    if features is not None and task == "both":
        raise typer.BadParameter("--features is for one task; train the other one with --into afterwards.")
    if report_to is not None and task == "case":
        raise typer.BadParameter("--report is about marks; leave it out with --task case.")
    if device != "cpu":
        note(backend.choose(device)[1])
    existing = model_folder.read(into) if into else None
    if existing is None:
        model_folder.check_free(target, force)
    if report_to is not None:
        check_output(report_to)
    base = None if prior is None else Base.load(prior)
    documents = _documents(paths, from_, times)
    others = [document for path in text or () for document in formats.read_punctuated(path)]
    speech = [document for path in pauses or () for document in _speech(path)]
    about = About(data and printable(data), licence and printable(licence), non_commercial)
    if base is not None:
        about = base.joined(about)
    with progress() as show:

        def report(chain: str, step: Progress) -> None:
            doing = "features" if step.iteration == 0 else "" if math.isnan(step.loss) else f"loss {step.loss:,.0f}"
            show(f"training ({chain})", step.iteration, step.limit, doing)

        parts = []
        if task in ("punct", "both"):
            options = Options(features or "punct", c1, c2, max_iterations, bias, most_attributes, device)
            if base is not None:
                options = replace(options, features=base.features, prior=base.chain)
            curves = report_to is not None
            spoken = like_speech(others, documents)
            parts.append(train_punctuation(documents, about, options, folds, jobs, report, spoken, curves, speech))
        if task in ("case", "both"):
            options = Options(features or "case", c1, c2, max_iterations, bias, most_attributes, device)
            cased = _cased([*documents, *map(bare, others)])
            parts.append(train_case(cased, about, options, folds, jobs, report))
    folder = assemble(language, parts, existing)
    model_folder.write(target, folder, force or existing is not None)
    if report_to is not None:
        _write_report(report_to, target.name, parts[0], documents, folds)
    for part in parts:
        summary = part.summary
        note(
            f"{part.task}: {summary.documents:,} documents, {summary.timed_documents:,} of them with word times; "
            f"{summary.words:,} words; {summary.seconds:.0f} s."
        )
        for name, (kept, candidates) in summary.attributes.items():
            note(f"{name}: {kept:,} attributes kept of {candidates:,}, {summary.iterations[name]} iterations.")
        scores = part.entry["scores"]
        if part.task == "case" and scores:
            f1, accuracy = scores["f1"]["mean"], scores["accuracy"]["mean"]
            note(f"case: F1 of words with a capital {f1:.2f}, accuracy {accuracy:.2f}.")
        elif scores:
            for name, score in scores.items():
                found = (
                    f"{score[rule]['mean']:.2f} (rule:{rule})" for rule in RULES if score[rule]["mean"] is not None
                )
                note(f"{name}: weighted F1 {', '.join(found)}.")
    if "case" not in folder.manifest:
        note(f"no case part: words keep their case; to add it: crfpunct train TEXTS --task case --into {target}")
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    option = "" if "punct" in folder.manifest else " --no-punct"
    shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
    note(f"{target} is {shown}; try it: crfpunct tag --model {target}{option} FILE")


def _write_report(path: Path, model: str, part: Part, documents: list[Document], folds: int) -> None:
    from crfpunct.files import open_output
    from crfpunct.report import training_page
    from crfpunct.training import fold_of, temperature

    summary = part.summary
    cards = []
    for name, scores in part.entry["scores"].items():
        spread = f" ± {scores['all']['sd']:.2f}" if scores["all"]["sd"] is not None else ""
        cards.append((f"weighted F1, {name}", f"{scores['all']['mean']:.1f}", f"{folds} folds{spread}"))
    for name, (kept, candidates) in summary.attributes.items():
        remark = f"of {candidates:,} candidates, {summary.iterations[name]} iterations"
        if name in part.held_out:
            remark += f", temperature {temperature(part.held_out[name]):g}"
        cards.append((f"attributes, {name}", f"{kept:,}", remark))
    decided = {}
    for name, found in part.held_out.items():
        texts = [document for fold in found for document in documents if fold_of(document, folds) == fold.fold]
        decided[name] = list(zip(texts, (marks for fold in found for marks in fold.found), strict=True))
    about = f"{summary.documents:,} documents, {summary.timed_documents:,} with word times; {summary.words:,} words"
    trained = training_page.Trained(f"Training of {model}", about, cards, documents, part.curves, decided)
    with open_output(path) as out:
        training_page.write(trained, out)
    note(f"{path}: the report.")


def _documents(paths: list[str], from_: str | None, times: str | None) -> list[Document]:
    """The training texts as if they had been spoken."""
    from crfpunct.formats.clntmstmp import Times
    from crfpunct.training import heard

    documents = [document for path in paths for document in heard(path, from_)]
    if times is not None:
        found = Times(times)
        documents = list(found.attach(documents))
        for line in found.notes():
            note(line)
    return documents


def _speech(path: str) -> list[Document]:
    """Speech that tells of pauses, from one file."""
    documents = _documents([path], None, None)
    found = {
        "words": any(document.words for document in documents),
        "word times": any(document.times_ms is not None for document in documents),
        "marks": any(mark for document in documents for mark in document.marks or ()),
    }
    for what, is_there in found.items():
        if not is_there:
            raise CorpusError(f"{path}: has no {what}; --pauses takes punctuated speech with word times.")
    return documents


def _cased(documents: list[Document]) -> list[Document]:
    """The documents that have capitals, if any has: the others were written without and would teach that."""
    from crfpunct.casing import begins_in_lower_case

    cased = [document for document in documents if any(word != word.lower() for word in document.words)]
    if cased and len(cased) < len(documents):
        note(f"case: {len(documents) - len(cased):,} of {len(documents):,} texts have no capital and are left out.")
    lower = sum(begins_in_lower_case(document.words) for document in cased)
    if 0 < lower < len(cased):
        note(f"case: {lower:,} of {len(cased):,} texts begin in lower case and are left out.")
    return cased or documents
