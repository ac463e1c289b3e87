"""Scores of upper and lower case, over the words that both sides have (whatever their case).

A word "with a capital" is right where it is exactly the reference's: the measure of the Wikipedia truecasing
benchmark (Susanto et al. 2016). Words that open a sentence are counted apart, since they follow from the full stops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crfpunct.casing import CLASSES as CLASSES
from crfpunct.casing import case_class
from crfpunct.scoring import counts as table
from crfpunct.scoring.alignment import AlignedDocument

#: Words inside a sentence, words that open one: the second axis of the counts.
POSITIONS: tuple[str, ...] = ("inside", "initial")

#: Marks of the reference after which a sentence opens.
SENTENCE_END = frozenset({".", "?", "!", "..."})


#: A word of the reference, the same word of the output, and whether a sentence opens with it.
Item = tuple[str, str, bool]


def count_case(aligned: Sequence[AlignedDocument]) -> NDArray[np.int64]:
    """D documents -> (D, 2, 4, 3) int64 over `POSITIONS`, `CLASSES` and (TP, FP, FN).

    A word that is exactly right is a true positive of its class; any other is a false negative of the reference's
    class and a false positive of the output's (the same class, where `MIXED` words differ).
    """
    return np.array([_count(_shared_words(document)) for document in aligned], np.int64).reshape(-1, *_SHAPE)


def count_same_words(texts: Iterable[tuple[Sequence[str], Sequence[str], Sequence[str]]]) -> NDArray[np.int64]:
    """Counts of all texts, (2, 4, 3) as above, where both sides have the same words: no alignment is needed.

    texts: words of the reference, the same words as they were put out, and the mark behind each of them.
    """
    return _count(
        (expected, found, opens)
        for reference, hypothesis, labels in texts
        for expected, found, opens in zip(reference, hypothesis, _openings(labels), strict=True)
    )


_SHAPE = (len(POSITIONS), len(CLASSES), 3)
_class_place = lru_cache(maxsize=1 << 16)(lambda word: CLASSES.index(case_class(word)))


def _openings(labels: Sequence[str]) -> list[bool]:
    """Whether a sentence opens with each word: the first, and those behind a mark that ends one."""
    return [place == 0 or labels[place - 1] in SENTENCE_END for place in range(len(labels))]


def _shared_words(document: AlignedDocument) -> Iterator[Item]:
    columns, opens = document.columns, _openings(document.reference.labels)
    reference, hypothesis = (places[columns.equal].tolist() for places in (columns.reference, columns.hypothesis))
    for i, j in zip(reference, hypothesis, strict=True):
        yield document.reference.words[i], document.hypothesis.words[j], opens[i]


def _count(items: Iterable[Item]) -> NDArray[np.int64]:
    counts = np.zeros(_SHAPE, np.int64)
    for (expected, found, opens), number in Counter(items).items():
        if expected == found:
            counts[int(opens), _class_place(expected), table.TRUE_POSITIVE] += number
        else:
            counts[int(opens), _class_place(expected), table.FALSE_NEGATIVE] += number
            counts[int(opens), _class_place(found), table.FALSE_POSITIVE] += number
    return counts


def capitalised(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts of "carries an upper-case letter and is exactly right": (..., 4, 3) -> (..., 3)."""
    result: NDArray[np.int64] = counts[..., 1:, :].sum(axis=-2)
    return result


def accuracy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Words with the right case in percent: (..., 4, 3) -> (...); `nan` without words."""
    right = counts[..., table.TRUE_POSITIVE].sum(axis=-1)
    return table.percentage(right, right + counts[..., table.FALSE_NEGATIVE].sum(axis=-1))
