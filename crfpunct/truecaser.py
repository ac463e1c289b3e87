"""Restoring case: a trained CRF over words and the marks between them, and the spelling of its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.casing import WRITTEN_SIGNS, Spelling, from_lines, to_lines
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.marks import label, split_mark
from crfpunct.tables import Tables
from crfpunct.templates import FeatureSet

_CACHED_FORMS = 1 << 16


class Truecaser:
    """Spells words in the case that a CRF finds for them. Immutable: threads can share it."""

    def __init__(self, chain: LinearChain, spelling: Spelling) -> None:
        self.chain = chain
        self.spelling = spelling
        self._tables: Tables | None = None
        self._forms: dict[str, _Forms] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"chain": self.chain, "spelling": self.spelling, "_tables": None, "_forms": {}}

    @property
    def tables(self) -> Tables:
        if self._tables is None:  # two threads may both compile it; either result will do
            self._tables = Tables(self.chain)
        return self._tables

    def classes(self, documents: Sequence[Document]) -> list[list[str]]:
        """The class of every word; the documents' marks are taken as given."""
        views = [heard(document) for document in documents]
        classes = self.tables.decode([self._lowered(view) for view, _ in views])
        for i, (_, places) in enumerate(views):
            if places is not None:
                found = [self.chain.labels[0]] * len(documents[i].words)
                for place, case in zip(places, classes[i], strict=True):
                    found[place] = case
                classes[i] = found
        return classes

    def _lowered(self, document: Document) -> Document:
        """In lower case by the language's rule, where it has one; `observations.normal` knows no language."""
        if not self.spelling.upper:
            return document
        return replace(document, words=[self.spelling.lowered(word) for word in document.words])

    def words(self, documents: Sequence[Document]) -> list[list[str]]:
        """The words of every document, each in the case found for it."""
        forms = self._forms
        if not forms or max(map(len, forms.values())) > _CACHED_FORMS:
            forms = self._forms = {case: _Forms(self.spelling, case) for case in self.chain.labels}
        neutral = self.chain.labels[0]
        found = []
        for document, cases in zip(documents, self.classes(documents), strict=True):
            text = " ".join(document.words)
            if text == text.lower():  # as recognisers write; most words then stay as they are
                words = document.words.copy()
                for place in [place for place, case in enumerate(cases) if case != neutral]:
                    words[place] = forms[cases[place]][words[place]]
            else:
                words = [forms[case][word] for word, case in zip(document.words, cases, strict=True)]
            found.append(words)
        return found

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The chain's arrays, and the lexicons that were learned, as UTF-8 lines."""
        arrays = self.chain.to_arrays()
        for name, lexicon in self._learned().items():
            arrays[name] = np.frombuffer(to_lines(lexicon).encode(), dtype=np.uint8)
        return arrays

    def _learned(self) -> dict[str, Mapping[str, str]]:
        return {"casing": self.chain.index.lexicons.get("casing", {}), "surface": self.spelling.surface}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], labels: Sequence[str], features: FeatureSet) -> Truecaser:
        """The inverse of `to_arrays`; ModelError where the arrays do not fit together."""
        try:
            casing, surface = (from_lines(arrays[name].tobytes().decode()) for name in ("casing", "surface"))
        except (KeyError, ValueError) as error:
            raise ModelError(f"its lexicons of case are damaged ({error}); train or fetch it again.") from error
        lexicons = {**features.lexicons, **dict.fromkeys(features.learned, casing)}
        chain = LinearChain.from_arrays(arrays, labels, features.templates, lexicons)
        return Truecaser(chain, Spelling(surface, features.upper))


def heard(document: Document) -> tuple[Document, list[int] | None]:
    """A text as a truecaser looks at it, and the places of the words that are left (None: all).

    Without quotation signs and brackets, which recognisers do not write: those that stand alone are left out, those on
    words taken off, and a mark in front of a closing one belongs to the word.

    >>> heard(Document("", ['"', "kto", "(tam?)", '"', "zapytał"]))[0].words
    ['kto', 'tam', 'zapytał']
    """
    text = " ".join(document.words)
    if not any(sign in text for sign in WRITTEN_SIGNS):
        return document, None
    words = document.words.copy()
    marks = [""] * len(words) if document.marks is None else document.marks.copy()
    places: list[int] | None = None
    last = -1  # the place of the last word that is left
    for place in [i for i, word in enumerate(words) if not word.isalnum()]:
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

    def __missing__(self, word: str) -> str:
        # An address is not a word: https://example.org and jan@example.org stay as they are.
        form = self[word] = word if "@" in word or "://" in word else self._spelling.spell(word, self._case)
        return form
