"""Counts of true positives, false positives and false negatives, and the scores that follow from them.

Shapes: D documents, L labels. The last axis of every table holds (true positives, false positives, false
negatives). Every function works over any leading axes, so that 10,000 resamples are scored in one call.
Scores are percentages; 0/0 is `nan`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Places of the last axis of a table of counts.
TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE = 0, 1, 2


def percentage(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """100 · part / whole, element by element; `nan` where the whole is 0.

    >>> percentage([1, 0], [4, 0])
    array([25., nan])
    """
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    result = np.full(part.shape, np.nan)
    np.divide(100 * part, whole, out=result, where=whole != 0)
    return result


def precision(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """TP / (TP + FP) in percent, counts (..., 3) -> (...); `nan` where nothing was put out."""
    return percentage(counts[..., 0], counts[..., 0] + counts[..., 1])


def recall(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """TP / (TP + FN) in percent, counts (..., 3) -> (...); `nan` where the reference has none."""
    return percentage(counts[..., 0], counts[..., 0] + counts[..., 2])


def f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """2 TP / (2 TP + FP + FN) in percent, counts (..., 3) -> (...).

    It is the harmonic mean of precision and recall, and is defined (as 0) where only one of them is not; `nan`
    where both reference and output have none.
    """
    return percentage(2 * counts[..., 0], 2 * counts[..., 0] + counts[..., 1] + counts[..., 2])


def support(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number in the reference, counts (..., 3) -> (...)."""
    result: NDArray[np.int64] = counts[..., 0] + counts[..., 2]
    return result


def micro_f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 of the sum over the labels, counts (..., L, 3) -> (...)."""
    return f1(counts.sum(axis=-2))


def weighted_f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Σ support · F1 / Σ support over the labels, counts (..., L, 3) -> (...); `nan` without support."""
    weights = support(counts)
    # A label without support has weight 0, whatever its F1 (nan at worst) is.
    terms = np.where(weights > 0, weights * np.where(weights > 0, f1(counts), 0.0), 0.0)
    return percentage(terms.sum(axis=-1) / 100, weights.sum(axis=-1))


@dataclass(frozen=True, slots=True)
class LabelScore:
    """The counts of one label, or of several summed, with their scores in percent (`nan` for 0/0)."""

    label: str
    true_positives: int
    false_positives: int
    false_negatives: int

    @classmethod
    def of(cls, label: str, counts: NDArray[np.int64]) -> LabelScore:
        """From counts (3,)."""
        tp, fp, fn = (int(count) for count in counts)
        return cls(label, tp, fp, fn)

    @property
    def counts(self) -> NDArray[np.int64]:
        """(3,) int64."""
        return np.array([self.true_positives, self.false_positives, self.false_negatives], np.int64)

    @property
    def precision(self) -> float:
        """In percent."""
        return float(precision(self.counts))

    @property
    def recall(self) -> float:
        """In percent."""
        return float(recall(self.counts))

    @property
    def f1(self) -> float:
        """In percent."""
        return float(f1(self.counts))

    @property
    def support(self) -> int:
        """How often the label stands in the reference."""
        return self.true_positives + self.false_negatives

    @property
    def output(self) -> int:
        """How often the label was put out."""
        return self.true_positives + self.false_positives
