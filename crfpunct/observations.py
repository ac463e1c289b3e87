"""Observations: what a template can look at, as arrays of small integers.

A word observation depends on one word alone (its last three letters, its shape), so it is computed once per word
type. A pause observation depends on the word times of the whole document (the gap behind a word in log-like bins, its
rank among the document's gaps), so it is computed per token, for all documents of a batch at once.

Values are numbered per observation. 0 is a value never seen in training and takes part in no attribute; EDGE
stands for a place outside the document.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crfpunct.marks import split_mark

UNSEEN = 0
EDGE = 1
FIRST_VALUE = 2

IntArray = NDArray[np.int64]


# ---------------------------------------------------------------- words


def normal(word: str) -> str:
    """The form under which a word is looked up: composed, lower case, without marks that it already carries.

    >>> normal("Kota."), normal("..."), normal("3.5")
    ('kota', '...', '3.5')
    """
    if not (word.isascii() and word.isalnum()):
        word = unicodedata.normalize("NFC", word)
        word = split_mark(word)[0] or word
    return word.lower()


def shape(word: str) -> str:
    """Letters as `a`, digits as `0`, all else as it is; runs of more than two letters or four digits are cut.

    >>> shape("kota"), shape("1998"), shape("10:30"), shape("d'arc"), shape("85000")
    ('aaa', '0000', '00:00', "a'aaa", '00000+')
    """
    drawn = re.sub(r"\d", "0", "".join("a" if c.isalpha() else c for c in word))
    drawn = re.sub(r"a{4,}", "aaa", drawn)
    drawn = re.sub(r"0{5,}", "00000+", drawn)
    return drawn[:8]


def kind(word: str) -> str:
    """A coarse class of the characters: letters, a number by its length, a quotation sign, a symbol, a mixture.

    >>> [kind(w) for w in ("kota", "7", "12", "1998", "85000", "mp3", '"', "%")]
    ['letters', 'digit', 'number', 'year', 'number', 'mixed', 'quote', 'symbol']
    """
    if word.isalpha():
        return "letters"
    if word.isdecimal():
        if len(word) == 4 and word[:2] in ("10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"):
            return "year"
        return "digit" if len(word) == 1 else "number"
    if not any(c.isalnum() for c in word):
        return "quote" if word[0] in "\"'„”“«»‘’‚" else "symbol"
    return "mixed"


def _suffix(word: str, n: int) -> str:
    return word[-n:] if len(word) >= n else ""


def _prefix(word: str, n: int) -> str:
    return word[:n] if len(word) >= n else ""


#: name -> function(normal word, n); those in _SIZED need the n of e.g. `suffix3`.
WORD_OBSERVATIONS: Mapping[str, Callable[[str, int], str]] = {
    "word": lambda word, _n: word,
    "prefix": _prefix,
    "suffix": _suffix,
    "shape": lambda word, _n: shape(word),
    "kind": lambda word, _n: kind(word),
    "length": lambda word, _n: str(min(len(word), 12)),
}
SIZED = frozenset({"prefix", "suffix", "peak"})


# ---------------------------------------------------------------- pauses


@dataclass(frozen=True, slots=True)
class Pauses:
    """The word times of a batch of documents, laid end to end.

    start_ms, end_ms (N,) int64: times of the words (-1: unknown).
    characters (N,) int64: length of each word.
    first (N,) int64: index of the first token of the token's document; last (N,): of its last token.
    gap_ms (N,) float64: silence between a word and the next (at least 0); NaN at the end of a document and where a
        time is unknown.
    """

    start_ms: IntArray
    end_ms: IntArray
    characters: IntArray
    first: IntArray
    last: IntArray
    gap_ms: NDArray[np.float64]

    @staticmethod
    def of(times_ms: IntArray, characters: IntArray, lengths: IntArray) -> Pauses:
        """From times (N, 2), word lengths (N,) and the documents' lengths (D,) in tokens."""
        ends = np.cumsum(lengths)
        first = np.repeat(ends - lengths, lengths)
        last = np.repeat(ends - 1, lengths)
        start, end = times_ms[:, 0], times_ms[:, 1]
        gap = np.full(len(times_ms), np.nan)
        if len(gap) > 1:
            # Times that run backwards (overlapping speech, alignment errors) are gaps of 0.
            gap[:-1] = np.maximum(start[1:] - end[:-1], 0)
            gap[:-1][(start[1:] < 0) | (end[:-1] < 0)] = np.nan
        if len(gap):
            gap[ends[lengths > 0] - 1] = np.nan
        return Pauses(start, end, characters, first, last, gap)


