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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.marks import MARK_CHARACTERS, MARKS, any_marked, split_mark

UNSEEN = 0
EDGE = 1
FIRST_VALUE = 2

MARK = "mark"  # the name of the observation of a given mark
LISTED = "listed"  # of whether a word is in a lexicon, which no template names but distances are counted by

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]  # what is worked out for every token, so that a batch stays in the processor's cache
Values = NDArray[np.int16]


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


def normals(words: Sequence[str]) -> list[str]:
    """`normal` of many words, which costs a fifth of as many calls."""
    text = "\n".join(words)
    if not words or text.count("\n") >= len(words):
        return [normal(word) for word in words]
    if text == text.lower() and unicodedata.is_normalized("NFC", text) and not any_marked(words):
        return list(words)  # as recognisers write
    # A line end neither composes with what stands beside it nor changes how that is written in lower case.
    composed = unicodedata.normalize("NFC", text).split("\n")
    return [(word.rstrip(MARK_CHARACTERS) or word).lower() for word in composed]


def shape(word: str) -> str:
    """Letters as `a`, digits as `0`, all else as it is; runs of more than two letters or four digits are cut.

    >>> shape("kota"), shape("1998"), shape("10:30"), shape("d'arc"), shape("85000")
    ('aaa', '0000', '00:00', "a'aaa", '00000+')
    """
    if word.isalpha():
        return "aaa"[: len(word)]
    drawn = "".join(["a" if c.isalpha() else "0" if c.isdecimal() else c for c in word])
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
    "length": lambda word, _n: str(min(len(word), LONGEST)),
}
LONGEST = 12
#: Of words that are letters only, these say no more than how many letters, up to LONGEST.
OF_LENGTH = frozenset({"shape", "kind", "length"})
SIZED = frozenset({"prefix", "suffix", "peak"})


# ---------------------------------------------------------------- pauses

NO_TIME = 0  # value of every pause observation where the times that it needs are unknown
UNKNOWN = -1  # in place of a time, a gap or a duration

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
_MOST_MS = 2**30 - 1  # times themselves may be larger, and count from any moment; gaps and durations are cut here
_LEVELS = 5  # windows of up to 2^5 - 1 places are looked at
_FAR = 31  # distances are cut here; the last bin starts at 30


class Pauses:
    """The word times of a batch of N tokens in D documents, laid end to end, and what is derived from them.

    start_ms, end_ms (N,): times of the words, UNKNOWN where there is none. characters (N,): length of each word.
    owner (N,): the token's document. ahead, behind (N,): tokens behind and before it in its document.
    marks (N,): number of the mark that is given behind each word, in `MARK_VALUES`.
    gap_ms (N,): silence between a word and the next, at least 0; UNKNOWN at a document's end and without times.
    """

    def __init__(
        self, times_ms: IntArray, characters: IntArray | Int32Array, lengths: IntArray, marks: IntArray | None = None
    ) -> None:
        """From times (N, 2), word lengths (N,), the documents' lengths (D,) in tokens, and the marks given, if any."""
        size = len(times_ms)
        self.marks = np.zeros(size, dtype=np.int64) if marks is None else marks
        self.start_ms, self.end_ms = np.ascontiguousarray(times_ms.T)
        self.characters = characters
        self.documents = len(lengths)
        self.owner = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        self.index = np.arange(size, dtype=np.int32)
        ends = np.cumsum(lengths)
        self.ahead = np.repeat((ends - 1).astype(np.int32), lengths) - self.index
        self.behind = self.index - np.repeat((ends - lengths).astype(np.int32), lengths)
        self.gap_ms = np.full(size, UNKNOWN, dtype=np.int32)
        if size > 1:
            # Times that run backwards (overlapping speech, alignment errors) are gaps of 0.
            known = (self.start_ms[1:] >= 0) & (self.end_ms[:-1] >= 0) & (self.ahead[:-1] > 0)
            gap = np.clip(self.start_ms[1:] - self.end_ms[:-1], 0, _MOST_MS)
            np.copyto(self.gap_ms[:-1], gap, where=known, casting="same_kind")

    @cached_property
    def gap_order(self) -> _Order:
        """The known gaps of each document by length."""
        return _Order(self.gap_ms, self.owner, self.documents)

    @cached_property
    def duration_ms(self) -> Int32Array:
        """Duration of each word (N,), at least 0, or UNKNOWN."""
        known = (self.start_ms >= 0) & (self.end_ms >= 0)
        duration = np.clip(self.end_ms - self.start_ms, 0, _MOST_MS)
        return np.where(known, duration, UNKNOWN).astype(np.int32)

    @cached_property
    def expected_ms(self) -> NDArray[np.float64]:
        """Duration that a word's length predicts at its document's own rate: the median of whole µs per character."""
        # Floating-point division of whole numbers this small rounds to a whole number only where it is one.
        rate = (1000.0 * self.duration_ms / np.maximum(self.characters, 1)).astype(np.int64)
        rate[self.duration_ms < 0] = UNKNOWN
        expected: NDArray[np.float64] = (_medians(rate, self.owner, self.documents) / 1000).take(self.owner)
        expected *= self.characters
        return expected

    @cached_property
    def longest_ahead(self) -> list[Int32Array]:
        """At level k, the longest of the 2^k gaps that begin at a token and go on, as far as its document goes."""
        return _longest(self.gap_ms, self.ahead)

    @cached_property
    def longest_behind(self) -> list[Int32Array]:
        """The same going back; arrays run from the last token to the first."""
        return _longest(self.gap_ms[::-1], self.behind[::-1])


