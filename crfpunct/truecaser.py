"""Restoring case: a trained CRF over words and the marks between them, and the spelling of its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.casing import CLASSES, SortedLexicon, Spelling
from crfpunct.chain import LinearChain
from crfpunct.document import Document
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
        return self.tables.decode(documents)

    def words(self, documents: Sequence[Document]) -> list[list[str]]:
        """The words of every document, each in the case found for it."""
        forms = self._forms
        if not forms or max(map(len, forms.values())) > _CACHED_FORMS:
            forms = self._forms = {case: _Forms(self.spelling, case) for case in self.chain.labels}
        return [
            [forms[case][word] for word, case in zip(document.words, cases, strict=True)]
            for document, cases in zip(documents, self.classes(documents), strict=True)
        ]

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The chain's arrays, and the lexicons that were learned, as UTF-8 lines."""
        arrays = self.chain.to_arrays()
        for name, lexicon in self._learned().items():
            arrays[name] = np.frombuffer(SortedLexicon.text_of(lexicon).encode(), dtype=np.uint8)
        return arrays

    def _learned(self) -> dict[str, Mapping[str, str]]:
        return {"casing": self.chain.index.lexicons.get("casing", {}), "surface": self.spelling.surface}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], labels: Sequence[str], features: FeatureSet) -> Truecaser:
        """The inverse of `to_arrays`; ModelError where the arrays do not fit together."""
        casing, surface = (SortedLexicon(arrays[name].tobytes().decode()) for name in ("casing", "surface"))
        lexicons = {**features.lexicons, **dict.fromkeys(features.learned, casing)}
        chain = LinearChain.from_arrays(arrays, labels, features.templates, lexicons)
        return Truecaser(chain, Spelling(surface, features.upper))


class _Forms(dict[str, str]):
    """Word -> its spelling in one class, worked out once."""

    def __init__(self, spelling: Spelling, case: str) -> None:
        super().__init__()
        self._spelling, self._case = spelling, case

    def __missing__(self, word: str) -> str:
        form = self[word] = self._spelling.spell(word, self._case)
        return form


__all__ = ["CLASSES", "Truecaser"]
