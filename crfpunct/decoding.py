"""Decoding of linear chains: arrays in, arrays out; documents are batched by length.

Notation: T tokens in all documents together, laid end to end; D documents; L labels. The score of a path y is
sum_t emission[t, y_t] + sum_t transition[y_{t-1}, y_t]; there are no start or end weights (as in CRFsuite).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def _by_step(lengths: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The documents longest first, the index of their first tokens, and how many are at least t + 1 tokens long."""
    order = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[order]
    longest = int(lengths.max(initial=0))
    active = np.searchsorted(-lengths[order], -np.arange(1, longest + 1), side="right")
    return order, starts, active


def viterbi(emission: FloatArray, transition: FloatArray, lengths: IntArray) -> IntArray:
    """The best label of every token.

    emission (T, L), transition (L, L) from row to column, lengths (D,) with sum T. Returns labels (T,). Of several best
    paths, the one whose last label is lowest, then the one before it, and so on (CRFsuite's rule). Empty
    documents are fine. Source: Rabiner (1989), eqs. 32–35, in the log domain.
    """
    tokens, labels = emission.shape
    best = np.zeros(tokens, dtype=np.int64)
    if tokens == 0:
        return best
    _, starts, active = _by_step(lengths)
    # delta[t]: best score of a path that ends in each label at step t, (documents still active, L).
    deltas = [emission[starts[: active[0]]]]
    for t in range(1, len(active)):
        previous = deltas[-1][: active[t]]
        score = previous[:, 0, None] + transition[0]
        for i in range(1, labels):
            np.maximum(score, previous[:, i, None] + transition[i], out=score)
        score += emission[starts[: active[t]] + t]
        deltas.append(score)
    # Going back, only the column of the label already chosen needs an arg-max.
    incoming = np.ascontiguousarray(transition.T)
    chosen = np.zeros(0, dtype=np.int64)
    for t in range(len(active) - 1, -1, -1):
        continuing = len(chosen)
        delta = deltas[t]
        label = np.empty(active[t], dtype=np.int64)
        label[:continuing] = (delta[:continuing] + incoming[chosen]).argmax(axis=1)
        label[continuing:] = delta[continuing:].argmax(axis=1)
        best[starts[: active[t]] + t] = label
        chosen = label
    return best


def marginals(emission: FloatArray, transition: FloatArray, lengths: IntArray) -> FloatArray:
    """The probability of every label at every token, (T, L); rows sum to 1.

    Arguments as for `viterbi`. Source: Rabiner (1989), eqs. 19–27, scaled at every step so that nothing overflows.
    """
    tokens, labels = emission.shape
    result = np.zeros((tokens, labels))
    if tokens == 0:
        return result
    _, starts, active = _by_step(lengths)
    # A constant taken off a row, or off all transitions, changes no probability and keeps exp() in range.
    potential = np.exp(emission - emission.max(axis=1, keepdims=True))
    step = np.exp(transition - transition.max())
    forward = [_normalised(potential[starts[: active[0]]])]
    for t in range(1, len(active)):
        forward.append(_normalised((forward[-1][: active[t]] @ step) * potential[starts[: active[t]] + t]))
    backward = np.full((0, labels), 1.0)
    for t in range(len(active) - 1, -1, -1):
        here = np.full((active[t], labels), 1.0)
        if len(backward):
            continuing = len(backward)
            here[:continuing] = _normalised((backward * potential[starts[:continuing] + t + 1]) @ step.T)
        result[starts[: active[t]] + t] = _normalised(forward[t] * here)
        backward = here
    return result


def _normalised(rows: FloatArray) -> FloatArray:
    normalised: FloatArray = rows / rows.sum(axis=1, keepdims=True)
    return normalised
