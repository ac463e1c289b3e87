"""Marks and case for words that come one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.marks import MARK_CHARACTERS
from crfpunct.punctuator import NEVER_SEEN, Punctuator

#: Words that a stream may hold back, unless it is told otherwise (docs/formats.md has the measurements).
LOOKAHEAD = 8


class Stream:
    """Words in, one at a time, with or without times; out, each with its mark, in order, none more than once.

    A word is given back as soon as nothing that follows can change its mark, and at the latest when `lookahead` more
    words have come. Without times, and with pauses that are looked at in place (`gap`, `rate`), the first is known
    exactly: the scores of a place are final once the words that its features look at are there, and its label once
    all best paths up to the last final place go through it (Šrámek, Brejová, Vinař 2007, "On-line Viterbi algorithm
    for analysis of long biological sequences"). Pauses that are compared with those of the whole document (`rank`,
    `ratio`, `longer_after` …) are compared with those of the last WINDOW words, and every word waits for `lookahead`
    others.
    """

    WINDOW = 200

    def __init__(self, punctuator: Punctuator, lookahead: int = LOOKAHEAD) -> None:
        if lookahead < 0:
            raise ValueError(f"a look-ahead of {lookahead} words; expected at least 0")
        self._punctuator = punctuator
        self._lookahead = lookahead
        self._start()

    def _start(self) -> None:
        self._words: list[str] = []  # those given back that may still be looked at, then those that wait
        self._times: list[tuple[int, int]] = []
        self._given = 0  # how many of the words are given back
        # Of the last one given back: its label, and the best score of a path that ends in each of a chain's states.
        self._label: str | None = None
        self._reached: tuple[LinearChain, NDArray[np.float64]] | None = None
        self._waiting: deque[str] = deque()  # the words that wait, with the marks that stand alone between them

    def put(self, word: str, start_ms: int = -1, end_ms: int = -1) -> list[tuple[str, str]]:
        """Take a word; give back the words that are decided by now, each with its mark."""
        if not word.strip(MARK_CHARACTERS):
            if not self._waiting:
                return [(word, "")]
            self._waiting.append(word)
            return []
        self._waiting.append(word)
        self._words.append(word)
        self._times.append((start_ms, end_ms))
        keep = self.WINDOW + self._lookahead
        if len(self._words) > 2 * keep and self._given >= keep:
            self._given -= len(self._words) - keep
            del self._words[:-keep], self._times[:-keep]
        return self._give(ended=False)

    @property
    def waiting(self) -> list[str]:
        """The words that were put in and are not given back yet."""
        return list(self._waiting)

    def end(self) -> list[tuple[str, str]]:
        """Give back all words that wait; what is put in afterwards is another text."""
        given = self._give(ended=True)
        self._start()
        return given

    def _give(self, ended: bool) -> list[tuple[str, str]]:
        given: list[tuple[str, str]] = []
        for mark in self._decided(ended):
            word = self._waiting.popleft()
            alone = bool(self._waiting) and not self._waiting[0].strip(MARK_CHARACTERS)
            given.append((word, "" if alone or word[-1] in MARK_CHARACTERS else mark))
            while self._waiting and not self._waiting[0].strip(MARK_CHARACTERS):
                given.append((self._waiting.popleft(), ""))
        return given

    def _decided(self, ended: bool) -> list[str]:
        """The labels of the words that are decided by now."""
        times = np.array(self._times, dtype=np.int64).reshape(-1, 2)
        whole = Document("", self._words, times if (times >= 0).any() else None)
        chain = self._punctuator.chain_for(whole)
        ahead, local = _outlook(chain)
        left = len(self._words) - self._given
        # The words whose scores can no longer change, of those that wait. One word at least must have come
        # behind each, since a mark may stand alone there.
        final = left if ended else max(0, left - max(ahead, 1)) if local else 0
        forced = left > self._lookahead and not ended
        if not (final or forced):
            return []
        scores = self._scores(whole, chain, ahead, local, ended)
        labels: list[str] = []
        reached = self._reached_by(chain)
        margin = decoding.dominance(chain.transition)
        while len(labels) < final:
            here = scores[len(labels) :]
            if not ended and not decoding.undecided(here[:1], margin)[0]:
                common = [chain.labels[0]]
            else:
                common = _common(here[: final - len(labels)], chain, reached, ended)
            if not common:
                break
            reached = _reach(reached, here, chain, common)
            labels += common
        if forced and not labels:
            labels = _common(scores, chain, reached, True)[:1]
            reached = _reach(reached, scores, chain, labels)
        if labels:
            self._given += len(labels)
            self._label = labels[-1]
            assert reached is not None
            self._reached = (chain, reached)
        return labels

    def _reached_by(self, chain: LinearChain) -> NDArray[np.float64] | None:
        """(L,) scores of the last word given back by its state; None at a text's beginning."""
        if self._label is None:
            return None
        if self._reached is not None and self._reached[0] is chain:
            return self._reached[1]
        # Another chain decided it: its label is all that is known.
        label = self._label if self._label in chain.labels else chain.labels[0]
        return np.where(np.array(chain.labels) == label, 0.0, -np.inf)

    def _scores(self, whole: Document, chain: LinearChain, ahead: int, local: bool, ended: bool) -> NDArray[np.float64]:
        """The scores of the words that wait, (waiting, L)."""
        tables = self._punctuator.tables(chain)
        first = max(0, self._given - tables.reach - 1 if local else len(whole.words) - self.WINDOW - self._lookahead)
        words, times = whole.words[first:], None if whole.times_ms is None else whole.times_ms[first:]
        if not ended:
            # Words never seen stand for those that have not come yet, since the edge of a text would mean its end.
            words = words + [NEVER_SEEN] * ahead
            times = times if times is None else np.concatenate([times, np.full((ahead, 2), -1, dtype=np.int64)])
        emission, starts, _ = tables.emissions([Document("", words, times)])
        start = int(starts[0]) - first
        return emission[start + self._given : start + len(whole.words)] + chain.bias


