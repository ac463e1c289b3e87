"""From a training set to a model folder: fit, cross-validate, describe."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import crfpunct
from crfpunct import marks
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.estimators import Progress, PunctuationCRF, joined_parts
from crfpunct.model_folder import ModelFolder, pack
from crfpunct.scoring import poleval


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose for training; None leaves the choice to the feature file."""

    features: str | Path = "punct"
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What a model says of its training texts; `non_commercial` where their licence forbids other use."""

    language: str | None = None
    data: str | None = None
    licence: str | None = None
    non_commercial: bool = False


@dataclass(frozen=True, slots=True)
class FoldScore:
    """One held-out fold: its number, documents trained on and scored, PolEval counts, seconds of training."""

    fold: int
    trained: int
    scored: int
    counts: poleval.PolevalCounts
    seconds: float


def fold_of(document: Document, folds: int) -> int:
    """The fold of a document, by a hash of its words: texts that repeat under other ids stay together."""
    digest = hashlib.sha256(" ".join(document.words).lower().encode()).digest()
    return int.from_bytes(digest[:8], "big") % folds


def without_times(documents: Sequence[Document]) -> list[Document]:
    """The same texts as if no word times were known."""
    return [replace(document, times_ms=None) for document in documents]


def estimator(options: Options, timed: bool, progress: Callable[[Progress], None] | None = None) -> PunctuationCRF:
    """The estimator for texts with word times, or for texts without."""
    return PunctuationCRF(
        features=options.features,
        use_times=timed,
        c1=options.c1,
        c2=options.c2,
        max_iterations=options.max_iterations,
        progress=progress,
    )


def score_fold(documents: Sequence[Document], fold: int, folds: int, timed: bool, options: Options) -> FoldScore:
    """Train on all folds but one and score that one, as the PolEval task does."""
    documents = documents if timed else without_times(documents)
    train = [document for document in documents if fold_of(document, folds) != fold]
    held_out = [document for document in documents if fold_of(document, folds) == fold]
    if not held_out:
        raise CorpusError(f"fold {fold} of {folds} has no documents; use fewer folds.")
    start = time.perf_counter()
    fitted = estimator(options, timed).fit(train)
    seconds = time.perf_counter() - start
    reference = [" ".join(marks.attach(d.words, d.marks or [])) for d in held_out]
    hypothesis = [" ".join(marks.attach(d.words, m)) for d, m in zip(held_out, fitted.predict(held_out), strict=True)]
    return FoldScore(fold, len(train), len(held_out), poleval.counts(reference, hypothesis), seconds)


def cross_validate(
    documents: Sequence[Document], timed: bool, options: Options, folds: int = 5, jobs: int = 1
) -> list[FoldScore]:
    """The score of each fold; `jobs` folds are trained side by side, each in a process of its own."""
    from joblib import Parallel, delayed

    found: list[FoldScore] = Parallel(n_jobs=jobs)(
        delayed(score_fold)(documents, fold, folds, timed, options) for fold in range(folds)
    )
    return found


@dataclass(frozen=True, slots=True)
class Summary:
    """What a training did, for the user."""

    documents: int
    words: int
    timed_documents: int
    attributes: dict[str, tuple[int, int]]  # by chain: kept, candidates
    iterations: dict[str, int]
    seconds: float


def train_punctuation(
    documents: Sequence[Document],
    about: About,
    options: Options,
    folds: int = 0,
    jobs: int = 1,
    progress: Callable[[str, Progress], None] | None = None,
) -> tuple[ModelFolder, Summary]:
    """Train a punctuation model: a CRF for texts without word times and, where the documents have any, one with.

    folds: cross-validate first with that many folds, and let the model carry the scores (0: do not).
    progress: called with the chain's name at every iteration.
    """
    start = time.perf_counter()
    timed_documents = sum(document.times_ms is not None for document in documents)
    chains = {"text": without_times(documents)}
    if timed_documents:
        chains["timed"] = list(documents)
    manifest: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    attributes, iterations = {}, {}
    for name, texts in chains.items():
        report = None if progress is None else _named(progress, name)
        fitted = estimator(options, name == "timed", report).fit(texts)
        files[f"punct-{name}.npz"] = pack(fitted.chain_.to_arrays())
        manifest[name] = {
            "file": f"punct-{name}.npz",
            "labels": list(fitted.chain_.labels),
            "options": asdict(fitted.options_),
            "attributes": fitted.chain_.index.count,
        }
        attributes[name] = fitted.chain_.index.count, fitted.candidates_
        iterations[name] = len(fitted.training_log_)
        features = fitted.features_
    files |= {f"templates/{name}": raw for name, raw in features.files.items()}
    words = sum(len(document.words) for document in documents)
    scores = {
        name: _scores(cross_validate(documents, name == "timed", options, folds, jobs)) for name in chains if folds
    }
    content: dict[str, Any] = {
        "crfpunct": crfpunct.__version__,
        "created": datetime.now(UTC).strftime("%Y-%m-%d"),
        **asdict(about),
        "punct": {
            "features": features.name,
            "chains": manifest,
            "joined_parts": sorted(joined_parts(documents)),
            "training": {
                "documents": len(documents),
                "timed_documents": timed_documents,
                "words": words,
                "fingerprint": _fingerprint(documents),
            },
            "scores": scores,
        },
    }
    files["card.md"] = card(content).encode()
    summary = Summary(len(documents), words, timed_documents, attributes, iterations, time.perf_counter() - start)
    return ModelFolder(content, files), summary


def _named(progress: Callable[[str, Progress], None], name: str) -> Callable[[Progress], None]:
    return lambda step: progress(name, step)


def _fingerprint(documents: Sequence[Document]) -> str:
    """A hash of words, marks and times, which tells whether two models learned from the same data."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update("\n".join(marks.attach(document.words, document.marks or [])).encode() + b"\0")
        if document.times_ms is not None:
            digest.update(document.times_ms.astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def _scores(found: Sequence[FoldScore]) -> dict[str, Any]:
    """Mean and standard deviation over the folds of the PolEval weighted F1 by both rules, and the folds themselves."""
    scores: dict[str, Any] = {"metric": "PolEval weighted F1, %", "folds": len(found)}
    for rule in poleval.RULES:
        values = [fold.counts.weighted_f1(rule) for fold in found]
        scores[rule] = {
            "mean": round(float(np.mean(values)), 2),
            "sd": round(float(np.std(values, ddof=1)), 2) if len(values) > 1 else None,
            "by_fold": [round(value, 2) for value in values],
        }
    return scores


_CHAIN_TITLES = {"text": "text alone", "timed": "with word times"}


def card(manifest: dict[str, Any]) -> str:
    """The model card: data, licence, intended use, limits, scores; Markdown."""
    punct = manifest["punct"]
    training = punct["training"]
    lines = [
        f"# Punctuation model{' for ' + manifest['language'] if manifest['language'] else ''}",
        "",
        f"Trained with crfpunct {manifest['crfpunct']}.",
        "",
        "## Data and licence",
        "",
        f"- Data: {manifest['data'] or 'not stated'}; {training['documents']:,} texts "
        f"({training['timed_documents']:,} with word times), {training['words']:,} words, "
        f"fingerprint `{training['fingerprint']}`.",
        f"- Licence of the data: {manifest['licence'] or 'not stated'}.",
    ]
    if manifest["non_commercial"]:
        lines += [
            "- **For research and non-commercial use**: the licence of the data asks for it. A model of your own data "
            "has no such limit: `crfpunct train YOUR-TEXTS --out my-model` trains one.",
        ]
    lines += [
        "",
        "The folder holds statistics (weights of words, word parts and pauses), no sentence of the data.",
        "",
        "## What it does",
        "",
        "Puts marks behind words. It has one CRF for texts without word times and, if it was trained with times, one "
        "for texts with them; that one tags a text if at least half of the gaps between its words are known.",
        "",
        "| CRF | labels | attributes | c1 | c2 | iterations at most |",
        "|---|---|---|---|---|---|",
    ]
    for name, chain in punct["chains"].items():
        labels = " ".join(f"`{label}`" for label in chain["labels"] if label)
        options = chain["options"]
        lines.append(
            f"| {_CHAIN_TITLES[name]} | {labels} | {chain['attributes']:,} | {options['c1']:g} | {options['c2']:g} "
            f"| {options['max_iterations']} |"
        )
    lines += [
        "",
        "## Limits",
        "",
        "It knows the kind of text it was trained on; other kinds of speech and writing get fewer and worse marks. "
        "Marks that are rare in the data (`!`, `;`, `...`) are rarely placed. It does not change or correct words.",
        "",
        "## Scores",
        "",
    ]
    if not punct["scores"]:
        return "\n".join([*lines, "Not cross-validated (`crfpunct train --folds 5` does it).", ""])
    lines += [
        "PolEval weighted F1 in percent, cross-validated over documents: mean ± standard deviation of the folds. "
        "`rule:geval` is the task's own counting, `rule:all` counts every false positive.",
        "",
        "| CRF | folds | rule:geval | rule:all |",
        "|---|---|---|---|",
    ]
    for name, scores in punct["scores"].items():
        cells = [f"{scores[rule]['mean']:.2f} ± {scores[rule]['sd'] or 0:.2f}" for rule in poleval.RULES]
        lines.append(f"| {_CHAIN_TITLES[name]} | {scores['folds']} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
