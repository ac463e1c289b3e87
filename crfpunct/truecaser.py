"""Restoring case: a trained CRF over words and the marks between them, and the spelling of its classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.casing import WRITTEN_SIGNS, OwnCase, Spelling, from_lines, to_lines
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.marks import label, split_mark
from crfpunct.tables import Tables
from crfpunct.templates import FeatureSet
from crfpunct.word_types import CASED, MARKED, SIGNED, Numbered, Vocabulary

_CACHED_FORMS = 1 << 16


class Truecaser:
    """Spells words in the case that a CRF finds for them. Immutable: threads can share it."""

    def __init__(self, chain: LinearChain, spelling: Spelling) -> None:
        self.chain = chain
        self.spelling = spelling
        self.vocabulary = Vocabulary()
        self._tables: Tables | None = None
        self._forms: list[_Forms] = []  # by class

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_tables": None, "_forms": []}

    @property
    def tables(self) -> Tables:
        if self._tables is None:  # two threads may both compile it; either result will do
            self._tables = Tables(self.chain, self.vocabulary)
        return self._tables

    def classes(self, documents: Sequence[Document]) -> list[list[str]]:
        """The class of every word; the documents' marks are taken as given."""
        found = [[self.chain.labels[0]] * len(document.words) for document in documents]
        for i, place, case in self._raised(documents, self.vocabulary.number(documents)):
            found[i][place] = self.chain.labels[case]
        return found

    def _raised(self, documents: Sequence[Document], numbered: Numbered) -> Iterator[tuple[int, int, int]]:
        """Every word that is not of the neutral class: its document, its place there, the number of its class."""
        signed = numbered.with_trait(SIGNED)
        places_of = numbered.places(SIGNED + MARKED) if any(signed) else {}
        heard_as = [
            heard(document, places_of[i]) if some else (document, None)
            for i, (document, some) in enumerate(zip(documents, signed, strict=True))
        ]
        views = [view for view, _ in heard_as]
        if self.spelling.upper:
            views = [self._lowered(view) for view in views]
            signed = [True] * len(views)
        best, starts, _ = self.tables.best(views, numbered.changed(views, signed))
        raised = np.flatnonzero(best)
        owners = np.searchsorted(starts, raised, side="right") - 1
        within = raised - starts[owners]
        for i, place, case in zip(owners.tolist(), within.tolist(), best[raised].tolist(), strict=True):
            kept = heard_as[i][1]
            yield i, place if kept is None else kept[place], case

    def _lowered(self, document: Document) -> Document:
        """In lower case by the language's rule; `observations.normal` knows no language."""
        return replace(document, words=[self.spelling.lowered(word) for word in document.words])

    def words(self, documents: Sequence[Document], numbered: Numbered | None = None) -> list[list[str]]:
        """The words of every document, each in the case found for it.

        numbered: the documents' words, if they are numbered already.
        """
        forms = self._forms
        if not forms or max(map(len, forms)) > _CACHED_FORMS:
            forms = self._forms = [_Forms(self.spelling, case) for case in self.chain.labels]
        if numbered is None:
            numbered = self.vocabulary.number(documents)
        # As recognisers write, in lower case, most words stay as they are.
        found = [
            [forms[0][word] for word in document.words] if cased else document.words.copy()
            for document, cased in zip(documents, numbered.with_trait(CASED), strict=True)
        ]
        for i, place, case in self._raised(documents, numbered):
            found[i][place] = forms[case][documents[i].words[place]]
        return found

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The chain's arrays, and the lexicons that were learned, as UTF-8 lines."""
        arrays = self.chain.to_arrays()
        for name, lexicon in self._learned().items():
            arrays[name] = np.frombuffer(to_lines(lexicon), dtype=np.uint8)
        return arrays

    def _learned(self) -> dict[str, Mapping[str, str]]:
        return {"casing": self.chain.index.lexicons.get("casing", {}), "surface": self.spelling.surface}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], labels: Sequence[str], features: FeatureSet) -> Truecaser:
        """The inverse of `to_arrays`; ModelError where the arrays do not fit together."""
        try:
            casing, surface = (from_lines(arrays[name].tobytes()) for name in ("casing", "surface"))
        except (KeyError, ValueError) as error:
            raise ModelError(f"its lexicons of case are damaged ({error}); train or fetch it again.") from error
        lexicons = {**features.lexicons, **dict.fromkeys(features.learned, OwnCase(casing))}
        chain = LinearChain.from_arrays(arrays, labels, features.templates, lexicons)
        return Truecaser(chain, Spelling(surface, features.upper, casing))


def heard(document: Document, looked_at: Sequence[int] | None = None) -> tuple[Document, list[int] | None]:
    """A text as a truecaser looks at it, and the places of the words that are left (None: all).

    Without quotation signs and brackets, which recognisers do not write: those that stand alone are left out, those on
    words taken off, and a mark in front of a closing one belongs to the word. looked_at: the places of all words with
    signs, brackets or marks, where they are known.

    >>> heard(Document("", ['"', "kto", "(tam?)", '"', "zapytał"]))[0].words
    ['kto', 'tam', 'zapytał']
    """
    if looked_at is None:
        text = " ".join(document.words)
        if not any(sign in text for sign in WRITTEN_SIGNS):
            return document, None
        looked_at = [i for i, word in enumerate(document.words) if not word.isalnum()]
    words = document.words.copy()
    marks = [""] * len(words) if document.marks is None else document.marks.copy()
    places: list[int] | None = None
    last = -1  # the place of the last word that is left
    for place in looked_at:
        bare, run = split_mark(words[place].strip(WRITTEN_SIGNS))
        words[place] = bare.rstrip(WRITTEN_SIGNS)
        marks[place] = marks[place] or label(run)
        if not words[place]:
            if place and words[place - 1]:
                last = place - 1
            if last >= 0:
                marks[last] = marks[last] or marks[place]
            places = []
    if places is not None:
        places = [i for i, word in enumerate(words) if word]
        words, marks = list(compress(words, words)), list(compress(marks, words))
    return Document(document.id, words, marks=marks, source=document.source), places


class _Forms(dict[str, str]):
    """Word -> its spelling in one class, worked out once."""

    def __init__(self, spelling: Spelling, case: str) -> None:
        super().__init__()
        self._spelling, self._case = spelling, case
        self._is_plain_title = case == "TITLE" and not spelling.upper

    def __missing__(self, word: str) -> str:
        # An address is not a word: https://example.org and jan@example.org stay as they are.
        form = self[word] = word if "@" in word or "://" in word else self._spelled(word)
        return form

    def _spelled(self, word: str) -> str:
        if self._is_plain_title and word.isalpha():
            # What spelling comes to for nearly all names.
            raised = word[0].title() + word[1:]
            if raised != word and len(raised) == len(word) and raised.lower() == word:
                return raised
        return self._spelling.spell(word, self._case)
