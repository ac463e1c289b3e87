"""Restoring marks: trained CRFs over words and pauses, each for the texts that it was trained for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError
from crfpunct.tables import Tables
from crfpunct.word_types import Numbered, Vocabulary

#: A word that no training text has: what a model says of it, it says of words that it knows nothing about.
NEVER_SEEN = "\ufffd" * 2

Result = TypeVar("Result")


class Punctuator:
    """Places marks: by one CRF for texts without word times and, where there is one, by another for texts with them.

    Two models, because one that is trained on both kinds is worse at texts with times than one that may rely on
    them (docs/accuracy.md). Immutable: threads can share it, and it can be pickled to other processes.

    vocabulary: numbers the words for both, and for whoever else is to look at the same texts.
    """

    def __init__(self, text: LinearChain, timed: LinearChain | Callable[[], LinearChain] | None = None) -> None:
        """timed: the CRF for texts with word times, or what makes it when it is first needed."""
        self.text = text
        self._timed = timed
        self.vocabulary = Vocabulary()
        self._compiled: dict[int, Tables] = {}
        self._abbreviations: dict[str, bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_compiled": {}, "_abbreviations": {}}

    def with_bias(self, added: Mapping[str, float]) -> Punctuator:
        """A punctuator like this one that places some marks more often or, where the number is below 0, less often.

        added: by mark, what its bias (see `chain.LinearChain`) grows by in every CRF; ModelError for an unknown mark.
        """
        for mark in added:
            if mark not in self.marks_known:
                known = " ".join(sorted(self.marks_known))
                raise ModelError(f"the model has no mark {mark!r} to give a bias to; its marks are {known}")
        biased = copy(self)  # with nothing compiled, as when it is pickled
        biased.text = _biased(self.text, added)
        biased._timed = self.timed and _biased(self.timed, added)
        return biased

    @property
    def timed(self) -> LinearChain | None:
        """The CRF for texts with word times, if there is one."""
        if callable(self._timed):  # two threads may both make it; either result will do
            self._timed = self._timed()
        return self._timed

    @property
    def marks_known(self) -> frozenset[str]:
        """The marks that the CRFs can place."""
        return frozenset(name for chain in (self.text, self.timed) if chain for name in chain.labels if name)

    def chain_for(self, document: Document) -> LinearChain:
        """The CRF for a document: the one with pauses if at least half of the gaps between its words are known.

        A word of no length does not tell where the gap behind it begins: some recognisers give starts alone, and write
        them twice.
        """
        times = document.times_ms
        if times is None or len(document.words) == 0 or self.timed is None:
            return self.text
        known = (times[1:, 0] >= 0) & (times[:-1, 1] > times[:-1, 0])
        return self.timed if len(known) and 2 * known.sum() >= len(known) else self.text

    def marks(self, documents: Sequence[Document], numbered: Numbered | None = None) -> list[list[str]]:
        """The best mark behind every word of every document; numbered: their words, if they are numbered already."""
        return self._by_chain(documents, numbered, Tables.decode)

    def marginals(self, documents: Sequence[Document], numbered: Numbered | None = None) -> list[NDArray[np.float64]]:
        """Per document the probability of every distinct label of its chain behind every word: (T, K)."""
        return self._by_chain(documents, numbered, Tables.marginals)

    def abbreviated(self, word: str) -> bool:
        """Whether the training text writes the word with a dot: the model expects one between words it never saw."""
        if len(self._abbreviations) > 1 << 16:
            self._abbreviations.clear()
        if word not in self._abbreviations and "." in self.text.labels:
            sentence = Document("", [*[NEVER_SEEN] * 4, word, *[NEVER_SEEN] * 4])
            share = self.tables(self.text).marginals([sentence])[0][4, self.text.labels.index(".")]
            self._abbreviations[word] = bool(share > 0.5)
        return self._abbreviations.get(word, False)

    def tables(self, chain: LinearChain) -> Tables:
        """A chain compiled for tagging."""
        # Compiled when first needed. Two threads may both do it; either result will do.
        if id(chain) not in self._compiled:
            self._compiled[id(chain)] = Tables(chain, self.vocabulary)
        return self._compiled[id(chain)]

    def _by_chain(
        self,
        documents: Sequence[Document],
        numbered: Numbered | None,
        of: Callable[[Tables, Sequence[Document], Numbered | None], list[Result]],
    ) -> list[Result]:
        """Apply a function to the documents of each chain together; the results in the documents' order."""
        chains = [self.chain_for(document) for document in documents]
        if all(chain is self.text for chain in chains):
            return of(self.tables(self.text), documents, numbered)
        results: dict[int, Result] = {}
        for chain in (self.text, self.timed):
            places = [i for i, chosen in enumerate(chains) if chosen is chain]
            if chain is not None and places:
                found = of(self.tables(chain), [documents[i] for i in places], None)
                results.update(zip(places, found, strict=True))
        return [results[i] for i in range(len(documents))]


def _biased(chain: LinearChain, added: Mapping[str, float]) -> LinearChain:
    return replace(chain, bias=chain.bias + np.array([added.get(label, 0.0) for label in chain.labels]))