_VALUE_BITS = 40  # enough for the longest duration in µs


def _keys(values: IntArray | Int32Array, owner: Int32Array) -> IntArray:
    """Whole numbers that sort by document, then by value."""
    keys: IntArray = owner.astype(np.int64) << _VALUE_BITS
    keys |= values
    return keys


def _medians(values: IntArray | Int32Array, owner: Int32Array, documents: int) -> NDArray[np.float64]:
    """(D,) median of each document's known values, NaN where it has none. Arguments as for `_Order`."""
    known = values >= 0
    keys = _keys(values[known], owner[known])
    keys.sort(kind="stable")  # which profits from the documents' standing in order
    return _middles(keys, np.bincount(owner[known], minlength=documents))


def _middles(keys: IntArray, counts: IntArray) -> NDArray[np.float64]:
    medians = np.full(len(counts), np.nan)
    some = counts > 0
    starts = np.cumsum(counts) - counts
    low = keys[(starts + (counts - 1) // 2)[some]] & (2**_VALUE_BITS - 1)
    high = keys[(starts + counts // 2)[some]] & (2**_VALUE_BITS - 1)
    medians[some] = (low + high) / 2
    return medians


class _Order:
    """The known values of each document, sorted. values (N,) of whole numbers from 0 on, or UNKNOWN; owner (N,)."""

    def __init__(self, values: IntArray | Int32Array, owner: Int32Array, documents: int) -> None:
        self.known = np.flatnonzero(values >= 0)
        owners = owner.take(self.known)
        # One sort for all documents.
        keys = _keys(values.take(self.known), owners)
        self.order = keys.argsort(kind="stable")
        self.keys = keys.take(self.order)
        self.counts = np.bincount(owners, minlength=documents)
        self.median = _middles(self.keys, self.counts)

    def shares_below(self, size: int) -> NDArray[np.float64]:
        """(size,) per token the share of its document's known values that are smaller; NaN where its own is unknown."""
        shares = np.full(size, np.nan)
        if len(self.known):
            new_value = np.empty(len(self.keys), dtype=bool)
            new_value[0] = True
            np.not_equal(self.keys[1:], self.keys[:-1], out=new_value[1:])
            below = np.maximum.accumulate(np.where(new_value, np.arange(len(self.keys)), 0))
            starts = np.cumsum(self.counts) - self.counts
            # Sorted by document, so what holds for a document is repeated for its values.
            share = (below - np.repeat(starts, self.counts)) / np.repeat(self.counts, self.counts)
            shares[self.known.take(self.order)] = share
        return shares


def _longest(gap: Int32Array, left: Int32Array) -> list[Int32Array]:
    """Running maxima by doubling. gap (N,), left (N,): how many tokens of the document follow."""
    levels = [gap]
    for k in range(_LEVELS - 1):
        level = levels[-1].copy()
        step = 1 << k
        further = np.where(left[:-step] >= step, levels[-1][step:], np.int32(UNKNOWN))
        np.maximum(level[:-step], further, out=level[:-step])
        levels.append(level)
    return levels


def _whole_bins(edges: NDArray[np.int64]) -> Values:
    """1 + the bin of every whole number up to the last edge, then NO_TIME, where the index UNKNOWN (-1) finds it."""
    bins = np.append(1 + np.searchsorted(edges, np.arange(edges[-1] + 1), side="right"), NO_TIME)
    return bins.astype(np.int16)


_GAP_BINS, _COARSE_BINS, _DISTANCE_BINS = map(_whole_bins, (_GAP_EDGES, _COARSE_EDGES, _DISTANCE_EDGES))


def _whole_binned(values: Int32Array, bins: Values) -> Values:
    found: Values = bins[np.minimum(values, len(bins) - 2)]
    return found


def _binned(values: NDArray[np.float64], edges: NDArray[np.int64] | NDArray[np.float64]) -> Values:
    """1 + the bin of each value, NO_TIME for NaN."""
    # Comparing with a few edges one by one is several times as fast as a binary search, which guesses wrong.
    bins: Values = (values >= edges[0]).astype(np.int16)
    for edge in edges[1:]:
        bins += values >= edge
    bins += 1
    bins[np.isnan(values)] = NO_TIME
    return bins


def _bin_names(edges: NDArray[np.int64] | NDArray[np.float64]) -> tuple[str, ...]:
    shown = [f"{edge:g}" for edge in edges]
    return ("no times", f"<{shown[0]}", *(f"{a}–{b}" for a, b in itertools.pairwise(shown)), f"≥{shown[-1]}")


def _known(values: NDArray[np.integer], measured: Int32Array) -> Values:
    """The values where what they are made of is known, NO_TIME elsewhere."""
    return np.where(measured < 0, np.int16(NO_TIME), values.astype(np.int16, copy=False))


def _rank(pauses: Pauses) -> Values:
    """Share of the document's gaps that are shorter than this one."""
    return _binned(pauses.gap_order.shares_below(len(pauses.gap_ms)), _RANK_EDGES)


def _ratio(pauses: Pauses) -> Values:
    """The gap over the document's median gap (at least 30 ms)."""
    median = np.maximum(pauses.gap_order.median, 30).take(pauses.owner)
    return _known(_binned(pauses.gap_ms / median, _RATIO_EDGES), pauses.gap_ms)


def _window(levels: list[Int32Array], left: Int32Array, radius: int) -> Int32Array:
    """The longest of the `radius` gaps that follow each token (its own left out), UNKNOWN where there is none."""
    result = np.full(len(left), UNKNOWN, dtype=np.int32)
    k = min(radius.bit_length() - 1, _LEVELS - 1)
    size = 1 << k
    # Windows of 2^k places that overlap cover any radius.
    for start in [*range(1, radius - size + 1, size), radius - size + 1]:
        if start < len(left):
            found = np.where(left[:-start] >= start, levels[k][start:], np.int32(UNKNOWN))
            np.maximum(result[:-start], found, out=result[:-start])
    return result


def _peak(pauses: Pauses, radius: int) -> Values:
    """Is the gap the longest within ±radius places: 1 no, 2 as long as the longest, 3 yes, 4 yes, by twice."""
    longest = np.maximum(
        _window(pauses.longest_ahead, pauses.ahead, radius),
        _window(pauses.longest_behind, pauses.behind[::-1], radius)[::-1],
    )
    gap = pauses.gap_ms
    value = np.ones(len(gap), dtype=np.int16)
    value += gap >= longest
    value += gap > longest
    value += gap >= np.maximum(2 * longest, 60)
    return _known(value, gap)


def _steps_to_longer(levels: list[Int32Array], left: Int32Array) -> Int32Array:
    """Places until a strictly longer gap, _FAR if none is as near as that: a binary search over the running maxima."""
    gap = levels[0]
    place = np.arange(1, len(left) + 1, dtype=np.int32)  # the next one to look at; before it none is longer
    last = place + left
    for k in reversed(range(_LEVELS)):
        longest = levels[k].take(place, mode="clip")
        place += ((place >= last) | (longest <= gap)).astype(np.int32) << k
    place -= np.arange(len(left), dtype=np.int32)
    return np.minimum(place, _FAR, out=place)


def _longer(pauses: Pauses, ahead: bool) -> Values:
    """Distance to the nearest strictly longer gap in a direction."""
    if ahead:
        distance = _steps_to_longer(pauses.longest_ahead, pauses.ahead)
    else:
        distance = _steps_to_longer(pauses.longest_behind, pauses.behind[::-1])[::-1]
    return _distances(pauses, distance)


def _distances(pauses: Pauses, distance: Int32Array) -> Values:
    return _known(_whole_binned(distance, _DISTANCE_BINS), pauses.gap_ms)


def _since_long(pauses: Pauses) -> Values:
    """Tokens since the last long gap before this one, counted from the document's start if there was none."""
    last = np.maximum.accumulate(np.where(pauses.gap_ms >= _LONG_MS, pauses.index, np.int32(-1)))
    distance = pauses.behind + 1
    distance[1:] = np.minimum(pauses.index[1:] - last[:-1], distance[1:])
    return _distances(pauses, distance)


def _until_long(pauses: Pauses) -> Values:
    """Tokens until the next long gap after this one, or until the document's end."""
    size = np.int32(len(pauses.gap_ms))
    following = np.minimum.accumulate(np.where(pauses.gap_ms >= _LONG_MS, pauses.index, size)[::-1])[::-1]
    distance = pauses.ahead.copy()
    distance[:-1] = np.minimum(following[1:] - pauses.index[:-1], distance[:-1])
    return _distances(pauses, distance)


def _stretch(pauses: Pauses) -> Values:
    """Duration of the word less what its length predicts (final lengthening), in ms."""
    return _known(_binned(pauses.duration_ms - pauses.expected_ms, _STRETCH_EDGES), pauses.duration_ms)


def _rate(pauses: Pauses) -> Values:
    """ms per character of the word."""
    return _known(_binned(pauses.duration_ms / np.maximum(pauses.characters, 1), _RATE_EDGES), pauses.duration_ms)


def _zero(pauses: Pauses) -> Values:
    """2 for a word of length zero: the alignment failed there, so the gaps beside it mean little."""
    return _known(1 + (pauses.duration_ms == 0).astype(np.int16), pauses.duration_ms)


def _onset(pauses: Pauses) -> Values:
    """Onset-to-onset time less the word's expected duration: a pause that survives a badly placed word end."""
    onset = -pauses.expected_ms
    onset[:-1] += pauses.start_ms[1:] - pauses.start_ms[:-1]
    return _known(_binned(np.maximum(onset, 0), _GAP_EDGES), np.minimum(pauses.gap_ms, pauses.duration_ms))


#: name -> (function(pauses, n) -> (N,) values from 0, names of the values)
PAUSE_OBSERVATIONS: Mapping[str, tuple[Callable[[Pauses, int], Values], tuple[str, ...]]] = {
    "gap": (lambda p, _n: _whole_binned(p.gap_ms, _GAP_BINS), _bin_names(_GAP_EDGES)),
    "pause": (lambda p, _n: _whole_binned(p.gap_ms, _COARSE_BINS), _bin_names(_COARSE_EDGES)),
    "rank": (lambda p, _n: _rank(p), _bin_names(_RANK_EDGES)),
    "ratio": (lambda p, _n: _ratio(p), _bin_names(_RATIO_EDGES)),
    "peak": (_peak, ("no times", "no", "equal", "longest", "twice")),
    "longer_before": (lambda p, _n: _longer(p, ahead=False), _bin_names(_DISTANCE_EDGES)),
    "longer_after": (lambda p, _n: _longer(p, ahead=True), _bin_names(_DISTANCE_EDGES)),
    "since_long": (lambda p, _n: _since_long(p), _bin_names(_DISTANCE_EDGES)),
    "until_long": (lambda p, _n: _until_long(p), _bin_names(_DISTANCE_EDGES)),
    "stretch": (lambda p, _n: _stretch(p), _bin_names(_STRETCH_EDGES)),
    "rate": (lambda p, _n: _rate(p), _bin_names(_RATE_EDGES)),
    "zero": (lambda p, _n: _zero(p), ("no times", "no", "yes")),
    "onset": (lambda p, _n: _onset(p), _bin_names(_GAP_EDGES)),
}


# ---------------------------------------------------------------- distances to words of a lexicon

_WORDS_EDGES = np.array([1, 2, 3, 4, 5, 7, 10, 15])
_WORDS_BINS = _whole_bins(_WORDS_EDGES)


def _since(listed: NDArray[np.bool_], pauses: Pauses) -> Values:
    """Words since the last one of the lexicon, 0 where it is this one."""
    last = np.maximum.accumulate(np.where(listed, pauses.index, np.int32(-1)))
    return _words(pauses.index - last, pauses.behind, last >= 0)


def _until(listed: NDArray[np.bool_], pauses: Pauses) -> Values:
    """Words until the next one of the lexicon after this one."""
    size = np.int32(len(listed))
    following = np.full(size, size, dtype=np.int32)
    following[:-1] = np.minimum.accumulate(np.where(listed, pauses.index, size)[::-1])[::-1][1:]
    return _words(following - pauses.index, pauses.ahead, following < size)


def _words(distance: Int32Array, most: Int32Array, some: NDArray[np.bool_]) -> Values:
    """The bin of each distance, 0 where the document has no such word on that side."""
    return np.where(some & (distance <= most), _whole_binned(distance, _WORDS_BINS), np.int16(0))


#: name -> function(whether each token has a class in the lexicon (N,), pauses) -> (N,) values from 0
DISTANCE_OBSERVATIONS: Mapping[str, Callable[[NDArray[np.bool_], Pauses], Values]] = {"since": _since, "until": _until}
_DISTANCES = ("none", *_bin_names(_WORDS_EDGES)[1:])


# ---------------------------------------------------------------- marks that are given


#: The values of `mark`, for a truecaser, which is told the marks.
MARK_VALUES = ("no mark", *MARKS, "other mark")


class _MarkNumbers(dict[str, int]):
    def __missing__(self, mark: str) -> int:
        return len(MARK_VALUES) - 1


def mark_numbers(marks: Iterable[Sequence[str] | None], lengths: Iterable[int]) -> IntArray:
    """The numbers in `MARK_VALUES` of the documents' marks, end to end; 0 where a document has none."""
    number = _MarkNumbers({mark: i for i, mark in enumerate(("", *MARKS))})
    given = [[""] * length if found is None else found for found, length in zip(marks, lengths, strict=True)]
    # Two marks more than there are, because a getter of one gives no tuple.
    return np.array(itemgetter("", "", *itertools.chain.from_iterable(given))(number)[2:], dtype=np.int64)


# ---------------------------------------------------------------- one name for all


@dataclass(frozen=True, slots=True)
class Observation:
    """What a template names: `suffix3` is Observation("suffix", 3).

    `lexicon.verbs` is Observation("lexicon", 0, "verbs"), the distance `since.verbs` Observation("since", 0, "verbs").
    """

    name: str
    n: int = 0
    lexicon: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name}.{self.lexicon}" if self.lexicon else self.name + (str(self.n) if self.name in SIZED else "")
        )

    @property
    def is_pause(self) -> bool:
        """Whether it looks at word times."""
        return self.name in PAUSE_OBSERVATIONS

    @property
    def by_token(self) -> bool:
        """Whether it depends on the token's place, not on the word alone; then its values are fixed."""
        return self.name == MARK or self.is_pause or self.is_distance

    @property
    def is_distance(self) -> bool:
        """Whether it counts words up to one of a lexicon."""
        return self.name in DISTANCE_OBSERVATIONS

    @property
    def listed(self) -> Observation:
        """What a distance has to know of every word: whether it has a class in the lexicon; of one value."""
        return Observation(LISTED, 0, self.lexicon)

    def of_word(self, word: str, lexicons: Mapping[str, Mapping[str, str]]) -> str:
        """The value for one word in its `normal` form."""
        if self.lexicon:
            return lexicons[self.lexicon].get(word, "")
        return WORD_OBSERVATIONS[self.name](word, self.n)

    def of_pauses(self, pauses: Pauses, listed: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Values (N,) numbered from FIRST_VALUE (there are no unseen ones: bins and marks are fixed).

        listed (N,): for a distance, whether each token has a class in its lexicon.
        """
        if self.name == MARK:
            return FIRST_VALUE + pauses.marks.astype(np.int16)
        if self.is_distance:
            assert listed is not None
            return FIRST_VALUE + DISTANCE_OBSERVATIONS[self.name](listed, pauses)
        return FIRST_VALUE + PAUSE_OBSERVATIONS[self.name][0](pauses, self.n)

    def pause_values(self) -> Sequence[str]:
        """The names of the values of an observation `by_token`, in order."""
        if self.name == MARK:
            return MARK_VALUES
        if self.is_distance:
            return _DISTANCES
        return PAUSE_OBSERVATIONS[self.name][1]
