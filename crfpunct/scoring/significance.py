"""Are two systems different? Approximate randomisation and the paired bootstrap over counts of documents.

Both work on one table, counts of S systems on D documents (each row K integers, or any shape of them), and on a
function that turns summed counts into a score; the texts are not read again. A chunk of trials is one matrix
product: (trials × documents) selector times (documents × counts).

Shapes: S systems, D documents, B trials; `score` maps counts (..., *shape) to (...).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Score = Callable[[NDArray[np.int64]], NDArray[np.float64]]

#: Two differences that are equal on paper differ by rounding: scores are percentages, counts are integers.
TOLERANCE = 1e-9

#: Elements of one chunk of a selector: 16 MB of float64.
_CHUNK = 1 << 21


def _chunks(trials: int, documents: int) -> Iterator[int]:
    size = max(1, _CHUNK // max(1, documents))
    for start in range(0, trials, size):
        yield min(size, trials - start)


class _Summer:
    """Sums of counts (D, *shape) over chosen documents, as products with a selector (B, D).

    Exact: float32 holds integers up to 2^24, and float64, where sums could be greater, up to 2^53. Columns that are 0
    everywhere are left out of the product.
    """

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.shape = counts.shape[1:]
        flat = counts.reshape(len(counts), -1)
        self.used: NDArray[np.bool_] = np.asarray(flat.any(axis=0))
        most = len(flat) * int(flat.max(initial=0))
        self.flat = np.ascontiguousarray(flat[:, self.used], np.float32 if most < 1 << 24 else np.float64)

    def __call__(self, selector: NDArray[np.integer | np.bool_]) -> NDArray[np.int64]:
        """(B, D) -> (B, *shape)."""
        summed = np.zeros((len(selector), len(self.used)), np.int64)
        summed[:, self.used] = np.rint(selector.astype(self.flat.dtype) @ self.flat)
        return summed.reshape(len(selector), *self.shape)


def observed(counts: NDArray[np.int64], score: Score) -> NDArray[np.float64]:
    """The score of each system over all documents: (S, D, *shape) -> (S,)."""
    return score(counts.sum(axis=1))


def approximate_randomisation(
    counts: NDArray[np.int64], score: Score, trials: int = 10_000, seed: int = 0
) -> NDArray[np.float64]:
    """Two-sided p-values of every pair of systems: (S, D, *shape) -> (S, S), 1 on the diagonal, symmetric.

    In each trial the counts of each document are swapped between the two systems with probability 1/2;
    p = (c + 1) / (trials + 1), where c is the number of trials in which the scores differ by at least as much as
    observed (Riezler & Maxwell 2005, "On some pitfalls in automatic evaluation and significance testing for MT").
    All pairs see the same swaps, so a pair's p-value does not depend on the other systems; nor does any on the sizes
    of the chunks. `nan` with fewer than two documents (a swap of all changes nothing) or an undefined score.
    """
    systems, documents = counts.shape[:2]
    totals = counts.sum(axis=1)
    scores = score(totals)
    extreme = np.zeros((systems, systems), np.int64)
    undefined = np.zeros((systems, systems), np.bool_)
    pairs = [(a, b) for a in range(systems) for b in range(a + 1, systems)]
    random = np.random.default_rng(seed)
    sums = _Summer(np.moveaxis(counts, 0, 1))
    if documents > 1:
        for size in _chunks(trials, documents):
            parts = sums(
                random.random((size, documents)) < 0.5
            )  # (B, S, *shape): what each system has in the swapped documents
            for a, b in pairs:
                moved = parts[:, b] - parts[:, a]
                difference = np.abs(score(totals[a] + moved) - score(totals[b] - moved))
                extreme[a, b] += int((difference >= abs(scores[a] - scores[b]) - TOLERANCE).sum())
                undefined[a, b] |= bool(np.isnan(difference).all())
    p = np.ones((systems, systems))
    for a, b in pairs:
        known = documents > 1 and not undefined[a, b] and not np.isnan(scores[a] - scores[b])
        p[a, b] = p[b, a] = (extreme[a, b] + 1) / (trials + 1) if known else np.nan
    return p


@dataclass(frozen=True, slots=True)
class Intervals:
    """Percentile intervals of the paired bootstrap, in the score's unit; `nan` where they are undefined.

    scores: (S, 2), low and high of each system. differences: (S, S, 2), of the score of the row's system less that
    of the column's.
    """

    scores: NDArray[np.float64]
    differences: NDArray[np.float64]


def resampled(counts: NDArray[np.int64], trials: int = 10_000, seed: int = 0) -> NDArray[np.int64]:
    """Sums over resampled documents: counts (D, *shape) -> (B, *shape).

    Each resample draws D documents with replacement (Efron 1979). The draws depend on D, `trials` and `seed` only,
    so two tables of the same documents are resampled alike: the bootstrap is paired (Koehn 2004).
    """
    documents = len(counts)
    random = np.random.default_rng(seed)
    sums = _Summer(counts)
    parts = []
    for size in _chunks(trials, documents):
        drawn = np.minimum((random.random((size, documents)) * documents).astype(np.int64), documents - 1)
        cells = drawn + documents * np.arange(size)[:, None]
        times = np.bincount(cells.ravel(), minlength=size * documents).reshape(size, documents)
        parts.append(sums(times))
    return np.concatenate(parts)


def bootstrap_scores(
    counts: NDArray[np.int64], score: Score, trials: int = 10_000, seed: int = 0
) -> NDArray[np.float64]:
    """Scores of every system on the same resampled documents: (S, D, *shape) -> (S, B)."""
    return score(resampled(np.moveaxis(counts, 0, 1), trials, seed)).T


def intervals(resampled: NDArray[np.float64], documents: int, confidence: float = 95.0) -> Intervals:
    """Percentile intervals of the scores and of all differences from resampled scores (S, B).

    Resamples without a score (0/0) are left out. All `nan` with fewer than two documents.
    """
    systems = len(resampled)
    scores = np.full((systems, 2), np.nan)
    differences = np.full((systems, systems, 2), np.nan)
    if documents > 1:
        for a in range(systems):
            scores[a] = percentile_interval(resampled[a], confidence)
            for b in range(systems):
                differences[a, b] = percentile_interval(resampled[a] - resampled[b], confidence)
    return Intervals(scores, differences)


def percentile_interval(values: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """Low and high end of the middle `confidence` percent of values (B,) -> (2,), `nan` left out."""
    known = values[~np.isnan(values)]
    if not len(known):
        return np.full(2, np.nan)
    tail = (100 - confidence) / 2
    result: NDArray[np.float64] = np.percentile(known, [tail, 100 - tail])
    return result


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's (1979) step-down correction of the m p-values above the diagonal: (S, S) -> (S, S), symmetric.

    The i-th smallest of m is multiplied by m - i + 1, and none becomes smaller than one before it, nor greater
    than 1. `nan` stays, and is not counted in m.
    """
    result = p.copy()
    rows, columns = np.triu_indices(len(p), 1)
    known = ~np.isnan(p[rows, columns])
    rows, columns = rows[known], columns[known]
    order = np.argsort(p[rows, columns], kind="stable")
    sizes = len(order) - np.arange(len(order))
    adjusted = np.minimum(1.0, np.maximum.accumulate(p[rows, columns][order] * sizes))
    result[rows[order], columns[order]] = adjusted
    result[columns[order], rows[order]] = adjusted
    return result