NO_TIME = 0  # value of every pause observation where the times that it needs are unknown

# Edges are in ms. The forced alignments of WikiPunct lie on a grid of 30 ms; half-way edges keep one grid step in one
# bin whichever way it is rounded.
_GAP_EDGES = np.array([45, 75, 105, 135, 165, 210, 270, 330, 420, 510, 600, 720, 870, 1050, 1350, 1800, 3000])
_COARSE_EDGES = np.array([75, 165, 330, 600, 1050])
_DISTANCE_EDGES = np.array([2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30])
_RATIO_EDGES = np.array([0.6, 1.1, 1.6, 2.2, 3.2, 4.5, 6.5, 9.0, 13.0, 18.0, 26.0])
_RANK_EDGES = np.array([0.2, 0.4, 0.55, 0.65, 0.72, 0.78, 0.83, 0.87, 0.90, 0.925, 0.95, 0.965, 0.98, 0.99])
_STRETCH_EDGES = np.array([-240, -150, -90, -45, 0, 45, 90, 150, 240, 360])
_RATE_EDGES = np.array([20, 30, 40, 50, 60, 70, 80, 95, 115, 150])
_LONG_MS = 400


def _binned(values: NDArray[np.float64], edges: NDArray[np.float64]) -> IntArray:
    """1 + the bin of each value, NO_TIME for NaN."""
    return np.where(np.isnan(values), NO_TIME, 1 + np.searchsorted(edges, values, side="right"))


def _bin_names(edges: NDArray[np.float64]) -> tuple[str, ...]:
    shown = [f"{edge:g}" for edge in edges]
    return ("no times", f"<{shown[0]}", *(f"{a}–{b}" for a, b in itertools.pairwise(shown)), f"≥{shown[-1]}")


