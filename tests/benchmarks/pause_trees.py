"""What a CRF leaves in the pauses: gradient-boosted trees over raw word times, alone and with what a text CRF says.

    python tests/benchmarks/pause_trees.py      # one fold; about ten minutes of two cores

Fold 0 of five of WikiPunct, PolEval weighted F1 (rule:all). A tree sees at once how long the gaps around a place are,
how long its words last and how they are written, where a CRF adds up one weight for each; but it knows nothing of the
marks beside. What the text CRF says of a training text comes from a CRF that has not read it: the other training folds
are left to learn from. Reads the data folder from --data or CRFPUNCT_DATA.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from accuracy import corpus, prior_of
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from crfpunct.document import Document
from crfpunct.tables import Tables
from crfpunct.training import Options, estimator, fold_of, poleval_counts, without_times

FOLDS, HELD_OUT = 5, 0
BIAS = 0.5  # added to the log-probability of every mark, as the CRFs do
Table = NDArray[np.float64]  # one row a word


def shifted(values: Table, offset: int) -> Table:
    """values[t + offset], NaN outside the document."""
    found = np.full_like(values, np.nan)
    if offset >= 0:
        found[: len(values) - offset] = values[offset:]
    else:
        found[-offset:] = values[:offset]
    return found


def of_pauses(document: Document) -> Table:
    """Gaps within six words, durations, lengths and outer letters of the words beside, and the document's medians."""
    assert document.times_ms is not None
    start, end = np.where(document.times_ms < 0, np.nan, document.times_ms).T
    gap = np.maximum(shifted(start, 1) - end, 0)
    known = np.sort(gap[~np.isnan(gap)])
    rank = np.where(np.isnan(gap), np.nan, np.searchsorted(known, gap) / max(len(known), 1))
    characters = np.array([len(word) for word in document.words], dtype=float)
    duration = end - start
    rate = np.median((duration / characters)[~np.isnan(duration)])
    first, last = (np.array([min(ord(word[i]), 400) for word in document.words], dtype=float) for i in (0, -1))
    median = np.median(known) if len(known) else np.nan
    columns = [np.full(len(gap), median), np.full(len(gap), rate), first, last, shifted(first, 1), shifted(last, 1)]
    columns += [shifted(gap, offset) for offset in range(-6, 7)]
    columns += [shifted(rank, offset) for offset in range(-2, 3)]
    for values in (duration, characters, duration - rate * characters):
        columns += [shifted(values, offset) for offset in (-1, 0, 1, 2)]
    return np.stack(columns, axis=1)


def of_text(documents: Sequence[Document], prior: str) -> list[Table]:
    """Log-odds of every label within two words, by a text CRF that has read neither the text nor the held-out fold."""
    options = Options("pl-punct", prior=prior_of(prior))
    found: list[Table] = [np.zeros((0, 0))] * len(documents)
    for fold in range(FOLDS):
        read = [document for document in documents if fold_of(document, FOLDS) not in (fold, HELD_OUT)]
        places = [i for i, document in enumerate(documents) if fold_of(document, FOLDS) == fold]
        chain = estimator(options, timed=False).fit(without_times(read)).chain_
        marginals = Tables(chain).marginals(without_times([documents[i] for i in places]))
        for i, probabilities in zip(places, marginals, strict=True):
            clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
            odds = np.log(clipped / (1 - clipped))
            found[i] = np.concatenate([shifted(odds, offset) for offset in (-2, -1, 0, 1, 2)], axis=1)
    return found


def score(documents: Sequence[Document], tables: Sequence[Table]) -> str:
    """Trees fitted to all folds but the held-out one, scored on that: weighted F1, and F1 of each mark, as cells."""
    held_out = np.array([fold_of(document, FOLDS) == HELD_OUT for document in documents])
    known, new = np.flatnonzero(~held_out).tolist(), np.flatnonzero(held_out).tolist()
    labels = np.concatenate([documents[i].marks or [] for i in known])
    trees = HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.06, min_samples_leaf=40, l2_regularization=1.0, early_stopping=False
    ).fit(np.concatenate([tables[i] for i in known]), labels)
    chosen = [documents[i] for i in new]
    scores = np.log(trees.predict_proba(np.concatenate([tables[i] for i in new])))
    scores[:, trees.classes_ != ""] += BIAS
    best = trees.classes_[scores.argmax(axis=1)]
    ends = np.cumsum([len(document.words) for document in chosen])
    counts = poleval_counts(chosen, [part.tolist() for part in np.split(best, ends[:-1])])
    by_label = {label.label: label.f1 for label in counts.per_label("all")}
    marks = " | ".join(f"{by_label[label]:.1f}" for label in ("FULLSTOP", "COMMA", "HYPHEN", "KOLON", "QMARK"))
    return f"{counts.weighted_f1('all'):.2f} | {marks}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--prior", default="pl", help="the model whose prior the text CRF builds on")
    arguments = parser.parse_args()
    documents = [document for document in corpus(arguments.data) if document.times_ms is not None]
    pauses = [of_pauses(document) for document in documents]
    print("| trees see | weighted F1 | `.` | `,` | `-` | `:` | `?` |\n|---|---|---|---|---|---|---|")
    print(f"| word times and outer letters | {score(documents, pauses)} |", flush=True)
    texts = of_text(documents, arguments.prior)
    print(f"| what a text CRF says | {score(documents, texts)} |", flush=True)
    both = [np.concatenate(pair, axis=1) for pair in zip(pauses, texts, strict=True)]
    print(f"| both | {score(documents, both)} |")


if __name__ == "__main__":
    main()
