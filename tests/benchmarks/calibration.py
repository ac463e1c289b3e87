"""Are the probabilities of marks honest? Reliability and expected calibration error by cross-validation on WikiPunct.

    python tests/benchmarks/calibration.py                        # five folds, both conditions, a Markdown report
    python tests/benchmarks/calibration.py --folds-run 1 --svg reliability.svg

Each fold is scored by a model that was trained on the other folds. A temperature T divides all scores before they
become probabilities; the one reported for a fold is the best, by likelihood, of the other folds' held-out texts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding
from crfpunct.document import Document
from crfpunct.report.cells import number
from crfpunct.report.reliability import ascii_diagram, svg_diagram
from crfpunct.scoring import calibration
from crfpunct.scoring.calibration import TEMPERATURES
from crfpunct.training import Options, estimator, fold_of, without_times

sys.path.insert(0, str(Path(__file__).parent))
from accuracy import CONDITIONS, corpus

PLAIN = TEMPERATURES.index(1.0)


class Fold:
    """What a held-out fold says: by temperature, the log-likelihood of its labels and two reliability tables."""

    def __init__(self, documents: Sequence[Document], fold: int, folds: int, timed: bool) -> None:
        chosen = list(documents) if timed else without_times(documents)
        train = [document for document in chosen if fold_of(document, folds) != fold]
        held_out = [document for document in chosen if fold_of(document, folds) == fold]
        chain = estimator(Options(), timed).fit(train).chain_
        self.labels = chain.labels
        emission = np.concatenate([chain.emissions([document]) for document in held_out])
        lengths = np.array([len(document.words) for document in held_out])
        found = decoding.viterbi(emission + chain.bias, chain.transition, lengths)
        number_of = {label: i for i, label in enumerate(chain.labels)}
        # A mark that training has never seen is right nowhere.
        reference = np.array([number_of.get(mark, -1) for d in held_out for mark in d.marks or ()])
        self.likelihood = calibration.log_likelihoods(
            emission, chain.transition, lengths, reference, by_label=chain.by_label
        )
        self.everywhere: list[NDArray[np.float64]] = []
        self.placed: list[NDArray[np.float64]] = []
        for temperature in TEMPERATURES:
            shares = decoding.marginals(emission / temperature, chain.transition / temperature, lengths)
            self.everywhere.append(calibration.counts(shares, reference))
            self.placed.append(calibration.counts(shares, reference, placed=found))


def by_label(folds: Sequence[Fold], chosen: Sequence[int], placed: bool) -> dict[str, NDArray[np.float64]]:
    """Tables of all folds together, by mark; chosen: the temperature's place for each fold."""
    tables: dict[str, NDArray[np.float64]] = {}
    for fold, place in zip(folds, chosen, strict=True):
        counted = (fold.placed if placed else fold.everywhere)[place]
        for label, table in zip(fold.labels, counted, strict=True):
            tables[label] = tables.get(label, 0) + table
    return tables


def other_folds_choice(folds: Sequence[Fold]) -> list[int]:
    """For each fold, the temperature that suits the other folds best (1 where there are none)."""
    if len(folds) < 2:
        return [PLAIN] * len(folds)
    likelihood = np.array([fold.likelihood for fold in folds])
    return [int((likelihood.sum(axis=0) - own).argmax()) for own in likelihood]


def report(condition: str, folds: Sequence[Fold]) -> None:
    plain = [PLAIN] * len(folds)
    cooled = other_folds_choice(folds)
    print(f"\n### {condition}\n")
    print(f"temperatures fitted on the other folds: {', '.join(f'{TEMPERATURES[place]:g}' for place in cooled)}\n")
    print("| mark | placed | mean probability | right | ECE where placed | with T | ECE at all places | with T |")
    print("|---|---|---|---|---|---|---|---|")
    where_placed, everywhere = by_label(folds, plain, True), by_label(folds, plain, False)
    placed_cooled, everywhere_cooled = by_label(folds, cooled, True), by_label(folds, cooled, False)
    error = calibration.expected_calibration_error
    rows = [(label or "none", label) for label in where_placed]
    for shown, label in rows:
        total = where_placed[label].sum(axis=0)
        print(
            f"| `{shown}` | {total[0]:,.0f} | {number(float(calibration.confidence(total)), 1)} "
            f"| {number(float(calibration.accuracy(total)), 1)} | {number(float(error(where_placed[label])))} "
            f"| {number(float(error(placed_cooled[label])))} | {number(float(error(everywhere[label])))} "
            f"| {number(float(error(everywhere_cooled[label])))} |"
        )
    marks = [label for label in where_placed if label]
    all_marks, all_cooled = (sum(tables[label] for label in marks) for tables in (where_placed, placed_cooled))
    total = all_marks.sum(axis=0)
    print(
        f"| all marks | {total[0]:,.0f} | {number(float(calibration.confidence(total)), 1)} "
        f"| {number(float(calibration.accuracy(total)), 1)} | {number(float(error(all_marks)))} "
        f"| {number(float(error(all_cooled)))} | | |"
    )
    print("\nAll marks where they were placed, all folds:\n\n```text")
    print(ascii_diagram(all_marks))
    print("```")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--folds-run", type=int, help="run only the first so many of the folds")
    parser.add_argument("--svg", type=Path, help="write the reliability diagrams of commas and full stops")
    options = parser.parse_args()
    documents = corpus(options.data)
    drawn = {}
    for condition, timed in CONDITIONS.items():
        folds = []
        for fold in range(options.folds_run or options.folds):
            folds.append(Fold(documents, fold, options.folds, timed))
            print(f"{condition}: fold {fold} done", file=sys.stderr)
        report(condition, folds)
        tables = by_label(folds, [PLAIN] * len(folds), True)
        drawn |= {f"{condition}: {label}": tables[label] for label in (",", ".") if label in tables}
    if options.svg:
        options.svg.write_text(svg_diagram(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