def _per_document_median(values: NDArray[np.float64], pauses: Pauses) -> NDArray[np.float64]:
    """The median of each document's known values, per token; NaN where the document has none."""
    result = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    if not known.any():
        return result
    order = np.lexsort((values[known], pauses.first[known]))
    ordered, owner = values[known][order], pauses.first[known][order]
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    counts = np.diff(np.r_[starts, len(owner)])
    median = (ordered[starts + (counts - 1) // 2] + ordered[starts + counts // 2]) / 2
    place = np.searchsorted(owner[starts], pauses.first)
    place = np.minimum(place, len(starts) - 1)
    return np.where(owner[starts][place] == pauses.first, median[place], np.nan)


def _rank(pauses: Pauses) -> IntArray:
    """Share of the document's gaps that are shorter than this one."""
    share = np.full(len(pauses.gap_ms), np.nan)
    known = np.flatnonzero(~np.isnan(pauses.gap_ms))
    if len(known):
        owner, gap = pauses.first[known], pauses.gap_ms[known]
        order = np.lexsort((gap, owner))
        owner, gap = owner[order], gap[order]
        index = np.arange(len(order))
        new_owner = np.r_[True, owner[1:] != owner[:-1]]
        new_value = new_owner | np.r_[True, gap[1:] != gap[:-1]]
        owner_start = np.maximum.accumulate(np.where(new_owner, index, 0))
        value_start = np.maximum.accumulate(np.where(new_value, index, 0))
        owner_count = np.diff(np.r_[np.flatnonzero(new_owner), len(index)])[np.cumsum(new_owner) - 1]
        share[known[order]] = (value_start - owner_start) / owner_count
    return _binned(share, _RANK_EDGES)


def _ratio(pauses: Pauses) -> IntArray:
    median = np.maximum(_per_document_median(pauses.gap_ms, pauses), 30)
    return _binned(pauses.gap_ms / median, _RATIO_EDGES)


def _neighbourhood_maximum(pauses: Pauses, radius: int) -> NDArray[np.float64]:
    """The longest gap among the `radius` places on either side (this one left out), -1 where there is none."""
    gap = np.where(np.isnan(pauses.gap_ms), -1.0, pauses.gap_ms)
    longest = np.full(len(gap), -1.0)
    index = np.arange(len(gap))
    for step in range(1, min(radius, len(gap) - 1) + 1):
        right = np.where(index[:-step] + step <= pauses.last[:-step], gap[step:], -1.0)
        left = np.where(index[step:] - step >= pauses.first[step:], gap[:-step], -1.0)
        np.maximum(longest[:-step], right, out=longest[:-step])
        np.maximum(longest[step:], left, out=longest[step:])
    return longest


def _peak(pauses: Pauses, radius: int) -> IntArray:
    """Is the gap the longest within ±radius places: 1 no, 2 as long as the longest, 3 yes, 4 yes, by twice."""
    longest = _neighbourhood_maximum(pauses, radius)
    gap = pauses.gap_ms
    value = 1 + (gap == longest) + 2 * (gap > longest) + (gap >= np.maximum(2 * longest, 60))
    return np.where(np.isnan(gap), NO_TIME, value).astype(np.int64)


_FAR = 31.0  # distances are cut here; the last bin starts at 30


def _since(event: NDArray[np.bool_], pauses: Pauses) -> NDArray[np.float64]:
    """Tokens since the last event strictly before each token, counted from the document's start if there was none."""
    index = np.arange(len(event))
    last_event = np.maximum.accumulate(np.where(event, index, -1))
    before = np.r_[-1, last_event[:-1]] if len(event) else last_event
    before = np.maximum(before, pauses.first - 1)
    return np.minimum(index - before, _FAR).astype(np.float64)


def _until(event: NDArray[np.bool_], pauses: Pauses) -> NDArray[np.float64]:
    """Tokens until the next event strictly after each token, or until the document's end."""
    index = np.arange(len(event))
    next_event = np.minimum.accumulate(np.where(event, index, len(event))[::-1])[::-1]
    after = np.r_[next_event[1:], len(event)] if len(event) else next_event
    after = np.minimum(after, pauses.last)
    return np.minimum(np.maximum(after - index, 0), _FAR).astype(np.float64)


def _long(pauses: Pauses) -> NDArray[np.bool_]:
    return np.nan_to_num(pauses.gap_ms, nan=-1.0) >= _LONG_MS


def _where_timed(pauses: Pauses, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(pauses.gap_ms), np.nan, values)


def _longer(pauses: Pauses, direction: int) -> IntArray:
    """Distance to the nearest strictly longer gap in a direction, cut at the last bin."""
    gap = np.where(np.isnan(pauses.gap_ms), -1.0, pauses.gap_ms)
    distance = np.full(len(gap), _FAR)
    index = np.arange(len(gap))
    for step in range(min(int(_FAR) - 1, len(gap) - 1), 0, -1):
        if direction > 0:
            inside = index[:-step] + step <= pauses.last[:-step]
            distance[:-step][inside & (gap[step:] > gap[:-step])] = step
        else:
            inside = index[step:] - step >= pauses.first[step:]
            distance[step:][inside & (gap[:-step] > gap[step:])] = step
    return _binned(_where_timed(pauses, distance), _DISTANCE_EDGES)


def _duration(pauses: Pauses) -> NDArray[np.float64]:
    known = (pauses.start_ms >= 0) & (pauses.end_ms >= 0)
    return np.where(known, np.maximum(pauses.end_ms - pauses.start_ms, 0), np.nan)


def _stretch(pauses: Pauses) -> IntArray:
    """Duration of the word less what its length predicts at the document's own rate (final lengthening), in ms."""
    duration = _duration(pauses)
    rate = _per_document_median(duration / np.maximum(pauses.characters, 1), pauses)
    return _binned(duration - rate * pauses.characters, _STRETCH_EDGES)


def _rate(pauses: Pauses) -> IntArray:
    """ms per character of the word."""
    return _binned(_duration(pauses) / np.maximum(pauses.characters, 1), _RATE_EDGES)


def _zero(pauses: Pauses) -> IntArray:
    """2 for a word of length zero: the alignment failed there, so the gaps beside it mean little."""
    duration = _duration(pauses)
    return np.where(np.isnan(duration), NO_TIME, 1 + (duration == 0)).astype(np.int64)


def _onset(pauses: Pauses) -> IntArray:
    """Onset-to-onset time less the word's expected duration: a pause that survives a badly placed word end."""
    following = np.full(len(pauses.start_ms), np.nan)
    if len(following) > 1:
        following[:-1] = np.where(pauses.start_ms[1:] >= 0, pauses.start_ms[1:], np.nan)
    onset = np.where(np.isnan(pauses.gap_ms), np.nan, following - pauses.start_ms)
    rate = _per_document_median(_duration(pauses) / np.maximum(pauses.characters, 1), pauses)
    return _binned(np.maximum(onset - rate * pauses.characters, 0), _GAP_EDGES)


#: name -> (function(pauses, n) -> (N,) values from 0, names of the values)
PAUSE_OBSERVATIONS: Mapping[str, tuple[Callable[[Pauses, int], IntArray], tuple[str, ...]]] = {
    "gap": (lambda p, _n: _binned(p.gap_ms, _GAP_EDGES), _bin_names(_GAP_EDGES)),
    "pause": (lambda p, _n: _binned(p.gap_ms, _COARSE_EDGES), _bin_names(_COARSE_EDGES)),
    "rank": (lambda p, _n: _rank(p), _bin_names(_RANK_EDGES)),
    "ratio": (lambda p, _n: _ratio(p), _bin_names(_RATIO_EDGES)),
    "peak": (_peak, ("no times", "no", "equal", "longest", "twice")),
    "longer_before": (lambda p, _n: _longer(p, -1), _bin_names(_DISTANCE_EDGES)),
    "longer_after": (lambda p, _n: _longer(p, 1), _bin_names(_DISTANCE_EDGES)),
    "since_long": (
        lambda p, _n: _binned(_where_timed(p, _since(_long(p), p)), _DISTANCE_EDGES),
        _bin_names(_DISTANCE_EDGES),
    ),
    "until_long": (
        lambda p, _n: _binned(_where_timed(p, _until(_long(p), p)), _DISTANCE_EDGES),
        _bin_names(_DISTANCE_EDGES),
    ),
    "stretch": (lambda p, _n: _stretch(p), _bin_names(_STRETCH_EDGES)),
    "rate": (lambda p, _n: _rate(p), _bin_names(_RATE_EDGES)),
    "zero": (lambda p, _n: _zero(p), ("no times", "no", "yes")),
    "onset": (lambda p, _n: _onset(p), _bin_names(_GAP_EDGES)),
}


# ---------------------------------------------------------------- one name for both


@dataclass(frozen=True, slots=True)
class Observation:
    """What a template names: `suffix3` is Observation("suffix", 3); a lexicon is Observation("lexicon", 0, "verbs")."""

    name: str
    n: int = 0
    lexicon: str = ""

    def __str__(self) -> str:
        return f"lexicon.{self.lexicon}" if self.lexicon else self.name + (str(self.n) if self.name in SIZED else "")

    @property
    def is_pause(self) -> bool:
        return self.name in PAUSE_OBSERVATIONS

    def of_word(self, word: str, lexicons: Mapping[str, Mapping[str, str]]) -> str:
        """The value for one word in its `normal` form."""
        if self.lexicon:
            return lexicons[self.lexicon].get(word, "")
        return WORD_OBSERVATIONS[self.name](word, self.n)

    def of_pauses(self, pauses: Pauses) -> IntArray:
        """Values (N,) numbered from FIRST_VALUE (a pause has no unseen values: its bins are fixed)."""
        return FIRST_VALUE + PAUSE_OBSERVATIONS[self.name][0](pauses, self.n)

    def pause_values(self) -> Sequence[str]:
        """The names of a pause observation's values, in order."""
        return PAUSE_OBSERVATIONS[self.name][1]
