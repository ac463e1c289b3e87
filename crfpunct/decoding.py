"""Decoding of linear chains: arrays in, arrays out; documents are batched by length.

Notation: T tokens; D documents; L labels. The score of a path y is
sum_t emission[t, y_t] + sum_t transition[y_{t-1}, y_t]; there are no start or end weights (as in CRFsuite).
Documents lie end to end in `emission`, or anywhere in it if `starts` says where.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]  # of 64 bits, or of 32 where sums are exact in them
IntArray = NDArray[np.int64]

#: Documents longer than this are cut into chunks of it for `marginals` (exactly: the chunks are chained).
CHUNK_TOKENS = 512


def viterbi(
    emission: FloatArray, transition: FloatArray, lengths: IntArray, starts: IntArray | None = None
) -> IntArray:
    """The best label of every token.

    emission (T, L), transition (L, L) from row to column, lengths (D,); starts (D,), the row of each document's first
    token (by default documents follow each other). Returns labels (T,), 0 in rows of no document. Of several best
    paths, the one whose last label is lowest, then the one before it, and so on (CRFsuite's rule).
    Source: Rabiner (1989), eqs. 32–35, in the log domain.

    Fast because most tokens need no search: where label 0 beats every other label by more than the transitions on
    both sides could ever make up for, every best path has label 0 (`dominance`). Those tokens cut the documents
    into short runs, which are decoded together, so that one long document costs no more than many short ones.
    """
    if starts is None:
        starts = np.cumsum(lengths) - lengths
    inside = np.zeros(len(emission) + 1, dtype=np.int8)
    np.add.at(inside, starts, 1)
    np.subtract.at(inside, starts + lengths, 1)
    open_places = np.flatnonzero(undecided(emission, dominance(transition)) & (np.cumsum(inside[:-1]) > 0))
    return viterbi_at(open_places, emission.take(open_places, axis=0), transition, len(emission), starts, lengths)


def undecided(emission: FloatArray, margin: FloatArray) -> NDArray[np.bool_]:
    """Where label 0 does not beat every rival by more than its margin (L - 1,) of `dominance`: (T,)."""
    return contested(emission[:, 1:] - emission[:, :1], margin)


def contested(leads: NDArray[np.floating[Any]], margin: FloatArray) -> NDArray[np.bool_]:
    """The same where only scores less that of label 0 are at hand: leads (T, L - 1) of the rivals."""
    # Numpy reduces short rows at the cost of a call for each, so eight truth values are looked at as one number.
    width = leads.shape[1]
    ahead = np.zeros((len(leads), -(-width // 8) * 8), dtype=bool)
    np.greater_equal(leads, -margin, out=ahead[:, :width])
    result = np.zeros(len(leads), dtype=bool)
    for eight in ahead.view(np.uint64).T:
        result |= eight != 0
    return result


def viterbi_at(
    places: IntArray, scores: Scores, transition: Scores, size: int, starts: IntArray, lengths: IntArray
) -> IntArray:
    """Labels (size,) by `viterbi` where only some places, ascending, can have another label than 0.

    scores (len(places), L): the emissions at the places; changed by this function. In 32 bits, all are worked out in
    them, which is exact for a chain on a grid (`chain.LinearChain.on_grid`). starts, lengths (D,): the documents.
    """
    transition = transition.astype(scores.dtype, copy=False)
    best = np.zeros(size, dtype=np.int64)
    if len(places) == 0:
        return best
    some = lengths > 0
    first, last = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    first[starts[some]] = True
    last[starts[some] + lengths[some] - 1] = True
    first, last = first.take(places), last.take(places)
    # Runs of neighbouring places of one document. A run borders on tokens of label 0, or on the document's edge, where
    # there is no transition.
    begin = np.ones(len(places) + 1, dtype=bool)
    begin[1:-1] = (places[1:] - places[:-1] != 1) | first[1:]
    begins = begin.nonzero()[0]
    begins, ends = begins[:-1], begins[1:] - 1
    scores[begins[~first.take(begins)]] += transition[0]
    scores[ends[~last.take(ends)]] += transition[:, 0]
    best[places] = _viterbi_runs(scores, transition, ends - begins + 1, begins)
    return best


def dominance(transition: FloatArray) -> FloatArray:
    """By how much a token's score of label 0 must exceed that of each rival so that no best path takes the rival.

    transition (L, L) -> (L - 1,). Putting 0 for rival b between neighbours p and n changes the transitions by
    (t[p, 0] - t[p, b]) + (t[0, n] - t[b, n]); the margin is the worst case of each part over all p and n, where a
    missing neighbour changes nothing.
    """
    into = (transition[:, 1:] - transition[:, :1]).max(axis=0, initial=0.0)
    out_of = (transition[1:] - transition[:1]).max(axis=1, initial=0.0)
    margin: FloatArray = into + out_of
    return margin


def _viterbi_runs(emission: Scores, transition: Scores, lengths: IntArray, starts: IntArray) -> IntArray:
    """Viterbi over many runs, however long; labels (T,). emission (T, L) is changed.

    A long run is cut where what comes before and what comes behind no longer depend on each other: where the best score
    of a stretch, for every label in front of it and every label at its end, is a sum of one number for each. The part
    in front of the stretch and the part behind it are then decoded side by side, and the stretch between them.
    """
    if lengths.max(initial=0) <= 2 * PIECE_TOKENS:
        return _viterbi_steps(emission, transition, lengths, starts)
    ends = starts + lengths
    borders = [
        np.arange(starts[run] + PIECE_TOKENS, ends[run] - PIECE_TOKENS, PIECE_TOKENS)
        for run in np.flatnonzero(lengths > 2 * PIECE_TOKENS)
    ]
    first = np.concatenate(borders)
    kept, before, behind = _forgetting(emission, transition, first)
    first = first[kept]  # of each stretch the first token, and the one behind its last
    behind_last = first + STRETCH_TOKENS
    emission[first - 1] += before
    emission[behind_last] += (behind[:, :, None] + transition).max(axis=1)
    begins, ends = np.sort(np.concatenate([starts, behind_last])), np.sort(np.concatenate([ends, first]))
    best = _viterbi_steps(emission, transition, ends - begins, begins)
    emission[first] += transition[best[first - 1]]
    emission[behind_last - 1] += transition.T[best[behind_last]]
    between = _viterbi_steps(emission, transition, np.full(len(first), STRETCH_TOKENS), first)
    inside = first[:, None] + np.arange(STRETCH_TOKENS)
    best[inside] = between[inside]
    return best


#: Runs of more than twice so many tokens are cut into pieces of about so many.
PIECE_TOKENS = 1024
#: How many tokens are looked at to see whether what comes before them is forgotten at their end.
STRETCH_TOKENS = 64
_ROUNDING = 1e-9


def _forgetting(emission: Scores, transition: Scores, places: IntArray) -> tuple[IntArray, Scores, Scores]:
    """The stretches, each from a place on, at whose end the label in front of them no longer matters.

    Returns which of the places they begin at (C,), and two tables (C, L) that add up to the best score of the stretch
    from every label in front of it to every label at its end.
    """
    best = transition + emission[places][:, None, :]
    for t in range(1, STRETCH_TOKENS):
        best = (best[:, :, :, None] + transition).max(axis=2)
        best += emission[places + t][:, None, :]
        best -= best.max(axis=(1, 2), keepdims=True)
    before = best[:, :, 0] - best[:, :1, 0]
    behind = best[:, 0, :]
    rest = np.abs(best - before[:, :, None] - behind[:, None, :]).max(axis=(1, 2))
    cut = np.flatnonzero(rest <= _ROUNDING)
    return cut, before[cut], behind[cut]


def _viterbi_steps(emission: Scores, transition: Scores, lengths: IntArray, starts: IntArray) -> IntArray:
    """Viterbi over many runs at once, the longest first, one step of all runs at a time; labels (T,)."""
    best = np.zeros(len(emission), dtype=np.int64)
    if len(lengths) == 0:
        return best
    if len(lengths) <= _FEW_RUNS:
        for start, end in zip(starts.tolist(), (starts + lengths).tolist(), strict=True):
            best[start:end] = _viterbi_run(emission[start:end], transition)
        return best
    starts, active = _by_step(lengths, starts)
    into = np.ascontiguousarray(transition.T)
    # deltas[t]: best score of a path that ends in each label at step t, (runs still active, L). Forward, the runs are
    # the last axis, so that numpy's inner loops are long.
    # `take`, because numpy's own indexing by an array is ten times as slow for rows.
    deltas = [emission.take(starts[: active[0]], axis=0)]
    previous = deltas[0].T
    for t in range(1, len(active)):
        score = (transition[:, :, None] + previous[:, None, : active[t]]).max(axis=0)
        if score.dtype == np.float32:
            score -= score[0]  # numbers stay small, and so exact; what is taken off a token's scores changes no path
        score += emission.take(starts[: active[t]] + t, axis=0).T
        deltas.append(np.ascontiguousarray(score.T))
        previous = score
    # Going back, only the column of the label already chosen needs an arg-max.
    chosen = np.zeros(0, dtype=np.int64)
    for t in range(len(active) - 1, -1, -1):
        continuing = len(chosen)
        delta = deltas[t]
        delta[:continuing] += into.take(chosen, axis=0)
        chosen = delta.argmax(axis=1)
        best[starts[: active[t]] + t] = chosen
    return best


#: So many runs take less time one after the other, as those of a short text: a call of numpy's does little for each.
_FEW_RUNS = 3


def _viterbi_run(emission: Scores, transition: Scores) -> list[int]:
    """Viterbi over one run, of one token at least; labels (T,)."""
    # In 64 bits, so that sums over a whole path are exact if those of 32 are over a step.
    deltas, transition = emission.astype(np.float64), transition.astype(np.float64)
    for previous, delta in pairwise(deltas):
        delta += np.maximum.reduce(transition + previous[:, None])
    before = (deltas[:-1, :, None] + transition).argmax(axis=1).tolist()
    path = [int(deltas[-1].argmax())]
    for best_before in reversed(before):
        path.append(best_before[path[-1]])
    return path[::-1]


def _by_step(lengths: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """The starts, longest run first, and for each step t how many runs are longer than t."""
    order = np.argsort(-lengths, kind="stable")
    active = len(lengths) - np.cumsum(np.bincount(lengths))[:-1]
    return starts[order], active


def marginals(
    emission: FloatArray, transition: FloatArray, lengths: IntArray, starts: IntArray | None = None
) -> FloatArray:
    """The probability of every label at every token, (T, L); rows sum to 1, rows of no document are 0.

    Arguments as for `viterbi`. Source: Rabiner (1989), eqs. 19–27, scaled at every step so that nothing overflows.

    A long document is cut into chunks. What a chunk does to the message that enters it is a matrix, so all chunks'
    matrices are computed side by side, the messages at the borders follow one from the other, and then all chunks
    are run side by side.
    """
    tokens, labels = emission.shape
    result = np.zeros((tokens, labels))
    if starts is None:
        starts = np.cumsum(lengths) - lengths
    starts, lengths, chained = _chunks(starts, lengths)
    if len(lengths) == 0:
        return result
    # A constant taken off a row, or off all transitions, changes no probability and keeps exp() in range. With no
    # factor below e^-300, no row of products of two of them vanishes; scores that differ by more, which no
    # regularised model has, are worked out in extended precision.
    emission = emission - emission.max(axis=1, keepdims=True)
    transition = transition - transition.max()
    if min(emission.min(), transition.min()) < _FLOOR:
        emission, transition, floor = emission.astype(np.longdouble), transition.astype(np.longdouble), _EXTENDED_FLOOR
    else:
        floor = _FLOOR
    potential = np.exp(np.maximum(emission, floor))
    step = np.exp(np.maximum(transition, floor))
    entering, leaving = _border_messages(potential, step, starts, lengths, chained)
    order = np.argsort(-lengths, kind="stable")
    starts, active = _by_step(lengths, starts)
    entering, leaving, lengths = entering[order], leaving[order], lengths[order]
    forward = [_normalised(entering * potential[starts])]
    for t in range(1, len(active)):
        forward.append(_normalised((forward[-1][: active[t]] @ step) * potential[starts[: active[t]] + t]))
    backward = leaving[:0]
    for t in range(len(active) - 1, -1, -1):
        continuing = len(backward)
        here = leaving[: active[t]].copy()
        here[:continuing] = _normalised((backward * potential[starts[:continuing] + t + 1]) @ step.T)
        result[starts[: active[t]] + t] = _normalised(forward[t] * here)
        backward = here
    return result


_FLOOR = -300.0
_EXTENDED_FLOOR = -5500.0


def _chunks(starts: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Documents cut into chunks of at most CHUNK_TOKENS: starts, lengths, and whether a chunk goes on from the last."""
    pieces = -(-lengths // CHUNK_TOKENS)
    owner = np.repeat(np.arange(len(lengths)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    chunk_starts = starts[owner] + number * CHUNK_TOKENS
    chunk_lengths = np.minimum(lengths[owner] - number * CHUNK_TOKENS, CHUNK_TOKENS)
    return chunk_starts, chunk_lengths, number > 0


def _border_messages(
    potential: FloatArray, step: FloatArray, starts: IntArray, lengths: IntArray, chained: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """The forward message that enters each chunk and the backward message behind its last token, (chunks, L) each."""
    labels = len(step)
    entering = np.ones((len(starts), labels), dtype=step.dtype)
    leaving = np.ones((len(starts), labels), dtype=step.dtype)
    linked = np.flatnonzero(chained)
    if len(linked) == 0:
        return entering, leaving
    # transfer[c, i, j]: weight of all paths that enter chunk c by label i, transition included, and end in j.
    cut = np.flatnonzero(chained | np.r_[chained[1:], False])
    order, active = cut[np.argsort(-lengths[cut], kind="stable")], _by_step(lengths[cut], starts[cut])[1]
    transfer = step * potential[starts[order]][:, None, :]
    for t in range(1, len(active)):
        going = transfer[: active[t]]
        going = (going @ step) * potential[starts[order[: active[t]]] + t][:, None, :]
        transfer[: active[t]] = going / going.max(axis=(1, 2), keepdims=True)
    matrix = dict(zip(order.tolist(), transfer, strict=True))
    message = np.zeros(labels)
    for c in cut.tolist():  # forward: each chunk hands its message on to the next
        if chained[c]:
            entering[c] = message @ step
            message = _normalised((message @ matrix[c])[None])[0]
        else:
            # The document's first chunk: any label may come first, without a transition.
            message = _first_message(potential, step, starts[c], lengths[c])
    message = np.ones(labels)
    for c in cut[::-1].tolist():
        leaving[c] = message
        message = _normalised((matrix[c] @ message)[None])[0] if chained[c] else np.ones(labels)
    return entering, leaving


def _first_message(potential: FloatArray, step: FloatArray, start: int, length: int) -> FloatArray:
    message = _normalised(potential[start : start + 1])
    for t in range(start + 1, start + length):
        message = _normalised((message @ step) * potential[t])
    first: FloatArray = message[0]
    return first


def _normalised(rows: FloatArray) -> FloatArray:
    normalised: FloatArray = rows / rows.sum(axis=1, keepdims=True)
    return normalised
