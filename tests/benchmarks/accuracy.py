"""Accuracy on WikiPunct and elsewhere: cross-validated PolEval weighted F1, with and without word times.

    python tests/benchmarks/accuracy.py                     # five folds, both conditions, a Markdown report
    python tests/benchmarks/accuracy.py --prior none --features punct      # without more text, without morphology
    python tests/benchmarks/accuracy.py --english           # the shipped `en` on calls that it was not trained on
    python tests/benchmarks/accuracy.py --as-it-is pl-open  # a model that has not read WikiPunct on all of it
    python tests/benchmarks/accuracy.py --english-pauses    # what they are worth to the prior of `pl`
    python tests/benchmarks/accuracy.py --lengths           # words of no length, and scores without word lengths
    python tests/benchmarks/accuracy.py --poleval2022       # conversations: `pl` as it is, and five folds on its prior
    python tests/benchmarks/accuracy.py --gate              # one fold, exits 1 below the floors (CI)

Reads the data folder from --data or CRFPUNCT_DATA (default ../shared/data). Folds are made of whole documents, by
a hash of the text; nothing is tuned on a test set. The prior is that of a model folder: it has learned from other text
alone, and so from no fold.
"""

from __future__ import annotations

import argparse
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crfpunct import formats, load, marks, model_folder, resources, templates
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.formats.clntmstmp import Times
from crfpunct.prior import with_pauses
from crfpunct.scoring import poleval
from crfpunct.scoring.poleval import PolevalCounts
from crfpunct.tables import Tables
from crfpunct.training import (
    FoldScore,
    Options,
    bare,
    copies_of_templates,
    cross_validate,
    learn_pauses,
    lowered,
    poleval_counts,
    score_fold,
    score_held_out,
    together,
    without_times,
)

#: Floors of the gate, weighted F1 (rule:all) of fold 0: just under what docs/accuracy.md reports for it.
FLOORS = {"with times": 64.2, "text only": 54.2}
CONDITIONS = {"with times": True, "text only": False}


def corpus(data: Path) -> list[Document]:
    """WikiPunct's training texts with their marks and, where there are any, their word times."""
    folder = data / "wikipunct"
    times = Times(folder / "fa" / "poleval_fa.train.tar.gz")
    documents = list(times.attach(formats.read_punctuated(folder / "train")))
    for note in times.notes():
        print(note, file=sys.stderr)
    return documents


def prior_of(model: str) -> LinearChain:
    """What a model learned from other text before it saw WikiPunct."""
    stored = model_folder.read(resources.find_model(model))
    punct = stored.manifest["punct"]
    features = templates.load_copies(punct["features"], copies_of_templates(stored.files))
    described = punct["chains"]["prior"]
    used = templates.without_pauses(features.templates)
    return LinearChain.from_arrays(stored.arrays(described["file"]), described["labels"], used, features.lexicons)


#: What tells how long a word lasts; `onset` is the time up to the next word, less what the word should take.
OF_LENGTH = {"stretch", "rate", "zero", "onset"}


def without_lengths(features: templates.FeatureSet) -> templates.FeatureSet:
    """The same features, without those that look at how long words last."""
    kept = tuple(t for t in features.templates if not any(o.name in OF_LENGTH for o, _ in t.use))
    return replace(features, templates=kept)


def of_no_length(documents: Sequence[Document]) -> None:
    """How often the alignments give a word no length, by the mark behind it."""
    timed = [document for document in documents if document.times_ms is not None]
    times = np.concatenate([document.times_ms for document in timed if document.times_ms is not None])
    marks_given = np.array([mark for document in timed for mark in document.marks or ()])
    print("| mark | words with times | of no length, % |\n|---|--:|--:|")
    for mark in ("", ".", ",", "-", ":", "?", "!"):
        start, end = times[(marks_given == mark) & (times >= 0).all(axis=1)].T
        print(f"| {f'`{mark}`' if mark else 'none'} | {len(start):,} | {100 * np.mean(start == end):.1f} |")


#: `en` was trained on every third call of Earnings-22, from the first on; these are none of them.
TRAINING_CALLS, HELD_OUT_CALLS = slice(0, None, 3), slice(1, None, 18)