class CasedStream:
    """A `Stream` whose words come back in their case, which makes none of them wait.

    The case of a word is found from the words in front of it and their marks, and from the words that have come behind
    it, of which a truecaser looks at two. What has not come yet is a word never seen, so with a look-ahead of less than
    two words the case is at times another than in the whole text.
    """

    CONTEXT = 16  # words in front that are looked at; a label depends on a neighbour's, which depends on the next one's

    def __init__(self, stream: Stream, cased: Callable[[Document], list[str]]) -> None:
        """cased: gives the words of a document, all of them, in their case."""
        self._stream = stream
        self._cased = cased
        self._given: list[tuple[str, str]] = []

    def put(self, word: str, start_ms: int = -1, end_ms: int = -1) -> list[tuple[str, str]]:
        """As `Stream.put`."""
        return self._in_case(self._stream.put(word, start_ms, end_ms), [NEVER_SEEN] * 2)

    def end(self) -> list[tuple[str, str]]:
        """As `Stream.end`."""
        given = self._in_case(self._stream.end(), [])
        self._given = []
        return given

    def _in_case(self, given: list[tuple[str, str]], to_come: list[str]) -> list[tuple[str, str]]:
        if not given:
            return []
        before = len(self._given)
        self._given += given
        behind = [*self._stream.waiting, *to_come]
        words, marks = map(list, zip(*self._given, strict=True))
        found = self._cased(Document("", words + behind, marks=marks + [""] * len(behind)))
        self._given = self._given[-self.CONTEXT :]
        return [(word, mark) for word, (_, mark) in zip(found[before:], given, strict=False)]


def _reach(
    reached: NDArray[np.float64] | None, scores: NDArray[np.float64], chain: LinearChain, labels: Sequence[str]
) -> NDArray[np.float64]:
    """The best scores (L,), less the best of all, of paths that go on from those reached through states of the labels.

    scores: of the states (≥ T, L) from the first token on; labels: T of them, at least one.
    """
    of_state = np.array(chain.labels)
    for row, label in zip(scores, labels, strict=False):
        entering = 0.0 if reached is None else (reached[:, None] + chain.transition).max(axis=0)
        reached = np.where(of_state == label, row + entering, -np.inf)
        reached -= reached.max()
    assert reached is not None
    return reached


def _common(
    scores: NDArray[np.float64], chain: LinearChain, reached: NDArray[np.float64] | None, ended: bool
) -> list[str]:
    """The labels (≤ T) from the first token on that all best paths share, whichever state each ends in.

    scores (T, L); reached: of the token before them. At the end of a text there is one best path, and it is shared
    whole.
    """
    score = scores[0] + (0.0 if reached is None else (reached[:, None] + chain.transition).max(axis=0))
    pointers = []
    for row in scores[1:]:
        paths = score[:, None] + chain.transition
        pointers.append(paths.argmax(axis=0))
        score = paths.max(axis=0) + row
    states = np.array([score.argmax()]) if ended else np.flatnonzero(score > -np.inf)
    columns = [states]
    for pointer in reversed(pointers):
        states = pointer[states]
        columns.append(states)
    of_state = np.array(chain.labels)
    shared: list[str] = []
    for column in reversed(columns):
        found = of_state[column]
        if (found != found[0]).any():
            break
        shared.append(str(found[0]))
    return shared


#: Pause observations that look at the words beside a place alone; others, and distances, look at the whole document.
_LOCAL = frozenset({"gap", "pause", "rate", "zero"})


def _outlook(chain: LinearChain) -> tuple[int, bool]:
    """How many words ahead a chain's features look, and whether that is all they look at."""
    places = [place for template in chain.index.templates for place in template.use]
    ahead = max((offset + observation.is_pause for observation, offset in places), default=0)
    whole = [o for o, _ in places if (o.is_pause or o.is_distance) and o.name not in _LOCAL]
    return max(ahead, 0), not whole
