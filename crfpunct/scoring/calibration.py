"""Are probabilities honest? Reliability counts and the expected calibration error.

Shapes: T tokens, L labels, B bins of equal width over [0, 1]. The last axis of every table holds (tokens, sum of their
probabilities, tokens where the label was right). Tables of several folds or texts are added; scores come last.

Sources: Naeini, Cooper, Hauskrecht (2015) for the error, Kull et al. (2019) for its form by class, Guo, Pleiss, Sun,
Weinberger (2017) for the temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding
from crfpunct.scoring.counts import percentage

#: Bins that a reliability diagram has by default.
BINS = 10

#: Temperatures that are tried.
TEMPERATURES = (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.5, 1.6, 1.8, 2.0)

_LEAST = 1e-12  # a probability below this counts as this


def counts(
    probabilities: NDArray[np.float64],
    reference: NDArray[np.int64],
    placed: NDArray[np.int64] | None = None,
    bins: int = BINS,
) -> NDArray[np.float64]:
    """Reliability counts of every label, (L, B, 3).

    probabilities (T, L) in [0, 1]; reference (T,), the right label of each token. A token counts for every label, into
    the bin of that label's probability; with `placed` (T,), the labels that were decided for, only for that one, so
    that the table asks how often a label is right where it was placed.

    >>> counts(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 0]), bins=2)[1].tolist()
    [[1.0, 0.1, 0.0], [1.0, 0.8, 0.0]]
    """
    tokens, labels = probabilities.shape
    bin_of = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    right = reference[:, None] == np.arange(labels)
    chosen = np.ones((tokens, labels), dtype=bool) if placed is None else placed[:, None] == np.arange(labels)
    cell = (bin_of + np.arange(labels) * bins)[chosen]
    size = labels * bins
    columns = [np.bincount(cell, values[chosen], minlength=size) for values in (chosen, probabilities, right)]
    return np.stack(columns, axis=-1).astype(np.float64).reshape(labels, bins, 3)


def log_likelihoods(
    emission: NDArray[np.float64],
    transition: NDArray[np.float64],
    lengths: NDArray[np.int64],
    reference: NDArray[np.int64],
    temperatures: Sequence[float] = TEMPERATURES,
    by_label: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda shares: shares,
) -> NDArray[np.float64]:
    """How well each temperature suits a text: the sum over tokens of the right label's log-probability.

    emission (T, L), transition (L, L), lengths (D,) as for `decoding.marginals`; reference (T,), -1 where the right
    label is none of the model's, which says nothing. by_label: makes probabilities of labels of those of a chain's
    states (`LinearChain.by_label`). Returns one number a temperature. Those of several folds are
    added; the temperature with the largest is the best (Guo et al. 2017, with the CRF's marginals for the softmax).
    """
    known = np.flatnonzero(reference >= 0)
    sums = []
    for temperature in temperatures:
        shares = by_label(decoding.marginals(emission / temperature, transition / temperature, lengths))
        sums.append(np.log(np.maximum(shares[known, reference[known]], _LEAST)).sum())
    return np.array(sums)


def confidence(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean probability, in percent: (..., 3) -> (...); `nan` where no token is."""
    return percentage(table[..., 1], table[..., 0])


def accuracy(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often the label was right, in percent: (..., 3) -> (...); `nan` where no token is."""
    return percentage(table[..., 2], table[..., 0])


def expected_calibration_error(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distance between probability and how often it comes true, averaged over tokens, in percentage points.

    (..., B, 3) -> (...): Σ over bins of |Σ p - right| / tokens; `nan` where no token is.
    """
    return percentage(np.abs(table[..., 1] - table[..., 2]).sum(axis=-1), table[..., 0].sum(axis=-1))