def english(data: Path) -> None:
    """Scores of the shipped English model on held-out calls, as if it had been lower-cased text from a recogniser."""
    documents = lowered(calls(data, HELD_OUT_CALLS))
    print(f"{len(documents)} calls, {sum(len(d.words) for d in documents):,} words")
    as_it_is("en", documents, list(CONDITIONS))


def calls(data: Path, chosen: slice) -> list[Document]:
    """Some of the calls of Earnings-22."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(data / "en-timed" / "earnings22-aligned.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        paths = sorted(Path(folder).rglob("*.nlp"))[chosen]
        return [bare(document) for path in paths for document in formats.read_punctuated(str(path))]


def english_pauses(data: Path, options: Options) -> None:
    """What the pauses of English calls are worth to a CRF that has read other Polish text alone, by their share."""
    assert options.prior is not None
    documents = corpus(data)
    fitted, odds = learn_pauses(calls(data, TRAINING_CALLS), options)
    used = templates.load(options.features).templates
    print("| share | weighted F1, rule:all |\n|---|---|")
    for share in (0.0, 0.3, 0.5, 0.7, 1.0):
        chain = with_pauses(options.prior, fitted.chain_, used, odds, share).folded()
        counts = poleval_counts(documents, Tables(chain.on_grid()).decode(documents))
        print(f"| {share} | {counts.weighted_f1('all'):.2f} |", flush=True)


def as_it_is(model: str, documents: Sequence[Document], conditions: Sequence[str]) -> None:
    """Scores of a model on texts that it has not read."""
    punctuator = load(model).punctuator
    assert punctuator is not None
    for condition in conditions:
        texts = documents if CONDITIONS[condition] else without_times(documents)
        start = time.perf_counter()
        found = punctuator.marks([replace(document, marks=None) for document in texts])
        seconds = time.perf_counter() - start
        counts = poleval_counts(texts, found)
        report(condition, [FoldScore(0, 0, len(texts), counts, seconds, [], np.zeros(0))])


def conversations(data: Path, shipped: str, options: Options, folds: int, conditions: Sequence[str]) -> None:
    """PolEval 2022: what the shipped model scores there as it is, and what is learned of other conversations."""
    folder = data / "poleval2022" / "train"
    segments = lowered(list(formats.read_punctuated(folder)))
    gold = [" ".join(document.words) for document in formats.read(folder / "expected.tsv", "wikipunct")]
    parts = parts_by_audio(segments, folds) if folds else []
    punctuator = load(shipped).punctuator
    assert punctuator is not None
    for condition in conditions:
        timed = CONDITIONS[condition]
        texts = [replace(segment, marks=None) for segment in (segments if timed else without_times(segments))]
        start = time.perf_counter()
        found = punctuator.marks(texts)
        seconds = time.perf_counter() - start
        untrained = FoldScore(0, 0, len(texts), against(gold, segments, found), seconds, [], np.zeros(0))
        report(f"{condition}, {shipped} as it is", [untrained])
        scores = []
        for fold, held_out in enumerate(parts):
            train = [i for other in parts if other is not held_out for i in other]
            score = score_held_out([segments[i] for i in train], [segments[i] for i in held_out], fold, timed, options)
            # The task's own lines, which split a few words otherwise than its input.
            counts = against([gold[i] for i in held_out], [segments[i] for i in held_out], score.found)
            scores.append(replace(score, counts=counts))
        if scores:
            report(condition, scores)


def parts_by_audio(segments: Sequence[Document], folds: int) -> list[list[int]]:
    """The places of the segments in each fold: whole recordings, the longest first, each where fewest words are yet."""
    recordings: dict[str, list[int]] = {}
    for place, segment in enumerate(segments):
        recordings.setdefault(segment.id.rpartition(" ")[0], []).append(place)
    words = {audio: sum(len(segments[i].words) for i in places) for audio, places in recordings.items()}
    parts: list[list[int]] = [[] for _ in range(folds)]
    sizes = [0] * folds
    for audio in sorted(recordings, key=lambda audio: (-words[audio], audio)):
        fold = sizes.index(min(sizes))
        parts[fold] += recordings[audio]
        sizes[fold] += words[audio]
    return parts


def against(gold: Sequence[str], documents: Sequence[Document], found: Sequence[Sequence[str]]) -> PolevalCounts:
    """Counts of the marks found for documents against the lines of a gold file."""
    return poleval.counts(
        gold, [" ".join(marks.attach(d.words, given)) for d, given in zip(documents, found, strict=True)]
    )


def report(condition: str, folds: Sequence[FoldScore]) -> None:
    """A table of the folds, and one of the marks with all folds taken together."""
    scores = {rule: [fold.counts.weighted_f1(rule) for fold in folds] for rule in poleval.RULES}
    print(f"\n### {condition}\n")
    print("| fold | trained on | scored | rule:geval | rule:all | seconds of training |\n|---|---|---|---|---|---|")
    for i, fold in enumerate(folds):
        print(
            f"| {fold.fold} | {fold.trained} | {fold.scored} | {scores['geval'][i]:.2f} | {scores['all'][i]:.2f} "
            f"| {fold.seconds:.0f} |"
        )
    means = " | ".join(f"**{np.mean(scores[rule]):.2f}**" for rule in poleval.RULES)
    print(f"| mean | | | {means} | |")
    spread = " | ".join(f"{np.std(scores[rule], ddof=1):.2f}" if len(folds) > 1 else "–" for rule in poleval.RULES)
    print(f"| standard deviation | | | {spread} | |")
    print("\n| mark | P | R | F1 | in the reference |\n|---|---|---|---|---|")
    for score in together(folds).per_label("all"):
        mark = poleval.MARK_OF_LABEL.get(score.label, score.label)
        print(f"| `{mark}` | {score.precision:.1f} | {score.recall:.1f} | {score.f1:.1f} | {score.support} |")


def main() -> int:
    """Run what the command line asks for; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--features", default="pl-punct")
    parser.add_argument("--prior", default="pl", help="the model whose prior to build on, or none")
    parser.add_argument("--folds", type=int, default=5, help="with --poleval2022, 0: nothing is trained")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--condition", choices=CONDITIONS, action="append", help="default: both")
    parser.add_argument("--gate", action="store_true", help="one fold of each condition against its floor")
    parser.add_argument("--english", action="store_true", help="score the shipped English model on held-out calls")
    parser.add_argument("--english-pauses", action="store_true", help="add pauses of English to the prior, by share")
    parser.add_argument("--as-it-is", metavar="MODEL", help="score a model that has not read WikiPunct on all of it")
    parser.add_argument("--lengths", action="store_true", help="words of no length; folds without word lengths")
    parser.add_argument("--poleval2022", action="store_true", help="score on conversations, folds by recording")
    arguments = parser.parse_args()
    if arguments.english:
        english(arguments.data)
        return 0
    if arguments.as_it_is:
        as_it_is(arguments.as_it_is, corpus(arguments.data), arguments.condition or list(CONDITIONS))
        return 0
    prior = None if arguments.prior == "none" else prior_of(arguments.prior)
    options = Options(arguments.features, prior=prior)
    if arguments.english_pauses:
        english_pauses(arguments.data, options)
        return 0
    if arguments.poleval2022:
        conversations(arguments.data, "pl", options, arguments.folds, arguments.condition or list(CONDITIONS))
        return 0
    documents = corpus(arguments.data)
    conditions = arguments.condition or list(CONDITIONS)
    if arguments.lengths:
        of_no_length(documents)
        conditions = ["with times"]
        options = replace(options, features=without_lengths(templates.load(arguments.features)))
    failed = False
    for condition in conditions:
        timed = CONDITIONS[condition]
        if not arguments.gate:
            report(condition, cross_validate(documents, timed, options, arguments.folds, arguments.jobs))
            continue
        found = score_fold(documents, 0, arguments.folds, timed, options)
        score, floor = found.counts.weighted_f1("all"), FLOORS[condition]
        failed |= score < floor
        print(
            f"{condition}: weighted F1 {score:.2f} (rule:all, fold 0 of {arguments.folds}), floor {floor:.2f}: "
            f"{'FAILED' if score < floor else 'passed'} ({found.seconds:.0f} s of training)"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
