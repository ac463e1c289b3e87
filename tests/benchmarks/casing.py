"""Accuracy of truecasing: F1 of words with a capital, against two baselines.

    python tests/benchmarks/casing.py                       # both languages, a Markdown report
    python tests/benchmarks/casing.py --language en --folds 5
    python tests/benchmarks/casing.py --language en --model models/en --folds 0   # a model that is there, not trained

English: the validation file of the Wikipedia truecasing benchmark, cross-validated over sentences. Polish: NKJP, by
document. The true marks are given; with --model also the marks of a punctuation model, which must not have read the
texts. A model that is there is scored on English as a whole, and for Polish on the transcripts of PolEval 2022
(training part), neither of which is in its training data, with the true marks and with its own. Reads the data folder
from --data or CRFPUNCT_DATA (default ../shared/data).

Baselines: the most frequent form of each word in the training folds; and that with a capital at sentence starts.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import crfpunct
from crfpunct import formats
from crfpunct.casing import Spelling
from crfpunct.document import Document
from crfpunct.scoring import casing
from crfpunct.scoring import counts as table
from crfpunct.training import Options, bare, fold_of, lowered, truecasing_estimator


def english(data: Path) -> list[Document]:
    """Sentences, tokenised."""
    return list(formats.read_punctuated(data / "truecase" / "en-wiki-val.txt", "text"))


def polish(data: Path) -> list[Document]:
    """NKJP's documents (a blank line stands between two), their paragraphs joined."""
    return [bare(document) for document in formats.read_punctuated(data / "pl-text" / "nkjp.txt", "paragraphs")]


def polish_talk(data: Path) -> list[Document]:
    """Conversations of PolEval 2022, a stretch of speech each."""
    path = data / "poleval2022" / "train" / "expected.tsv"
    return [bare(document) for document in formats.read_punctuated(path, "text") if document.words]


def commonest_forms(train: Sequence[Document]) -> dict[str, str]:
    """Lower-case word -> its most frequent form."""
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for document in train:
        for word in document.words:
            forms[word.lower()][word] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in forms.items()}


def baselines(train: Sequence[Document], texts: Sequence[Document]) -> dict[str, list[list[str]]]:
    """The words of each text as the two baselines spell them."""
    forms, spelling = commonest_forms(train), Spelling()
    plain = [[forms.get(word, word) for word in document.words] for document in texts]
    initial = [
        [
            spelling.spell(word, "TITLE")
            if word.islower() and (i == 0 or marks[i - 1] in casing.SENTENCE_END)
            else word
            for i, word in enumerate(words)
        ]
        for words, marks in zip(plain, [document.marks or [] for document in texts], strict=True)
    ]
    return {"most frequent form": plain, "most frequent form, capital at sentence starts": initial}


def report(name: str, documents: Sequence[Document], folds: int, features: str, model: str | None) -> None:
    """Cross-validate and print one table."""
    counts: defaultdict[str, list[np.ndarray]] = defaultdict(list)
    punctuator = crfpunct.load(model).punctuator if model else None
    for fold in range(folds):
        train = [document for document in documents if fold_of(document, folds) != fold]
        gold = [document for document in documents if fold_of(document, folds) == fold]
        truecaser = truecasing_estimator(Options(features)).fit(train).truecaser_
        texts = lowered(gold)
        systems = {**baselines(train, texts), "CRF, true marks": truecaser.words(texts)}
        if punctuator is not None:
            marked = [
                replace(document, marks=marks) for document, marks in zip(texts, punctuator.marks(texts), strict=True)
            ]
            systems["CRF, our marks"] = truecaser.words(marked)
        for system, found in systems.items():
            triples = [(d.words, words, d.marks or []) for d, words in zip(gold, found, strict=True)]
            counts[system].append(casing.count_same_words(triples))
    show(f"{name}, {folds} folds", documents, counts)


def report_model(name: str, documents: Sequence[Document], model: str) -> None:
    """Score a model as it is and print one table."""
    restorer, texts = crfpunct.load(model), lowered(documents)
    truecaser, punctuator = restorer.truecaser, restorer.punctuator
    assert truecaser is not None, f"{model} has no case part"
    given = {"true marks": texts}
    if punctuator is not None:
        marks = punctuator.marks([replace(document, marks=None) for document in texts])
        given["its own marks"] = [replace(d, marks=found) for d, found in zip(texts, marks, strict=True)]
    counts = {}
    for how, marked in given.items():
        triples = [
            (document.words, words, document.marks or [])
            for document, words in zip(documents, truecaser.words(marked), strict=True)
        ]
        counts[f"model {Path(model).name}, {how}"] = [casing.count_same_words(triples)]
    show(name, documents, counts)


def show(name: str, documents: Sequence[Document], counts: Mapping[str, Sequence[np.ndarray]]) -> None:
    """One table; the counts of each system by fold."""
    words = sum(len(document.words) for document in documents)
    print(f"\n### {name}: {len(documents):,} documents, {words:,} words\n")
    print("| system | F1 of words with a capital | inside sentences | accuracy | TITLE | UPPER | MIXED |")
    print("|---|---|---|---|---|---|---|")
    for system, by_fold in counts.items():
        f1 = [float(table.f1(casing.capitalised(c.sum(axis=0)))) for c in by_fold]
        total = np.sum(by_fold, axis=0)
        inside = float(table.f1(casing.capitalised(total[0])))
        by_class = " | ".join(f"{float(table.f1(c)):.1f}" for c in total.sum(axis=0)[1:])
        spread = f" ± {np.std(f1, ddof=1):.2f}" if len(f1) > 1 else ""
        accuracy = float(casing.accuracy(total.sum(axis=0)))
        print(f"| {system} | {np.mean(f1):.2f}{spread} | {inside:.2f} | {accuracy:.2f} | {by_class} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--language", choices=["en", "pl"], action="append", help="default: both")
    parser.add_argument("--folds", type=int, default=5, help="0: score --model as it is")
    parser.add_argument("--features", help="default: en-case, case")
    parser.add_argument("--model", help="whose marks are used for Polish, too, or what is scored (--folds 0)")
    arguments = parser.parse_args()
    for language in arguments.language or ["en", "pl"]:
        if arguments.folds == 0:
            read, name = (
                (english, "English (Wikipedia, validation)")
                if language == "en"
                else (polish_talk, "Polish (conversations, PolEval 2022)")
            )
            report_model(name, read(arguments.data), arguments.model or language)
        elif language == "en":
            features = arguments.features or "en-case"
            report("English (Wikipedia, validation)", english(arguments.data), arguments.folds, features, None)
        else:
            report(
                "Polish (NKJP)", polish(arguments.data), arguments.folds, arguments.features or "case", arguments.model
            )


if __name__ == "__main__":
    main()
