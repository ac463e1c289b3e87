"""What each group of templates is worth on WikiPunct, and how the score grows with the training text.

    python tests/benchmarks/ablation.py                             # each group left out; about an hour of one core
    python tests/benchmarks/ablation.py --condition "text only" --group "parts of words"
    python tests/benchmarks/ablation.py --curve                     # trained on an eighth, a quarter, a half, all
    python tests/benchmarks/ablation.py --most 200000 100000 50000  # so many attributes, the best by chi-squared

Fold 0 of five, PolEval weighted F1 (rule:all), without a prior, 40 iterations: the differences are what counts. Bytes
are those of the model's arrays as a model folder keeps them. Reads the data folder from --data or CRFPUNCT_DATA.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from accuracy import CONDITIONS, corpus

from crfpunct import templates
from crfpunct.document import Document
from crfpunct.model_folder import pack
from crfpunct.training import Options, estimator, fold_of, poleval_counts, without_times

#: Templates of `pl-punct`, by name.
GROUPS = {
    "words, one at a time": ("word", "far"),
    "two words": ("pair", "pair across", "pair after", "skip", "around"),
    "three words": ("triple", "triple after"),
    "suffixes": ("suffix", "suffix pair", "suffix pair after", "suffix triple"),
    "prefixes": ("prefix",),
    "shape, kind, length": ("shape", "kinds", "length"),
    "parts of speech": ("pos", "pos pair", "pos pair across", "pos pair after", "pos triple", "pos triple after"),
    "cases": ("case", "case pair", "case triple"),
    "words with parts of speech": ("word and pos", "pos and word", "word and next pos"),
    "the gaps themselves": ("gap", "gaps"),
    "rank and ratio": ("rank", "ratio"),
    "peaks, longer gaps near by": ("peak", "peaks", "longer", "between longer"),
    "since and until a long gap": ("long",),
    "durations": ("speech", "onset", "zero and gap"),
    "gaps with words": ("gap and word", "gap and suffix", "rank and word", "gap and kinds"),
    "gaps with parts of speech": ("gap and pos", "gap and pos pair"),
}
CURVE = (8, 4, 2, 1)


def score(
    documents: Sequence[Document], timed: bool, features: templates.FeatureSet, part: int = 1, most: int = 0
) -> str:
    """Train on every `part`-th text of four folds, score the fifth; cells of a table."""
    documents = documents if timed else without_times(documents)
    train = [document for document in documents if fold_of(document, 5) != 0][::part]
    held_out = [document for document in documents if fold_of(document, 5) == 0]
    fitted = estimator(Options(features, max_iterations=40, most_attributes=most or None), timed).fit(train)
    f1 = poleval_counts(held_out, fitted.predict(held_out)).weighted_f1("all")
    size = len(pack(fitted.chain_.to_arrays()))
    words = sum(len(document.words) for document in train)
    return f"{words:,} | {f1:.2f} | {fitted.chain_.rounded().index.count:,} | {size:,}"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--condition", choices=CONDITIONS, action="append", help="default: both")
    parser.add_argument("--group", choices=GROUPS, action="append", help="default: each in turn")
    parser.add_argument("--curve", action="store_true", help="leave out texts, not templates")
    parser.add_argument("--most", type=int, nargs="+", help="leave out attributes: so many are left to train with")
    arguments = parser.parse_args()
    documents, features = corpus(arguments.data), templates.load("pl-punct")
    print("| | | words | F1 | attributes | bytes |\n|---|---|--:|--:|--:|--:|", flush=True)
    for condition in arguments.condition or CONDITIONS:
        timed = CONDITIONS[condition]
        if arguments.curve:
            for part in CURVE:
                print(f"| {condition} | 1/{part} | {score(documents, timed, features, part)} |", flush=True)
            continue
        print(f"| {condition} | all | {score(documents, timed, features)} |", flush=True)
        if arguments.most:
            for most in arguments.most:
                print(f"| {condition} | {most:,} | {score(documents, timed, features, most=most)} |", flush=True)
            continue
        used = features.templates if timed else templates.without_pauses(features.templates)
        for group in arguments.group or GROUPS:
            left = tuple(template for template in features.templates if template.name not in GROUPS[group])
            if any(template.name in GROUPS[group] for template in used):
                found = score(documents, timed, replace(features, templates=left))
                print(f"| {condition} | without {group} | {found} |", flush=True)


if __name__ == "__main__":
    main()
