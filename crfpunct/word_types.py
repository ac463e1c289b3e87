"""Word types: one dictionary lookup a word, for all that is worked out of it.

A model's compiled chains share one numbering, so that a text is looked up once, for its marks and for its case.
"""

from __future__ import annotations

import bisect
import itertools
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain as concatenated
from itertools import compress
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from crfpunct.casing import WRITTEN_SIGNS
from crfpunct.document import Document
from crfpunct.marks import MARK_CHARACTERS
from crfpunct.numbering import Forms
from crfpunct.observations import normals

#: Word types kept before their numbering starts afresh; one takes about 500 bytes. A million words of Polish have
#: 126,000.
CACHED_TYPES = 1 << 17

EDGE_TYPE = 0  # stands for a place outside the document; types of words are numbered from 1

#: What can be told of a word as it is written: it ends in a mark, holds a quotation sign or bracket, has a capital.
MARKED, SIGNED, CASED = np.uint8(1), np.uint8(2), np.uint8(4)

#: Batches whose normal forms are kept, for the chains that have not asked for them yet.
_BATCHES = 4
_SIGNS = frozenset(WRITTEN_SIGNS)


class WordTypes:
    """The word types that have turned up, in order."""

    def __init__(self) -> None:
        # Counted in C: a new word costs no call of Python's.
        self._number: defaultdict[str | None, int] = defaultdict(itertools.count(1).__next__, {None: EDGE_TYPE})
        self._words: list[str] = []
        self._traits = np.zeros(1 << 12, dtype=np.uint8)
        self._bounds: list[int] = []  # where the new types of each text, or batch of texts, end
        self._forms: dict[tuple[int, int], Forms] = {}

    def __len__(self) -> int:
        """How many numbers are in use, that of the edge among them."""
        return self._bounds[-1] if self._bounds else 1

    def number(self, texts: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """The type of every word of the texts, end to end."""
        known = len(self)
        # Two keys more than there are words, because a getter of one key gives no tuple.
        found = itemgetter(None, None, *concatenated.from_iterable(texts))(self._number)
        types = np.fromiter(found, dtype=np.int32, count=len(found))[2:]
        new = [word for word in itertools.islice(reversed(self._number), len(self._number) - known) if word is not None]
        if new:
            new.reverse()
            if known + len(new) > len(self._traits):
                self._traits = np.append(self._traits[:known], np.zeros(known + 2 * len(new), dtype=np.uint8))
            self._traits[known : known + len(new)] = _traits(new)
            self._words += new
            self._bounds.append(known + len(new))
        return types

    def traits(self, types: NDArray[np.int32]) -> NDArray[np.uint8]:
        """MARKED, SIGNED and CASED of the types."""
        return self._traits.take(types)

    def forms(self, first: int) -> Forms:
        """The normal forms of types from a number on: those of one batch or, for who is far behind, all there are."""
        place = bisect.bisect_right(self._bounds, first)
        span = first, self._bounds[place if len(self._bounds) - place <= _BATCHES else -1]
        # The chains of a model ask for the same ones in turn.
        forms = self._forms.get(span)
        if forms is None:
            if len(self._forms) >= _BATCHES:
                self._forms = {}
            forms = self._forms[span] = Forms(normals(self._words[first - 1 : span[1] - 1]))
        return forms


def _traits(words: Sequence[str]) -> NDArray[np.uint8]:
    traits = np.zeros(len(words), dtype=np.uint8)
    # Most words have none of them: only those of other characters than letters and digits are looked at one by one.
    alphanumeric = np.fromiter(map(str.isalnum, words), dtype=bool, count=len(words))
    for i in np.flatnonzero(~alphanumeric).tolist():
        word = words[i]
        if word and word[-1] in MARK_CHARACTERS:
            traits[i] += MARKED
        if not _SIGNS.isdisjoint(word):
            traits[i] += SIGNED
    text = " ".join(words)
    if text != text.lower():
        traits += CASED * np.array([word != word.lower() for word in words])
    return traits


class Vocabulary:
    """Numbers the words of texts, in bounded memory. Safe to share between threads; a copy of it starts empty."""

    def __init__(self) -> None:
        self._types: WordTypes | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[()]]:
        return Vocabulary, ()

    def number(self, documents: Sequence[Document]) -> Numbered:
        """The documents' words as numbers."""
        texts = [document.words for document in documents]
        with self._lock:
            # Put back at the end: after a Ctrl-C in between it is half filled.
            types, self._types = self._types, None
            if types is None or len(types) > CACHED_TYPES:
                types = WordTypes()
            numbered = Numbered(types.number(texts), _lengths(texts), types, self)
            self._types = types
        return numbered


@dataclass(frozen=True, slots=True)
class Numbered:
    """D texts as word types, end to end.

    types (N,): the type of every word; lengths (D,); of: what the types are numbers in; vocabulary: what numbered them.
    """

    types: NDArray[np.int32]
    lengths: NDArray[np.int64]
    of: WordTypes
    vocabulary: Vocabulary

    def with_trait(self, trait: np.uint8) -> list[bool]:
        """For every text whether any of its words is MARKED, SIGNED or CASED."""
        owners, _ = self._places(trait)
        found = np.zeros(len(self.lengths), dtype=bool)
        found[owners] = True
        return found.tolist()

    def places(self, trait: np.uint8) -> dict[int, list[int]]:
        """Text -> the places of its words that have a trait (or one of several, added up); only texts that have any."""
        found: dict[int, list[int]] = {}
        owners, places = self._places(trait)
        for owner, place in zip(owners.tolist(), places.tolist(), strict=True):
            found.setdefault(owner, []).append(place)
        return found

    def _places(self, trait: np.uint8) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        places = (self.of.traits(self.types) & trait).nonzero()[0]
        if len(places) == 0:
            return places, places
        ends = np.cumsum(self.lengths)
        owners = np.searchsorted(ends, places, side="right")
        return owners, places - (ends - self.lengths)[owners]

    def changed(self, documents: Sequence[Document], changed: Sequence[bool]) -> Numbered:
        """The documents' words as numbers, where only those that are `changed` have other words than here."""
        if not any(changed):
            return self
        others = self.vocabulary.number(list(compress(documents, changed)))
        if others.of is not self.of:
            return self.vocabulary.number(documents)
        is_other = np.array(changed)
        lengths = self.lengths.copy()
        lengths[is_other] = others.lengths
        place_is_other = np.repeat(is_other, lengths)
        types = np.empty(len(place_is_other), dtype=np.int32)
        types[place_is_other] = others.types
        types[~place_is_other] = self.types[np.repeat(~is_other, self.lengths)]
        return Numbered(types, lengths, self.of, self.vocabulary)


def _lengths(texts: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
