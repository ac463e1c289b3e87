"""Scores of upper and lower case, over the words that both sides have (whatever their case).

A word "with a capital" is right where it is exactly the reference's: the measure of the Wikipedia truecasing
benchmark (Susanto et al. 2016). Words that open a sentence are counted apart, since they follow from the full stops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crfpunct.scoring import counts as table
from crfpunct.scoring.alignment import AlignedDocument

#: Classes of a word's case, in the order of the counts' axis.
CLASSES: tuple[str, ...] = ("LOWER", "TITLE", "UPPER", "MIXED")

#: Words inside a sentence, words that open one: the second axis of the counts.
POSITIONS: tuple[str, ...] = ("inside", "initial")

#: Marks of the reference after which a sentence opens.
SENTENCE_END = frozenset({".", "?", "!", "..."})


def case_class(word: str) -> str:
    """LOWER: no upper-case letter. TITLE: only the first letter. UPPER: all of two letters or more. MIXED: else.

    >>> [case_class(word) for word in ["kot", "3", "Ala", "I", '"Ala', "NATO", "PKP-u", "McDonald"]]
    ['LOWER', 'LOWER', 'TITLE', 'TITLE', 'TITLE', 'UPPER', 'MIXED', 'MIXED']
    """
    if word == word.lower():
        return "LOWER"
    letters = [letter for letter in word if letter.lower() != letter.upper()]
    raised = [letter != letter.lower() for letter in letters]
    if raised[0] and not any(raised[1:]):
        return "TITLE"
    return "UPPER" if all(raised) else "MIXED"


def count_case(aligned: Sequence[AlignedDocument]) -> NDArray[np.int64]:
    """D documents -> (D, 2, 4, 3) int64 over `POSITIONS`, `CLASSES` and (TP, FP, FN).

    A word that is exactly right is a true positive of its class; any other is a false negative of the reference's
    class and a false positive of the output's (the same class, where `MIXED` words differ).
    """
    values = np.zeros((len(aligned), len(POSITIONS), len(CLASSES), 3), np.int64)
    known = {name: place for place, name in enumerate(CLASSES)}
    cache: dict[str, int] = {}

    def place_of(word: str) -> int:
        place = cache.get(word)
        if place is None:
            place = cache[word] = known[case_class(word)]
        return place

    for document, counts in zip(aligned, values, strict=True):
        words, labels = document.reference.words, document.reference.labels
        columns = document.columns
        for i, j in zip(
            columns.reference[columns.equal].tolist(), columns.hypothesis[columns.equal].tolist(), strict=True
        ):
            expected, found = words[i], document.hypothesis.words[j]
            position = int(i == 0 or labels[i - 1] in SENTENCE_END)
            if expected == found:
                counts[position, place_of(expected), table.TRUE_POSITIVE] += 1
            else:
                counts[position, place_of(expected), table.FALSE_NEGATIVE] += 1
                counts[position, place_of(found), table.FALSE_POSITIVE] += 1
    return values


def capitalised(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts of "carries an upper-case letter and is exactly right": (..., 4, 3) -> (..., 3)."""
    result: NDArray[np.int64] = counts[..., 1:, :].sum(axis=-2)
    return result


def accuracy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Words with the right case in percent: (..., 4, 3) -> (...); `nan` without words."""
    right = counts[..., table.TRUE_POSITIVE].sum(axis=-1)
    return table.percentage(right, right + counts[..., table.FALSE_NEGATIVE].sum(axis=-1))
